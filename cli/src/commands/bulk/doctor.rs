//! `bulk doctor`: checks that the service honors idempotency keys.

use idempost::{BatchEmail, Email, IdempotencyKey};
use serde_json::json;

use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Flags, Required};

/// Check that the service honors idempotency keys, which jobs rely on
///
/// Sends the same email twice with the same key to your own address, and compares the IDs. You should get one email.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  idempost bulk doctor --from hi@acme.test --to me@acme.test")]
pub(crate) struct Args {
    /// Your own address, which receives the email
    #[arg(long, value_name = "ADDRESS", add = Required)]
    to: Option<String>,
    /// Sender [default: `from` in the profile]
    #[arg(long, value_name = "ADDRESS")]
    from: Option<String>,
}

pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    flags.help("idempost bulk doctor --from hi@acme.test --to me@acme.test");
    let from = match args.from {
        Some(from) => Some(from),
        None => context.settings()?.from.as_ref().map(|from| from.value.clone()),
    };
    flags.field("/from", "--from (or `from` in the profile)", from.as_deref());
    flags.declare_list("/to", "--to", &args.to.iter().cloned().collect::<Vec<_>>());
    let text = "This email was sent twice under one idempotency key by `idempost bulk doctor`. \
        If you get it once, the service honors idempotency keys.";
    let mut email = Email::default().subject("Check of idempotency keys").text(text);
    email = args.to.into_iter().fold(email, Email::to);
    email = from.into_iter().fold(email, Email::from);
    flags.add_problems(email.check());
    flags.finish()?;
    let client = context.client()?;
    let key = IdempotencyKey::random();
    let emails: [BatchEmail; 1] = [email.into()];
    let mut ids = Vec::new();
    for _ in 0..2 {
        let unknown_outcome = "an email to your own address may have been sent";
        context.in_flight.begin(unknown_outcome, Some(key.as_str()));
        let sent =
            trace::execute(context, || client.emails().send_batch(&emails).idempotency_key(key.as_str()));
        let sent = sent.await;
        context.in_flight.finish();
        let sent = sent.map_err(|error| Fail::from_call(error, unknown_outcome, false))?;
        ids.extend(sent.value.data.into_iter().map(|accepted| accepted.id.to_string()));
    }
    let honored = ids.len() == 2 && ids[0] == ids[1];
    let line = if honored {
        format!("ok: both requests returned {}", ids[0])
    } else {
        format!("the requests returned different IDs: {}", ids.join(", "))
    };
    let document =
        json!({ "object": "bulk_doctor", "honored": honored, "ids": ids, "idempotency_key": key.as_str() });
    context.out.result(&[line], &document)?;
    if honored {
        return Ok(());
    }
    Err(Fail::rejected(
        "the service doesn't honor idempotency keys: an interrupted job can send emails twice",
    )
    .hint("don't run jobs against this service; report it to its operator"))
}
