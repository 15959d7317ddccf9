//! `sandbox serve`: runs the sandbox until it is stopped.

mod line;
pub(super) mod reach;

use std::io;

use tokio::sync::oneshot;

use self::line::format_request;
use self::reach::ListenArgs;
use super::assignment::Shell;
use super::server::SandboxServer;
use super::{PORT, ServerArgs, VENDOR_API_KEY, vendor_base_urls};
use crate::actions::browser;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::signals::Signals;

/// Commands to try first; they find the sandbox through the variables on the last line.
const SUGGESTIONS: [&str; 2] = [
    "idempost emails send --from hi@acme.test --to ada@example.com --subject Hello --text 'It works'",
    "idempost sandbox inbox latest",
];

/// Run the sandbox until Ctrl-C
///
/// Prints its URL, its inbox and the variables that point other programs to it. Reachable only from this machine unless --host says otherwise.
/// GET /healthz answers health checks. After Ctrl-C, the exit code is 0.
///
/// Addresses determine outcomes: email to delivered@, opened@, clicked@, bounced@, complained@, delayed@, suppressed@, failed@ or no-tls@ at
/// any domain has that outcome; all other email is delivered. Domains are verified two seconds after the request: names starting with `slow.`
/// after a minute, with `fail.` never, with `partial.` for sending only.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  idempost sandbox serve\n  idempost sandbox serve --port 0 --rate-limit 2 -v\n  \
    idempost sandbox serve --open --smtp-port 2525 --smtp-tls-port 2465\n  \
    IDEMPOST_SANDBOX_AUTH=correct-horse idempost sandbox serve --host 0.0.0.0 --allow-host mail\n\n\
    In another terminal, paste the last line (it sets the variables), then run: idempost emails send …\n\
    Or log in as with the real service: paste the command after `log in`, without setting the key."
)]
pub(crate) struct Args {
    /// Port; 0 picks any free port
    #[arg(long, value_name = "N", default_value_t = PORT)]
    port: u16,
    /// Open the inbox in a browser
    #[arg(long)]
    open: bool,
    /// Stop at the end of standard input
    ///
    /// For programs that start a sandbox and hold the other end of a pipe: it stops with them, even if they are killed.
    #[arg(long, hide_short_help = true)]
    until_eof: bool,
    #[command(flatten)]
    reach: ListenArgs,
    #[command(flatten)]
    pub(super) service: ServerArgs,
}

/// Runs the command.
pub(super) async fn run(args: Box<Args>, context: &Context) -> Result<(), Fail> {
    let server = SandboxServer::open(args.port, &args.reach, &args.service, context).await?;
    let (base_url, key) = (server.base_url.as_str(), server.key.as_str());
    // The complete output is valid shell input.
    let mut lines = vec![
        format!("# sandbox {base_url}"),
        format!("# inbox   {base_url}/_/"),
        format!("# log in  idempost --base-url {base_url} auth login"),
    ];
    let urls = [("smtp", server.smtp_url()), ("smtps", server.smtps_url())];
    lines.extend(urls.into_iter().filter_map(|(name, url)| Some(format!("# {name:<7} {}", url?))));
    lines.extend(server.fingerprint().map(|fingerprint| format!("# tls     SHA-256 {fingerprint}")));
    if server.smtp_url().or_else(|| server.smtps_url()).is_some() {
        lines.push(
            "# auth    user resend sends, user inbound receives; the password is an API key".to_owned(),
        );
        if !server.has_password() {
            lines.push(format!("#         mail without AUTH is received by {key}"));
        }
    }
    lines.extend(args.service.data.iter().map(|folder| format!("# data    {}", folder.display())));
    lines.extend(server.relay().map(|(purpose, server)| format!("# {purpose} {server}")));
    lines.extend(SUGGESTIONS.map(|command| format!("# try     {command}")));
    let shell = Shell::from_name(None, &context.env);
    let [first, second] = vendor_base_urls(base_url);
    let resend = shell.line(&[(first.0, &first.1), (second.0, &second.1), (VENDOR_API_KEY, key)]);
    lines.push(format!("# resend  {resend}"));
    lines.push(shell.line(&[("IDEMPOST_BASE_URL", base_url), ("IDEMPOST_API_KEY", key)]));
    if context.global.verbose > 0 {
        let note = context.out.note_printer();
        server.service.on_request(move |request| note(&format_request(request)));
    }
    // Signal handlers are installed before the sandbox is announced.
    let mut signals = Signals::listen()?;
    context.out.result(&lines, &server.describe())?;
    if args.open {
        browser::open(&format!("{base_url}/_/"), context);
    }
    let stop = async {
        tokio::select! {
            _ = signals.next() => {}
            () = end_of_input(), if args.until_eof => {}
        }
    };
    server.serve(Box::pin(stop)).await.map_err(|error| Fail::local("the sandbox failed to stop", error))
}

/// Waits for the end of standard input, on a thread: a blocking task of the runtime would delay the exit.
async fn end_of_input() {
    let (ended, end) = oneshot::channel();
    std::thread::spawn(move || {
        // An error also ends it.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}
