//! The seam between work that waits and threads that serve many: [`blocking`].
//!
//! ```text
//!   session (a task) ─► sql ─► txn ─► engine
//!                        │      │       └─ waits for a disk, or one day for an object store
//!                        │      └───────── waits for the commit lock, or for a commit
//!                        └──────────────── validates a million rows
//!                                          each of these runs inside of `blocking`
//! ```
//!
//! The layers below `server` are plain functions, and tasks of a runtime call them. A task that waits in
//! such a function keeps its worker thread from all other tasks, and with as many workers as cores few of
//! them stop all clients. So code that is about to wait, or to compute for long, says so here, where it
//! happens and nowhere above: the runtime then gives the worker's other tasks to another thread. An engine
//! that is slow on every read does the same around its reads, and no caller changes.
//!
//! Without a runtime, or on one with a single thread, the work is just done: no other task
//! could run meanwhile in the latter, and there is none in the former. The simulator has none, and its
//! histories stay one thread and one seed.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs work that may wait or take long, so that other tasks of the calling thread go on meanwhile.
///
/// Costs little where no runtime is, and some microseconds on a worker thread: not for a read from memory.
/// Inside of another call it costs nothing. A task that is confined to one thread (tokio's `LocalSet`) on a
/// runtime of several must not get here, because its other tasks can go nowhere: tokio panics.
pub fn blocking<T>(work: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn other_tasks_go_on_while_one_blocks() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let (send, receive) = channel();
        let waits = runtime.spawn(async move { blocking(|| receive.recv()) });
        // It waits for a task that runs on the same, only worker.
        runtime.spawn(async move { send.send(7) });
        assert_eq!(runtime.block_on(waits).unwrap(), Ok(7));
    }

    #[test]
    fn without_threads_to_spare_the_work_is_just_done() {
        assert_eq!(blocking(|| blocking(|| 1)), 1);
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        assert_eq!(runtime.unwrap().block_on(async { blocking(|| 2) }), 2);
    }
}
