//! Standard output on a thread of its own: a reader that has stopped reading must not keep the program from ending, and with it
//! the webhook from being deleted.

use std::sync::mpsc;

use tokio::sync::mpsc as answers;

use crate::diagnostics::Fail;
use crate::output::write_stdout;

/// Writes one text after the other.
#[derive(Debug)]
pub(super) struct Writer {
    texts: mpsc::Sender<String>,
    written: answers::UnboundedReceiver<Result<(), Fail>>,
    /// A text is on its way; the next one has to wait.
    pub(super) is_busy: bool,
}

impl Writer {
    /// Starts the thread. Nobody waits for its end.
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

    /// Writes this. Ask [`written`](Self::written) for the end of it before the next one.
    pub(super) fn write(&mut self, text: String) {
        // The thread lives as long as this.
        self.is_busy = self.texts.send(text).is_ok();
    }

    /// Waits until what is on its way was written; for ever if there is nothing.
    pub(super) async fn written(&mut self) -> Result<(), Fail> {
        if !self.is_busy {
            return std::future::pending().await;
        }
        let written = self.written.recv().await.unwrap_or(Ok(()));
        self.is_busy = false;
        written
    }
}
