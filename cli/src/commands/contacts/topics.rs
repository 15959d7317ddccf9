//! `contacts update-topics`, and the columns of a contact's topic subscriptions.

use idempost::topics::Subscription;

use crate::input::flags::Flags;
use crate::rows::prelude::*;

/// Columns of a list of subscriptions.
pub(super) const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("name", "NAME", Kind::Shrinks),
    Column::new("subscription", "SUBSCRIPTION", Kind::Text),
    Column::new("description", "DESCRIPTION", Kind::Shrinks).optional(),
])
.nothing("no topics yet");

/// An entry of `--topics`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    id: String,
    subscription: String,
}

/// The choices of all flags; problems are reported.
pub(super) fn choices(given: &Given<'_>, flags: &mut Flags) -> Vec<(String, Subscription)> {
    let mut choices: Vec<(String, Subscription)> = Vec::new();
    for (flag, id, choice) in
        [("--opt-in", "opt_in", Subscription::OptIn), ("--opt-out", "opt_out", Subscription::OptOut)]
    {
        for (i, topic) in given.texts(id).into_iter().enumerate() {
            flags.field(&format!("/{}/id", choices.len()), flag, Some(&topic));
            if choice == Subscription::OptOut
                && choices.iter().any(|(known, chosen)| *known == topic && *chosen != choice)
            {
                let rule = "this topic is also passed to --opt-in";
                flags.reject_nth("exclusive", rule, flag, i + 1, &topic);
            }
            choices.push((topic, choice.clone()));
        }
    }
    let Some(text) = given.text("topics") else {
        if choices.is_empty() {
            flags.add_missing("--opt-in, --opt-out or --topics");
        }
        return choices;
    };
    let rule = "--topics must be a JSON array of objects with only `id` and `subscription`, both strings";
    let given = serde_json::from_str(text).ok().filter(|given: &Vec<Choice>| !given.is_empty());
    for Choice { id, subscription } in flags.accept(given, "type", rule, "--topics", text).unwrap_or_default()
    {
        flags.field(&format!("/{}", choices.len()), "--topics", Some(text));
        if choices.iter().any(|(known, _)| *known == id) {
            flags.reject("type", format!("the topic `{id}` is repeated"), "--topics", text);
        } else {
            choices.push((id, subscription.as_str().into()));
        }
    }
    choices
}
