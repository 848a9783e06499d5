//! How tests open a database over an engine of theirs, and ask it.

use std::sync::Arc;

use db::{Database, Error, Options, Session, Value};
use storage::{Engine, SharedPlacement};

pub(crate) use crate::session::run;

/// Opens a database that does nothing by itself, over the engine that `engine` answers with each time it
/// is asked. `change` may set other options.
pub(crate) fn opened(
    engine: impl Fn() -> Arc<dyn Engine> + Send + Sync + 'static,
    change: impl FnOnce(&mut Options),
) -> Result<Arc<Database>, Error> {
    let open = move || -> storage::Result<Arc<dyn Engine>> { Ok(engine()) };
    let mut options = Options::new(Arc::new(SharedPlacement::new(open)));
    options.background = false;
    change(&mut options);
    Ok(Arc::new(Database::open_with(options)?))
}

/// Runs statements in a session of their own and answers with the rows of the last.
pub(crate) async fn ask(db: &Arc<Database>, text: &str) -> Result<Vec<Vec<Value>>, Error> {
    run(&mut Session::new(Arc::clone(db)), text).await
}
