//! DataFusion, set up once, and the way from a statement to a plan.

use std::sync::Arc;

use datafusion::execution::SessionState;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::{LogicalPlan, ScalarUDF};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::SessionConfig;
use datafusion::sql::parser::Statement as DataFusionStatement;
use keys::Type;
use syntax::ast;
use txn::{Reader, Store};

use super::backwards::Backwards;
use super::context::Run;
use super::names::{CATALOG, Names, SCHEMA};
use super::planned::{Copy, PlannedQuery, Wanted};
use super::refusals::ours;
use super::shelf::Shelf;
use super::turns::TakeTurns;
use super::typing::Typing;
use super::{
    chains, counting, functions, list_parameters, memory, numbers, phrases, rewrite, singles, sums,
    value_types, yql,
};
use crate::locking::refuse_skipping;
use crate::statements::Statements;
use crate::system::{Guest, SystemTables};
use crate::{Catalog, Result, system};

/// How many streams a large scan is read by.
const STREAMS_MAX: usize = 8;

/// How many idle plans all statements of all sessions keep together.
const PLANS_MAX: usize = 512;

/// DataFusion, set up once.
#[derive(Clone, Debug)]
pub(crate) struct Queries {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: SessionState,
    runtime: Arc<RuntimeEnv>,
    store: Arc<Store>,
    statements: Arc<Statements>,
    guest: Arc<Guest>,
    shelf: Shelf<Copy>,
}

impl Queries {
    pub(crate) fn new(
        catalog: &Arc<Catalog>,
        store: &Arc<Store>,
        statements: &Arc<Statements>,
        guest: &Arc<Guest>,
    ) -> Self {
        Self::with_room(catalog, store, (statements, guest), PLANS_MAX)
    }

    /// The same, with room for so many idle plans.
    pub(super) fn with_room(
        catalog: &Arc<Catalog>,
        store: &Arc<Store>,
        (statements, guest): (&Arc<Statements>, &Arc<Guest>),
        plans: usize,
    ) -> Self {
        let runtime = memory::runtime();
        let mut functions: Vec<Arc<ScalarUDF>> = counting::functions().collect();
        functions.extend(system::all_functions(catalog, store, statements));
        let shared = Shared {
            state: state(functions, &runtime),
            runtime,
            store: Arc::clone(store),
            statements: Arc::clone(statements),
            guest: Arc::clone(guest),
            shelf: Shelf::new(plans),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Prepares a query over the tables of a catalog. The reader tells how large they are.
    pub(crate) async fn prepare(
        &self,
        catalog: &Arc<Catalog>,
        reader: &Reader,
        asked: Wanted<'_>,
    ) -> Result<PlannedQuery> {
        PlannedQuery::new(self, catalog, reader, asked).await
    }

    /// The state in which names mean the tables of a catalog, and a reader tells how large they are. It
    /// is for planning, and not to be kept: the reader holds old versions of rows.
    pub(crate) fn state(&self, catalog: &Arc<Catalog>, reader: &Reader) -> SessionState {
        let mut state = self.shared.state.clone();
        let shared = &self.shared;
        let system = SystemTables::new(catalog, &shared.store, &shared.statements, &shared.guest);
        let names = Names::new(Arc::clone(catalog), system);
        state.register_catalog_list(Arc::new(names));
        let run = Run::new(reader.clone());
        state.config_mut().set_extension(Arc::new(run));
        state
    }

    pub(crate) fn runtime(&self) -> &Arc<RuntimeEnv> {
        &self.shared.runtime
    }

    /// Where plans lie between runs.
    pub(super) fn shelf(&self) -> &Shelf<Copy> {
        &self.shared.shelf
    }

    pub(crate) fn config(&self) -> &SessionConfig {
        self.shared.state.config()
    }
}

/// DataFusion with our types and functions, and some more of those.
pub(super) fn state(more: Vec<Arc<ScalarUDF>>, runtime: &Arc<RuntimeEnv>) -> SessionState {
    let mut builder = SessionStateBuilder::new()
        .with_config(config())
        .with_runtime_env(Arc::clone(runtime))
        .with_default_features();
    builder = builder.with_type_planner(Arc::new(rewrite::Types));
    builder = builder.with_physical_optimizer_rules(physical_rules());
    let functions = builder.scalar_functions().get_or_insert_default();
    functions.extend(functions::all());
    functions.extend(list_parameters::functions());
    functions.extend(more);
    let planners = builder.expr_planners().get_or_insert_default();
    planners.insert(0, Arc::new(Typing));
    let aggregates = builder.aggregate_functions().get_or_insert_default();
    aggregates.push(sums::sum());
    builder.build()
}

/// A query in words that DataFusion understands.
pub(super) fn understood(query: &ast::Query, hints: &[Option<Type>]) -> Result<ast::Query> {
    let mut understood = phrases::understood(query)?;
    chains::shorten(&mut understood);
    numbers::spell(&mut understood);
    yql::rewrite(&mut understood);
    value_types::write(&mut understood, hints);
    Ok(understood)
}

/// A query as a logical plan, its parameters still open.
pub(crate) async fn logical(
    state: &SessionState,
    query: &ast::Query,
    hints: &[Option<Type>],
) -> Result<LogicalPlan> {
    refuse_skipping(query)?;
    let understood = understood(query, hints)?;
    let statement = ast::Statement::Query(Box::new(understood));
    let statement = DataFusionStatement::Statement(Box::new(statement));
    let plan = state.statement_to_plan(statement).await;
    let plan = plan.map_err(|error| yql::as_typed(ours(error), query))?;
    let plan = rewrite::rewrite(plan, hints).map_err(ours)?;
    singles::aggregated(plan).map_err(ours)
}

fn config() -> SessionConfig {
    let streams = std::thread::available_parallelism().map_or(1, usize::from);
    let mut config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_create_default_catalog_and_schema(false)
        .with_information_schema(false)
        .with_target_partitions(streams.min(STREAMS_MAX));
    let options = config.options_mut();
    // NULL sorts first in keys, and so everywhere.
    options.sql_parser.default_null_ordering = "nulls_min".to_owned();
    options.sql_parser.parse_float_as_decimal = true;
    // Our scans cannot use filters that are found while a query runs, and a plan that is kept must not
    // remember them.
    options.optimizer.enable_dynamic_filter_pushdown = false;
    config
}

/// DataFusion's rules between ours.
fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> = vec![Arc::new(Backwards)];
    rules.extend(PhysicalOptimizer::new().rules);
    rules.push(Arc::new(TakeTurns));
    rules
}
