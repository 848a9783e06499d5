//! The rows of system tables that `sql` cannot work out.

use std::sync::Arc;

use keys::Value;
use sql::{Catalog, Outside, Statements};
use txn::Store;

use crate::advice::{Advices, Gauges};
use crate::findings;
use crate::policy::Policies;
use crate::record::{self, Ground, Recorder};

/// What they are worked out from.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) store: Arc<Store>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) policy: Arc<Policies>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) advices: Arc<Advices>,
    pub(crate) statements: Arc<Statements>,
}

impl Told {
    fn ground(&self) -> Ground<'_> {
        Ground {
            store: &self.store,
            catalog: &self.catalog,
            policy: &self.policy,
        }
    }
}

impl Outside for Told {
    fn rows(&self, table: &str) -> Vec<Vec<Value>> {
        match table {
            "advice" => self.advices.rows(Gauges {
                ground: self.ground(),
                recorder: &self.recorder,
                statements: &self.statements,
            }),
            "key_findings" => findings::rows(&self.store, &self.catalog),
            "trace" => {
                let lines = record::shown(&self.recorder, self.ground()).into_iter();
                let numbered = (1_u64..).zip(lines);
                numbered
                    .map(|(number, line)| vec![Value::Uint64(number), line])
                    .collect()
            }
            _ => Vec::new(),
        }
    }
}
