//! A plan as a tree that can be shown: what each part does, and how each scan finds its rows.

use std::sync::Arc;

use datafusion::physical_plan::{ExecutionPlan, displayable};
use txn::Reader;

use super::items::ItemsExec;
use super::scan::ScanExec;
use crate::Result;
use crate::access::Access;

/// One part of a plan.
#[derive(Clone, Debug)]
pub(crate) struct PlanNode {
    /// What it is, such as `Filter`.
    pub(crate) name: String,
    /// What it does, such as `seconds > 5`.
    pub(crate) details: String,
    /// How it finds its rows, for a scan, and what it reads of them.
    pub(crate) access: Option<(Access, Reads)>,
    /// What it did, if it was run.
    pub(crate) effort: Option<Effort>,
    /// What it takes its rows from.
    pub(crate) children: Vec<PlanNode>,
}

/// What a part of a plan did, all of its streams together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// How many rows it handed on.
    pub(crate) rows: usize,
    /// How long it worked itself, in nanoseconds.
    pub(crate) own_ns: usize,
}

/// What a scan reads.
#[derive(Clone, Debug)]
pub(crate) struct Reads {
    /// The columns, by name.
    pub(crate) columns: String,
    /// Whether it begins with the last key.
    pub(crate) backwards: bool,
    /// How many rows it reads at most.
    pub(crate) limit: Option<usize>,
}

/// The tree of a plan, with the values of a run in its slot if it is `bound`.
pub(crate) fn tree(
    plan: &Arc<dyn ExecutionPlan>,
    reader: &Reader,
    bound: bool,
) -> Result<PlanNode> {
    let line = displayable(plan.as_ref()).one_line().to_string();
    let line = line.trim_end();
    let (name, details) = line.split_once(": ").unwrap_or((line, ""));
    let access = match plan.downcast_ref::<ScanExec>() {
        Some(scan) => Some((scan.access(reader, bound)?, scan.reads())),
        None => {
            let items = plan.downcast_ref::<ItemsExec>();
            items.map(|items| (items.access(), items.reads()))
        }
    };
    let effort = plan.metrics().and_then(|metrics| {
        Some(Effort {
            rows: metrics.output_rows()?,
            own_ns: metrics.elapsed_compute()?,
        })
    });
    let children = plan.children().into_iter();
    Ok(PlanNode {
        name: name.trim_end_matches("Exec").to_owned(),
        details: details.to_owned(),
        access,
        effort,
        children: children
            .map(|child| tree(child, reader, bound))
            .collect::<Result<_>>()?,
    })
}
