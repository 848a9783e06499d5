//! The names of some columns of a relation, by their numbers: what constraints and indexes are shown with.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListBuilder, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Int64Type};
use datafusion::common::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::{World, any_arguments};
use crate::system::objects::Objects;

/// `attribute_names(oid, numbers)`.
pub(super) const NAME: &str = "attribute_names";

pub(super) fn function(world: &Arc<World>) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Names {
        world: Arc::clone(world),
        signature: any_arguments(),
    }))
}

struct Names {
    world: Arc<World>,
    signature: Signature,
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").finish_non_exhaustive()
    }
}

impl PartialEq for Names {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Names {}

impl Hash for Names {
    fn hash<H: Hasher>(&self, state: &mut H) {
        NAME.hash(state);
    }
}

impl ScalarUDFImpl for Names {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> DataFusionResult<DataType> {
        let element = Field::new_list_field(DataType::Utf8, true);
        Ok(DataType::List(Arc::new(element)))
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let rows = call.number_rows;
        let arrays = ColumnarValue::values_to_arrays(&call.args)?;
        let objects = Objects::new(&self.world.catalog, &self.world.store);
        let mut names = ListBuilder::new(StringBuilder::new());
        if let [relations, lists] = arrays.as_slice() {
            let relations = cast(relations, &DataType::Int64)?;
            for row in 0..rows.min(relations.len()) {
                add(&mut names, &objects, (&relations, lists), row)?;
            }
        }
        Ok(ColumnarValue::Array(Arc::new(names.finish())))
    }
}

fn add(
    names: &mut ListBuilder<StringBuilder>,
    objects: &Objects,
    (relations, lists): (&ArrayRef, &ArrayRef),
    row: usize,
) -> DataFusionResult<()> {
    let relation = relations.as_primitive::<Int64Type>();
    let relation = relation.is_valid(row).then(|| relation.value(row));
    let relation = relation.and_then(|oid| objects.by_oid(oid));
    if let Some(list) = lists.as_list_opt::<i32>().filter(|list| list.is_valid(row)) {
        let numbers = cast(&list.value(row), &DataType::Int64)?;
        for number in numbers.as_primitive::<Int64Type>().iter().flatten() {
            // As in a join, a number that is no column's gives nothing.
            if let Some(column) = relation.and_then(|one| one.column(number)) {
                names.values().append_value(&column.name);
            }
        }
    }
    names.append(true);
    Ok(())
}
