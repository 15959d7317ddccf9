//! The sessions used in a blocking call. The call returns only once their refreshes are saved, since the program may end afterwards.
//!
//! A blocking call runs on its caller's thread, so the sessions are collected per thread.

use std::{cell::RefCell, sync::Arc};

use tokio::runtime::Handle;

use super::shared::Shared;

thread_local! {
    /// `None` while the thread runs no blocking call.
    static USED: RefCell<Option<Vec<Arc<Shared>>>> = const { RefCell::new(None) };
}

/// Starts a blocking call on this thread.
pub(crate) fn begin() {
    USED.set(Some(Vec::new()));
}

/// Adds a session to this thread's blocking call.
pub(super) fn add(session: &Arc<Shared>) {
    USED.with_borrow_mut(|used| {
        if let Some(used) = used
            && !used.iter().any(|known| Arc::ptr_eq(known, session))
        {
            used.push(Arc::clone(session));
        }
    });
}

/// Waits until the refreshes of all these sessions are saved, and ends the blocking call. A refresh that another runtime drives may wait for this call:
/// the call can block that runtime.
pub(crate) async fn close() {
    let runtime = Some(Handle::current().id());
    for session in USED.take().unwrap_or_default() {
        let is_own = session.state().flight_runtime == runtime;
        if is_own {
            session.wait_idle().await;
        }
    }
}
