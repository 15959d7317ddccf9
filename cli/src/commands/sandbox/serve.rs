//! `sandbox serve`: until somebody stops it.

mod line;

use posthaste_reference_server::{Service, mount};
use tokio::net::TcpListener;

use self::line::line;
use super::{Behaviour, KEY, PORT, describe};
use crate::context::Context;
use crate::fail::Fail;
use crate::signals::Signals;

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
    after_help = "Examples:\n  posthaste sandbox serve\n  posthaste sandbox serve --port 0 --rate-limit 2 -v\n\n\
    In another terminal, paste the line that begins with `export`; then: posthaste emails send …\n\
    Or log in, as with the service itself: paste what stands after `log in`, and leave the key out."
)]
pub(crate) struct Args {
    /// Port on 127.0.0.1; 0 is any that is free
    #[arg(long, value_name = "N", default_value_t = PORT)]
    port: u16,
    #[command(flatten)]
    behaviour: Behaviour,
}

/// Serves.
pub(super) async fn run(args: &Args, context: &Context) -> Result<(), Fail> {
    let listener = TcpListener::bind(("127.0.0.1", args.port)).await;
    let bound = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
    let (address, listener) = bound.map_err(|error| Fail::Local {
        message: format!("port {} of this machine cannot be used", args.port),
        source: Some(Box::new(error)),
        hint: Some("choose another with --port N, or any with --port 0".to_owned()),
    })?;
    let service = Service::new(args.behaviour.settings());
    let base_url = format!("http://{address}");
    // All of it can be pasted into a shell.
    let lines = [
        format!("# sandbox {base_url}"),
        format!("# inbox   {base_url}/_/"),
        format!("# log in  posthaste --base-url {base_url} auth login"),
        format!("export POSTHASTE_BASE_URL={base_url} POSTHASTE_API_KEY={KEY}"),
    ];
    if context.global.verbose > 0 {
        let note = context.out.noter();
        service.on_request(move |request| note(&line(request)));
    }
    // The signals are listened for before anybody is told that the sandbox is there.
    let mut signals = Signals::listen()?;
    context.out.result(&lines, &describe(&base_url))?;
    let stop = async {
        signals.next().await;
    };
    mount::http::serve(listener, service, stop)
        .await
        .map_err(|error| Fail::local("the sandbox cannot accept connections any more", error))
}
