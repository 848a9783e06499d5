//! A plan as a tree that can be shown: what each part does, and how each scan finds its rows.

use std::sync::Arc;

use datafusion::physical_plan::{ExecutionPlan, displayable};
use txn::Reader;

use super::scan::ScanExec;
use crate::Result;
use crate::access::Access;

/// One part of a plan.
#[derive(Clone, Debug)]
#[cfg_attr(not(test), expect(dead_code, reason = "EXPLAIN shows plans with it"))]
pub(crate) struct PlanNode {
    /// What it is, such as `Filter`.
    pub(crate) name: String,
    /// What it does, such as `seconds > 5`.
    pub(crate) details: String,
    /// How it finds its rows, for a scan.
    pub(crate) access: Option<Access>,
    /// What it takes its rows from.
    pub(crate) children: Vec<PlanNode>,
}

/// The tree of a plan.
pub(crate) fn tree(plan: &Arc<dyn ExecutionPlan>, reader: &Reader) -> Result<PlanNode> {
    let line = displayable(plan.as_ref()).one_line().to_string();
    let line = line.trim_end();
    let (name, details) = line.split_once(": ").unwrap_or((line, ""));
    let access = match plan.downcast_ref::<ScanExec>() {
        Some(scan) => Some(scan.access(reader)?),
        None => None,
    };
    let children = plan.children().into_iter();
    Ok(PlanNode {
        name: name.trim_end_matches("Exec").to_owned(),
        details: details.to_owned(),
        access,
        children: children
            .map(|child| tree(child, reader))
            .collect::<Result<_>>()?,
    })
}
