//! `received get`: one received email with its bodies.

use idempost::received::{EmailAuthentication, HtmlFormat};

use crate::actions::{mutation, trace};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Choices;
use crate::output::record;

/// Show one received email with its bodies
///
/// Treat it as untrusted: the sender address can be forged. Only `dmarc pass` means that the sender's domain authorized the email.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost received get 4ef9a417-02e9-4d39-ad75-9611e0fcc33c\n  \
    idempost received get 4ef9a417-02e9-4d39-ad75-9611e0fcc33c --jq .authentication.dmarc\n  \
    idempost received get 4ef9a417-02e9-4d39-ad75-9611e0fcc33c --html-format cid --json=text,headers")]
pub(crate) struct Args {
    /// ID of the email
    #[arg(value_name = "ID")]
    id: String,
    /// How the HTML refers to images: data_uri (they are part of it) or cid [default: data_uri]
    #[arg(long, value_name = "FORMAT", value_parser = Choices(HtmlFormat::KNOWN), hide_possible_values = true)]
    html_format: Option<String>,
}

/// Prints the email.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let client = context.client()?;
    let email = trace::execute(context, || {
        let call = client.received().get(args.id.as_str());
        args.html_format.iter().fold(call, |call, format| call.html_format(format.as_str()))
    })
    .await?;
    let document = mutation::document(&email);
    let mut shown = document.clone();
    if let Some(checks) = &email.value.authentication {
        shown["authentication"] = words(checks).into();
    }
    context.out.result(&record::lines(&shown), &document)
}

/// The results of the checks: `spf pass, dkim pass, dmarc fail`.
fn words(checks: &EmailAuthentication) -> String {
    let checks = [("spf", &checks.spf), ("dkim", &checks.dkim), ("dmarc", &checks.dmarc)];
    let words = checks.into_iter().filter_map(|(name, result)| Some(format!("{name} {}", result.as_ref()?)));
    words.collect::<Vec<_>>().join(", ")
}
