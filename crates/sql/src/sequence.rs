//! Sequences: numbers that are handed out once.
//!
//! ```text
//!   on disk     one row: last 31, called          every number up to 31 is taken
//!   in memory   next 4, left 28                   reserved and not handed out yet
//!
//!   next()      left > 0: hand out from memory
//!               left = 0: reserve a block (a transaction of its own, synced), then hand out
//! ```
//!
//! A crash loses the rest of a block and never repeats a number. Blocks grow with the demand, so a
//! busy sequence syncs once in thousands of numbers. Numbers do not come back when the transaction
//! that took them rolls back, as in PostgreSQL.

use std::sync::Arc;

use keys::{RowView, Type, Value, encode_key, encode_row};
use parking_lot::{Mutex, MutexGuard};
use txn::{Bytes, Durability, Store, TableId, blocking};

use crate::schema::name_fault;
use crate::{Error, Result};

/// How many numbers the first block has, and the largest.
const BLOCK_MIN: i64 = 32;
const BLOCK_MAX: i64 = 4096;

/// How often a reservation is tried again when somebody else reserved at the same moment.
const ATTEMPTS_MAX: usize = 16;

/// What a sequence counts, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// Whether it was made for a column.
    pub owned: bool,
    /// The type of its numbers.
    pub kind: Type,
    /// The step.
    pub increment: i64,
    /// The least number.
    pub min: i64,
    /// The greatest number.
    pub max: i64,
    /// The first number.
    pub start: i64,
    /// How many numbers to reserve at a time, at least.
    pub cache: i64,
    /// Whether it begins again after the last number.
    pub cycle: bool,
}

impl Definition {
    /// Counts up from 1 to the greatest number of the type.
    pub(crate) fn new(name: String, kind: Type) -> Self {
        Self {
            name,
            owned: false,
            kind,
            increment: 1,
            min: 1,
            max: range_of(kind).map_or(i64::MAX, |(_, greatest)| greatest),
            start: 1,
            cache: 1,
            cycle: false,
        }
    }

    /// An error unless it can count.
    pub(crate) fn check(&self) -> Result<()> {
        let fault = |reason: String| {
            Err(Error::Sequence {
                name: self.name.clone(),
                reason,
            })
        };
        if let Some(reason) = name_fault("sequence", &self.name) {
            return fault(reason);
        }
        let Some((least, greatest)) = range_of(self.kind) else {
            let kind = self.kind;
            return fault(format!("it counts in Int16, Int32 or Int64, not {kind}"));
        };
        let (min, max, start) = (self.min, self.max, self.start);
        if self.increment == 0 {
            return fault("its increment is zero".to_owned());
        }
        if min < least || max > greatest {
            let kind = self.kind;
            return fault(format!("its bounds {min} and {max} are beyond {kind}"));
        }
        if min >= max {
            return fault(format!("its least number {min} is not below {max}"));
        }
        if !(min..=max).contains(&start) {
            return fault(format!("its start {start} is not within {min} and {max}"));
        }
        if self.cache < 1 {
            return fault("it reserves at least one number at a time".to_owned());
        }
        Ok(())
    }

    /// The number after `last`; none past the end.
    fn after(&self, last: i64) -> Option<i64> {
        let next = last.checked_add(self.increment);
        let within = next.filter(|next| (self.min..=self.max).contains(next));
        let around = if self.increment > 0 {
            self.min
        } else {
            self.max
        };
        within.or_else(|| self.cycle.then_some(around))
    }

    /// The number that many steps after `first`, which is known to be before the end.
    fn nth(&self, first: i64, steps: i64) -> i64 {
        let wide = i128::from(first) + i128::from(steps) * i128::from(self.increment);
        i64::try_from(wide).expect("there was room for it")
    }

    /// How many numbers there are from `first` on, before the end.
    fn room(&self, first: i64) -> i64 {
        let end = if self.increment > 0 {
            self.max
        } else {
            self.min
        };
        let steps = (i128::from(end) - i128::from(first)) / i128::from(self.increment);
        i64::try_from(steps + 1).unwrap_or(i64::MAX)
    }
}

/// The numbers that an integer type can hold.
pub(crate) fn range_of(kind: Type) -> Option<(i64, i64)> {
    match kind {
        Type::Int16 => Some((i16::MIN.into(), i16::MAX.into())),
        Type::Int32 => Some((i32::MIN.into(), i32::MAX.into())),
        Type::Int64 => Some((i64::MIN, i64::MAX)),
        _ => None,
    }
}

/// A sequence that exists.
#[derive(Debug)]
pub struct Sequence {
    id: TableId,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    definition: Definition,
    /// The next number to hand out, and how many are left in the block.
    next: i64,
    left: i64,
    /// How many numbers the next block has.
    block: i64,
}

impl State {
    /// Where it stands in the middle of a block: a block is reserved when a number of it is wanted.
    fn standing(&self) -> Standing {
        Standing {
            last: self.next.wrapping_sub(self.definition.increment),
            called: true,
        }
    }

    fn forget_block(&mut self) {
        self.left = 0;
        self.block = BLOCK_MIN;
    }
}

/// Where a sequence stands on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The last number that is taken, or the first to be taken.
    pub last: i64,
    /// Which of the two.
    pub called: bool,
}

impl Sequence {
    pub(crate) fn new(id: TableId, definition: Definition) -> Self {
        let state = State {
            definition,
            next: 0,
            left: 0,
            block: BLOCK_MIN,
        };
        Self {
            id,
            state: Mutex::new(state),
        }
    }

    /// The number of the table that its row is in.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// What it counts, and how.
    pub fn definition(&self) -> Definition {
        self.state().definition.clone()
    }

    /// Hands out the next number.
    pub fn next(&self, store: &Arc<Store>) -> Result<i64> {
        let mut state = self.state();
        if state.left == 0 {
            self.reserve(&mut state, store)?;
        }
        let number = state.next;
        state.left -= 1;
        // Past the end of the type only when nothing is left of the block, and then it is not used.
        state.next = number.wrapping_add(state.definition.increment);
        Ok(number)
    }

    /// Its state. Whoever has it may be waiting for the disk.
    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.state.try_lock();
        state.unwrap_or_else(|| blocking(|| self.state.lock()))
    }

    /// Lets it go on after `value`, or with it if it was not called yet.
    pub fn set(&self, store: &Arc<Store>, value: i64, called: bool) -> Result<()> {
        let mut state = self.state();
        let Definition { name, min, max, .. } = &state.definition;
        if !(*min..=*max).contains(&value) {
            return Err(Error::SequenceValue {
                name: name.clone(),
                value,
                min: *min,
                max: *max,
            });
        }
        let standing = Standing {
            last: value,
            called,
        };
        self.write(store, standing)?;
        state.forget_block();
        Ok(())
    }

    /// Where it stands: the last number handed out, and whether there was one.
    pub fn standing(&self, store: &Arc<Store>) -> Result<Standing> {
        let state = self.state();
        match state.left {
            0 => {
                let row = store.view().get(self.id, &row_key()?)?;
                self.decode(row, &state.definition)
            }
            _ => Ok(state.standing()),
        }
    }

    /// Changes what it counts. The caller has made the change durable.
    pub(crate) fn redefine(&self, definition: Definition) {
        let mut state = self.state();
        state.definition = definition;
        state.forget_block();
    }

    /// Gives up what is left of the block, on disk too, so that a change begins where the numbers
    /// handed out end.
    pub(crate) fn settle(&self, store: &Arc<Store>) -> Result<()> {
        let mut state = self.state();
        if state.left > 0 {
            self.write(store, state.standing())?;
            state.forget_block();
        }
        Ok(())
    }

    fn reserve(&self, state: &mut State, store: &Arc<Store>) -> Result<()> {
        for _ in 0..ATTEMPTS_MAX {
            match self.try_reserve(state, store) {
                Err(Error::Txn(txn::Error::Conflict { .. })) => {}
                other => return other,
            }
        }
        let what = "a sequence that everybody wants at once".to_owned();
        Err(Error::Internal { what })
    }

    fn try_reserve(&self, state: &mut State, store: &Arc<Store>) -> Result<()> {
        let definition = &state.definition;
        let mut transaction = store.begin();
        let row = transaction.get(self.id, &row_key()?)?;
        let Standing { last, called } = self.decode(row, definition)?;
        let first = match called {
            false => Some(last),
            true => definition.after(last),
        };
        let ends = || Error::SequenceEnd {
            name: definition.name.clone(),
            end: if definition.increment > 0 {
                definition.max
            } else {
                definition.min
            },
        };
        let first = first.ok_or_else(ends)?;
        let wanted = state.block.max(definition.cache.min(BLOCK_MAX));
        let count = wanted.min(definition.room(first)).max(1);
        let last = definition.nth(first, count - 1);
        let standing = Standing { last, called: true };
        transaction.put(self.id, row_key()?, standing.encode()?)?;
        transaction.commit(Durability::Synced)?;
        state.next = first;
        state.left = count;
        state.block = (state.block * 2).min(BLOCK_MAX);
        Ok(())
    }

    fn write(&self, store: &Arc<Store>, standing: Standing) -> Result<()> {
        let mut transaction = store.begin();
        transaction.put(self.id, row_key()?, standing.encode()?)?;
        transaction.commit(Durability::Synced)?;
        Ok(())
    }

    fn decode(&self, row: Option<Bytes>, definition: &Definition) -> Result<Standing> {
        let Some(row) = row else {
            return Ok(Standing {
                last: definition.start,
                called: false,
            });
        };
        let damaged = || Error::DamagedRecord {
            table: self.id,
            detail: "the row of a sequence",
        };
        let view = RowView::new(&row).map_err(|_| damaged())?;
        let last = view.column(0, Type::Int64).map_err(|_| damaged())?;
        let called = view.column(1, Type::Bool).map_err(|_| damaged())?;
        match (last, called) {
            (Some(Value::Int64(last)), Some(Value::Bool(called))) => Ok(Standing { last, called }),
            _ => Err(damaged()),
        }
    }
}

impl Standing {
    fn encode(self) -> Result<Bytes> {
        Ok(encode_row(&[Value::Int64(self.last), Value::Bool(self.called)])?.into())
    }
}

/// A sequence has one row.
fn row_key() -> Result<Bytes> {
    Ok(encode_key(&[Value::Int32(0)])?.into())
}
