//! Writes standard output on a thread: a blocked reader must not keep the program from deleting the webhook and exiting.

use std::sync::mpsc;

use tokio::sync::mpsc as answers;

use crate::diagnostics::Fail;
use crate::output::write_stdout;

/// Writes texts one after the other.
#[derive(Debug)]
pub(super) struct Writer {
    texts: mpsc::Sender<String>,
    written: answers::UnboundedReceiver<Result<(), Fail>>,
    /// A write is in progress; the next one has to wait.
    pub(super) is_busy: bool,
}

impl Writer {
    /// Starts the thread, which is never joined.
    pub(super) fn start() -> Self {
        let (texts, to_write) = mpsc::channel::<String>();
        let (answer, written) = answers::unbounded_channel();
        std::thread::spawn(move || {
            for text in to_write {
                if answer.send(write_stdout(text.as_bytes())).is_err() {
                    break;
                }
            }
        });
        Self { texts, written, is_busy: false }
    }

    /// Starts writing. Await [`wait_written`](Self::wait_written) before the next call.
    pub(super) fn write(&mut self, text: String) {
        // The thread lives as long as this value.
        self.is_busy = self.texts.send(text).is_ok();
    }

    /// Waits until the current write ends; forever if there is none.
    pub(super) async fn wait_written(&mut self) -> Result<(), Fail> {
        if !self.is_busy {
            return std::future::pending().await;
        }
        let written = self.written.recv().await.unwrap_or(Ok(()));
        self.is_busy = false;
        written
    }
}
