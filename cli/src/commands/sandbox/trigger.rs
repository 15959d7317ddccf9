//! `sandbox trigger`: sends a simulated event to subscribed webhooks.

use http::Method;
use idempost::webhooks::EventType;
use serde_json::{Map, Value, json};

use super::{client, unreachable_failure};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::{Choices, Flags};
use crate::input::json as strict;
use crate::output::format_count;
use crate::output::table::text_at;

/// Send a simulated event to subscribed webhooks
///
/// Every subscribed webhook of this key receives the event signed like a real one, with retries. Fields of its data can be overridden: a name is
/// a dotted path, or a JSON pointer if a key contains dots; = sets a string, := sets JSON, and :=null removes the field.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    idempost sandbox trigger email.bounced\n  \
    idempost sandbox trigger email.bounced --override bounce.type=Transient --override 'to:=[\"ada@example.com\"]'\n  \
    idempost sandbox trigger --list")]
pub(crate) struct Args {
    /// Type of the event, such as email.delivered
    #[arg(value_name = "EVENT", required_unless_present = "list", conflicts_with = "list", value_parser = Choices(EventType::KNOWN), hide_possible_values = true)]
    event: Option<String>,
    /// Set a field of `data`; repeatable
    #[arg(long = "override", value_name = "NAME=VALUE", conflicts_with = "list")]
    overrides: Vec<String>,
    /// List the event types
    #[arg(long)]
    list: bool,
}

/// Sends the request.
pub(super) async fn run(args: Args, context: &Context) -> Result<(), Fail> {
    let mut flags = Flags::default();
    let data = data(&args.overrides, &mut flags);
    flags.finish()?;
    let client = client(context)?;
    let Some(event) = &args.event else {
        let types = client.request(Method::GET, "/_/events").await.map_err(unreachable_failure)?;
        let lines =
            types["data"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        return context.out.result(&lines.collect::<Vec<_>>(), &types);
    };
    let body = json!({ "type": event, "data": data });
    let response =
        client.request(Method::POST, "/_/events").json(&body).await.map_err(unreachable_failure)?;
    let deliveries: Vec<_> = response["deliveries"].as_array().into_iter().flatten().collect();
    context.out.note(&match deliveries.len() {
        0 => format!(
            "no webhook is subscribed to {event}; to add one: idempost webhooks create, or idempost webhooks listen"
        ),
        webhooks => format!("sent to {}", format_count(webhooks, "webhook")),
    });
    let lines: Vec<_> = deliveries.into_iter().map(|delivery| text_at(delivery, "/event_id")).collect();
    context.out.result(&lines, &response)
}

fn data(overrides: &[String], flags: &mut Flags) -> Map<String, Value> {
    let mut data = Map::new();
    for (i, text) in overrides.iter().enumerate() {
        if let Err(rule) = apply_override(&mut data, text) {
            flags.reject_nth("type", rule, "--override", i + 1, text);
        }
    }
    data
}

fn apply_override(data: &mut Map<String, Value>, text: &str) -> Result<(), String> {
    let form = "an override must be NAME=VALUE or NAME:=JSON";
    let (name, value) = text.split_once('=').ok_or(form)?;
    let (name, value) = match name.strip_suffix(':') {
        Some(name) => (name, strict::read(value).map_err(|error| error.message)?.value),
        None => (name, Value::from(value)),
    };
    let path: Vec<_> = match name.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect(),
        None => name.split('.').map(str::to_owned).collect(),
    };
    if path.iter().any(String::is_empty) {
        return Err(form.to_owned());
    }
    let Some((last, folders)) = path.split_last() else { return Err(form.to_owned()) };
    let mut place = data;
    for folder in folders {
        let inner = place.entry(folder.as_str()).or_insert_with(|| Value::Object(Map::new()));
        place = inner.as_object_mut().ok_or_else(|| format!("`{folder}` already has a value"))?;
    }
    if place.insert(last.clone(), value).is_some() {
        return Err(format!("`{name}` is repeated"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dotted_path_and_a_pointer_select_the_same_field() {
        let overrides =
            ["bounce.type=Transient", "/bounce/sub.Type=a=b", "to:=[\"x\"]", "tags:=null", "/a~1b/c~0d=1"];
        let mut flags = Flags::default();
        let data = data(&overrides.map(str::to_owned), &mut flags);
        flags.finish().unwrap();
        assert_eq!(
            Value::Object(data),
            json!({"bounce": {"type": "Transient", "sub.Type": "a=b"}, "to": ["x"], "tags": null, "a/b": {"c~d": "1"}})
        );
    }

    #[test]
    fn an_invalid_path_is_refused() {
        for wrong in [
            &["x"][..],
            &["=x"],
            &["a..b=x"],
            &["/=x"],
            &[":=1"],
            &["a:={"],
            &["a:="],
            &["a=1", "a=2"],
            &["a=1", "a.b=2"],
            &["a.b=1", "a=2"],
        ] {
            let mut flags = Flags::default();
            data(&wrong.iter().map(|&text| text.to_owned()).collect::<Vec<_>>(), &mut flags);
            assert!(flags.finish().is_err(), "{wrong:?}");
        }
    }
}
