//! `sum` that refuses to wrap.
//!
//! It is DataFusion's own but for whole numbers: those are added in 128 bits, and have to fit their type
//! only when the sum is asked for.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Int64Array, PrimitiveArray,
    UInt64Array,
};
use datafusion::arrow::compute::{nullif, sum_checked};
use datafusion::arrow::datatypes::{DataType, FieldRef, Int64Type, UInt64Type};
use datafusion::common::Result as DataFusionResult;
use datafusion::error::DataFusionError;
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, Signature,
};
use datafusion::scalar::ScalarValue;
use keys::Type;

use super::provider::external;
use crate::Error;

/// Our `sum`.
pub(crate) fn sum() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(CheckedSum {
        inner: Sum::new(),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedSum {
    inner: Sum,
}

fn whole(kind: &DataType) -> Option<Type> {
    match kind {
        DataType::Int64 => Some(Type::Int64),
        DataType::UInt64 => Some(Type::Uint64),
        _ => None,
    }
}

fn overflow(kind: Type) -> DataFusionError {
    external(Error::OutOfRange {
        value: "the sum".to_owned(),
        kind,
    })
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> DataFusionResult<DataType> {
        self.inner.return_type(arguments)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> DataFusionResult<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> DataFusionResult<Box<dyn Accumulator>> {
        match whole(args.return_field.data_type()) {
            Some(kind) if !args.is_distinct => Ok(Box::new(WholeSum::new(kind))),
            _ => self.inner.accumulator(args),
        }
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn Accumulator>> {
        match whole(args.return_field.data_type()) {
            Some(kind) if !args.is_distinct => Ok(Box::new(WholeSum::new(kind))),
            _ => self.inner.create_sliding_accumulator(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn GroupsAccumulator>> {
        match whole(args.return_field.data_type()) {
            Some(kind) => Ok(Box::new(GroupSums::new(kind))),
            None => self.inner.create_groups_accumulator(args),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

/// The sums of many groups.
struct GroupSums {
    kind: Type,
    sums: Vec<i128>,
    /// Whether a group has any value.
    seen: Vec<bool>,
}

impl GroupSums {
    fn new(kind: Type) -> Self {
        Self {
            kind,
            sums: Vec::new(),
            seen: Vec::new(),
        }
    }

    fn add<T: ArrowPrimitiveType<Native: Into<i128>>>(
        &mut self,
        array: &PrimitiveArray<T>,
        groups: &[usize],
        filter: Option<&BooleanArray>,
    ) {
        let mut add = |group: usize, value: T::Native| {
            if let (Some(sum), Some(seen)) = (self.sums.get_mut(group), self.seen.get_mut(group)) {
                *sum += value.into();
                *seen = true;
            }
        };
        if array.null_count() == 0 && filter.is_none() {
            for (group, value) in groups.iter().zip(array.values()) {
                add(*group, *value);
            }
            return;
        }
        for (row, (group, value)) in groups.iter().zip(array.iter()).enumerate() {
            let wanted = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if let (true, Some(value)) = (wanted, value) {
                add(*group, value);
            }
        }
    }
}

impl GroupsAccumulator for GroupSums {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> DataFusionResult<()> {
        self.sums.resize(total, 0);
        self.seen.resize(total, false);
        for array in values {
            match self.kind {
                Type::Uint64 => self.add(array.as_primitive::<UInt64Type>(), groups, filter),
                _ => self.add(array.as_primitive::<Int64Type>(), groups, filter),
            }
        }
        Ok(())
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        total: usize,
    ) -> DataFusionResult<()> {
        self.update_batch(values, groups, None, total)
    }

    fn evaluate(&mut self, emit: EmitTo) -> DataFusionResult<ArrayRef> {
        let sums = emit.take_needed(&mut self.sums);
        let seen = emit.take_needed(&mut self.seen);
        let sums = sums.into_iter().zip(seen);
        let sums = sums.map(|(sum, seen)| seen.then_some(sum));
        let refused = |_| overflow(self.kind);
        Ok(match self.kind {
            Type::Uint64 => {
                let sums = sums.map(|sum| sum.map(u64::try_from).transpose());
                let sums: UInt64Array = sums.collect::<Result<_, _>>().map_err(refused)?;
                Arc::new(sums)
            }
            _ => {
                let sums = sums.map(|sum| sum.map(i64::try_from).transpose());
                let sums: Int64Array = sums.collect::<Result<_, _>>().map_err(refused)?;
                Arc::new(sums)
            }
        })
    }

    fn state(&mut self, emit: EmitTo) -> DataFusionResult<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit)?])
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> DataFusionResult<Vec<ArrayRef>> {
        let Some(filter) = filter else {
            return Ok(values.to_vec());
        };
        // What the filter leaves out counts as no value.
        let out: BooleanArray = filter.iter().map(|keep| Some(keep != Some(true))).collect();
        let nulled = values.iter().map(|array| nullif(array, &out));
        Ok(nulled.collect::<Result<_, _>>()?)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<i128>() + self.seen.capacity()
    }
}

/// The sum of all whole numbers, or of those in a window.
#[derive(Debug)]
struct WholeSum {
    kind: Type,
    sum: i128,
    values: usize,
}

impl WholeSum {
    fn new(kind: Type) -> Self {
        Self {
            kind,
            sum: 0,
            values: 0,
        }
    }

    fn total(&self, array: &ArrayRef) -> i128 {
        let values = array.len() - array.null_count();
        if values == 0 {
            return 0;
        }
        match self.kind {
            Type::Uint64 => {
                let array = array.as_primitive::<UInt64Type>();
                match sum_checked(array) {
                    Ok(sum) => i128::from(sum.unwrap_or_default()),
                    Err(_) => array.iter().flatten().map(i128::from).sum(),
                }
            }
            _ => {
                let array = array.as_primitive::<Int64Type>();
                match sum_checked(array) {
                    Ok(sum) => i128::from(sum.unwrap_or_default()),
                    Err(_) => array.iter().flatten().map(i128::from).sum(),
                }
            }
        }
    }
}

impl Accumulator for WholeSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        for array in values {
            self.sum += self.total(array);
            self.values += array.len() - array.null_count();
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        for array in values {
            self.sum -= self.total(array);
            self.values -= array.len() - array.null_count();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        let sum = (self.values > 0).then_some(self.sum);
        let fits = || overflow(self.kind);
        Ok(match self.kind {
            Type::Uint64 => {
                let sum = sum.map(u64::try_from).transpose();
                ScalarValue::UInt64(sum.map_err(|_| fits())?)
            }
            _ => {
                let sum = sum.map(i64::try_from).transpose();
                ScalarValue::Int64(sum.map_err(|_| fits())?)
            }
        })
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
