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

/// The entries of `--topics`; malformed ones have no subscription.
fn read_topics(text: &str) -> Vec<(String, Option<Subscription>)> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Choice {
        id: String,
        subscription: String,
    }
    match serde_json::from_str::<Vec<Choice>>(text) {
        Ok(choices) if !choices.is_empty() => {
            choices.into_iter().map(|one| (one.id, Some(one.subscription.as_str().into()))).collect()
        }
        _ => vec![(String::new(), None)],
    }
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
    for (topic, choice) in read_topics(text) {
        flags.field(&format!("/{}", choices.len()), "--topics", Some(text));
        let rule = match choice {
            _ if choices.iter().any(|(known, _)| *known == topic) => {
                format!("the topic `{topic}` is repeated")
            }
            None => {
                "--topics must be a JSON array of objects with only `id` and `subscription`, both strings"
                    .to_owned()
            }
            Some(choice) => {
                choices.push((topic, choice));
                continue;
            }
        };
        flags.reject("type", rule, "--topics", text);
    }
    choices
}
