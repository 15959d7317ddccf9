//! The global flag `--sandbox`: runs the whole service inside this program while one command runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use idempost_sandbox::{CapturedMail, Service as Sandbox, Settings, mount};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::context::Service;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Columns, Kind};
use crate::output::terminal::escape_line;
use crate::output::{Out, write_stderr, write_stderr_json};

/// The grace period for emails after the command, since attachments may have to be fetched.
const GRACE: Duration = Duration::from_secs(2);

/// Maximum number of emails shown: a bulk job can send any number.
const MAX_SHOWN: usize = 100;

/// The table width in a log, which has space for whole subjects.
const TABLE_WIDTH: usize = 1000;

/// The sandbox of one command. Its key is random.
pub(crate) struct Embedded {
    sandbox: Arc<Sandbox>,
    pub(crate) service: Service,
    captured: Arc<Mutex<Vec<Captured>>>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
}

/// The summary of a captured email.
struct Captured {
    from: String,
    to: Vec<String>,
    subject: String,
    size: usize,
}

impl Embedded {
    /// Starts a sandbox on a free port of this machine.
    pub(crate) async fn start() -> Result<Self, Fail> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let bound = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|error| Fail::local("couldn't start the sandbox", error))?;
        let sandbox = idempost_sandbox::service(Settings { beta: true, ..Settings::default() });
        let captured = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&captured);
        sandbox.on_captured(move |mail| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(Captured::from_mail(mail));
        });
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(mount::http::serve(listener, Arc::clone(&sandbox), async {
            // Dropping the sender also stops the server.
            let _ = stopped.await;
        }));
        let api_key = format!("sb_{}", uuid::Uuid::new_v4().simple());
        let service = Service { base_url: format!("http://{address}"), api_key };
        Ok(Self { sandbox, service, captured, stop, served })
    }

    /// Waits until accepted emails are captured, prints them, and stops.
    pub(crate) async fn finish(self, out: &Out) {
        self.sandbox.run_due();
        let awaited = async {
            while self.is_fetching() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // Anything slower isn't worth waiting for.
        let _ = tokio::time::timeout(GRACE, awaited).await;
        let captured = std::mem::take(&mut *self.captured.lock().unwrap_or_else(PoisonError::into_inner));
        if captured.is_empty() && self.accepted_emails().iter().any(|body| body.get("scheduled_at").is_some())
        {
            out.note("nothing was captured: the email is scheduled, but the sandbox ends with this command");
        }
        print_captured(&captured, out);
        // Stops even if the receiver is gone.
        let _ = self.stop.send(());
        let _ = self.served.await;
    }

    /// Whether an accepted email waits for attachments given by URL.
    fn is_fetching(&self) -> bool {
        let captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner).len();
        let by_url = |attachment: &Value| attachment.get("path").is_some();
        let fetching =
            |body: &Value| body["attachments"].as_array().is_some_and(|all| all.iter().any(by_url));
        captured == 0
            && self.accepted_emails().iter().any(|body| body.get("scheduled_at").is_none() && fetching(body))
    }

    /// The bodies of accepted requests.
    fn accepted_emails(&self) -> Vec<Value> {
        let requests = self.sandbox.requests();
        let accepted = requests.iter().filter(|request| request.status.is_success());
        accepted.filter_map(|request| serde_json::from_slice(&request.body).ok()).collect()
    }
}

impl Captured {
    fn from_mail(mail: &CapturedMail) -> Self {
        let to = [&mail.to, &mail.cc, &mail.bcc].into_iter().flatten().cloned().collect();
        Self { from: mail.from.clone(), to, subject: mail.subject.clone(), size: mail.mime.len() }
    }

    fn row(&self) -> Value {
        json!({ "from": self.from, "to": self.to, "subject": self.subject, "size": self.size })
    }
}

const COLUMNS: &[Column] = &[
    Column::new("from", "FROM", Kind::Text),
    Column::new("to", "TO", Kind::Text),
    Column::new("subject", "SUBJECT", Kind::Shrinks),
    Column::new("size", "BYTES", Kind::Text),
];

/// Prints one email in full, several as a table.
fn print_captured(captured: &[Captured], out: &Out) {
    if out.quiet {
        return;
    }
    if out.messages_are_json {
        for mail in captured.iter().take(MAX_SHOWN) {
            write_stderr_json(&json!({ "captured": mail.row() }));
        }
        return;
    }
    let what = "captured by the sandbox (nothing left this machine):";
    match captured {
        [] => {}
        [Captured { from, to, subject, size }] => {
            let (from, to, subject) = (escape_line(from), to.join(", "), escape_line(subject));
            out.note(&format!(
                "{what}\n  from     {from}\n  to       {}\n  subject  {subject}\n  size     {size} bytes",
                escape_line(&to)
            ));
        }
        several => {
            let rows: Vec<Value> = several.iter().take(MAX_SHOWN).map(Captured::row).collect();
            let width = if out.terminal.stderr { out.terminal.width } else { TABLE_WIDTH };
            let table =
                Columns::new(COLUMNS).render(&rows, width, Timestamp::now(), out.terminal.color_stderr);
            let more = several.len() - rows.len();
            let more = if more == 0 { String::new() } else { format!("and {more} more\n") };
            write_stderr(&format!("{what}\n{table}\n{more}"));
        }
    }
}
