//! `sandbox serve`: until somebody stops it.

mod line;

use self::line::line;
use super::house::House;
use super::{Behaviour, KEY, PORT};
use crate::actions::browser;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::signals::Signals;

/// What to begin with; they find the sandbox by the variables of the last line.
const TRY: [&str; 2] = [
    "posthaste emails send --from hi@acme.test --to ada@example.com --subject Hello --text 'It works'",
    "posthaste sandbox inbox latest",
];

/// Serve the sandbox until Ctrl-C
///
/// Prints its address, its inbox and the variables that point other programs at it. It is reachable from this machine
/// only. Stopping it is how it ends: the exit code is then 0.
///
/// Names decide what happens. An email to delivered@, opened@, clicked@, bounced@, complained@, delayed@, suppressed@, failed@ or
/// no-tls@ any domain meets that fate; all others are delivered. A domain is verified two seconds after that was asked for: one that
/// begins with `slow.` after a minute, with `fail.` never, with `partial.` for sending only.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  posthaste sandbox serve\n  posthaste sandbox serve --port 0 --rate-limit 2 -v\n  \
    posthaste sandbox serve --open --smtp-port 2525 --smtp-tls-port 2465\n\n\
    In another terminal, paste the line that begins with `export`; then: posthaste emails send …\n\
    Or log in, as with the service itself: paste what stands after `log in`, and leave the key out."
)]
pub(crate) struct Args {
    /// Port on 127.0.0.1; 0 is any that is free
    #[arg(long, value_name = "N", default_value_t = PORT)]
    port: u16,
    /// Open the inbox in a browser
    #[arg(long)]
    open: bool,
    #[command(flatten)]
    pub(super) behaviour: Behaviour,
}

/// Serves.
pub(super) async fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    let house = House::open(args.port, &args.behaviour, context).await?;
    let base_url = house.base_url();
    // All of it can be pasted into a shell.
    let mut lines = vec![
        format!("# sandbox {base_url}"),
        format!("# inbox   {base_url}/_/"),
        format!("# log in  posthaste --base-url {base_url} auth login"),
    ];
    let urls = [("smtp", house.smtp_url()), ("smtps", house.smtps_url())];
    lines.extend(urls.into_iter().filter_map(|(name, url)| Some(format!("# {name:<7} {}", url?))));
    if let Some(fingerprint) = house.fingerprint() {
        lines.push(format!("# tls     SHA-256 {fingerprint}"));
        lines.push(
            "# auth    user resend sends, user inbound receives; the password is an API key".to_owned(),
        );
        lines.push(format!("#         without AUTH mail is received by {KEY}"));
    }
    lines.extend(args.behaviour.data.iter().map(|folder| format!("# data    {}", folder.display())));
    lines.extend(house.forwards_to().map(|server| format!("# forward {server}")));
    lines.extend(TRY.map(|command| format!("# try     {command}")));
    lines.push(format!("export POSTHASTE_BASE_URL={base_url} POSTHASTE_API_KEY={KEY}"));
    if context.global.verbose > 0 {
        let note = context.out.noter();
        house.service.on_request(move |request| note(&line(request)));
    }
    // The signals are listened for before anybody is told that the sandbox is there.
    let mut signals = Signals::listen()?;
    context.out.result(&lines, &house.describe())?;
    if args.open {
        browser::open(&format!("{base_url}/_/"), context);
    }
    let stop = async {
        signals.next().await;
    };
    house.serve(stop).await.map_err(|error| Fail::local("the sandbox did not end well", error))
}
