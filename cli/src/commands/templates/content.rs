//! The content flags that `create` and `update` share.

use idempost::templates::TemplateVariable;
use serde_json::Value;

use crate::actions::html_command;
use crate::context::Context;
use crate::input::bodies::{self, Bodies};
use crate::input::flags::Flags;

/// Content of the template
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Internal name
    #[arg(long, value_name = "TEXT")]
    pub(super) name: Option<String>,
    /// Alias usable in place of the ID when sending, changing or publishing
    #[arg(long, value_name = "NAME")]
    pub(super) alias: Option<String>,
    /// Default sender: `you@x.test` or `You <you@x.test>`
    #[arg(long, value_name = "ADDRESS")]
    pub(super) from: Option<String>,
    /// Default subject; may contain placeholders, like the body
    #[arg(long, value_name = "TEXT")]
    pub(super) subject: Option<String>,
    /// Default reply-to address; repeatable
    #[arg(long, value_name = "ADDRESS")]
    pub(super) reply_to: Vec<String>,
    #[command(flatten)]
    bodies: bodies::Args,
    /// Variable: NAME, NAME=FALLBACK, NAME:number or NAME:number=7; repeatable, at most 50
    ///
    /// Used as {{{NAME}}} in HTML, text and subject; those may also have the placeholders of `broadcasts create`, such as
    /// {{{contact.city|your town}}} and {{{SERVICE_UNSUBSCRIBE_URL}}}. Without a fallback, every send must set it. A name may have 50 characters of A-Z a-z 0-9 _;
    /// capitals are recommended.
    #[arg(long, value_name = "VARIABLE")]
    variable: Vec<String>,
}

impl Args {
    /// Reads the files and records which flag set each field.
    pub(super) async fn bodies(&self, flags: &mut Flags, context: &Context) -> Bodies {
        for (pointer, flag, value) in [
            ("/name", "--name", &self.name),
            ("/alias", "--alias", &self.alias),
            ("/from", "--from", &self.from),
            ("/subject", "--subject", &self.subject),
        ] {
            flags.field(pointer, flag, value.as_deref());
        }
        flags.list("/reply_to", "--reply-to", &self.reply_to);
        flags.list("/variables", "--variable", &self.variable);
        html_command::bodies(&self.bodies, flags, &mut context.stdin()).await
    }

    /// Reads the variables; reports invalid ones.
    pub(super) fn variables(&self, flags: &mut Flags) -> Vec<TemplateVariable> {
        let mut variables = Vec::with_capacity(self.variable.len());
        for (i, text) in self.variable.iter().enumerate() {
            match variable(text) {
                Ok(variable) => variables.push(variable),
                Err(rule) => {
                    flags.wrong_nth("type", rule, "--variable", i + 1, text);
                    // A placeholder, so that later variables keep their index.
                    variables.push(TemplateVariable::string(format!("stand_in_{i}")).into());
                }
            }
        }
        variables
    }
}

/// Parses `NAME[:TYPE][=FALLBACK]`.
fn variable(text: &str) -> Result<TemplateVariable, String> {
    let (definition, fallback) = match text.split_once('=') {
        Some((definition, fallback)) => (definition, Some(fallback)),
        None => (text, None),
    };
    match definition.split_once(':') {
        None | Some((_, "string")) => {
            let key = definition.split(':').next().unwrap_or_default();
            let variable = TemplateVariable::string(key);
            Ok(match fallback {
                Some(fallback) => variable.fallback(fallback).into(),
                None => variable.into(),
            })
        }
        Some((key, "number")) => {
            let variable = TemplateVariable::number(key);
            let Some(fallback) = fallback else { return Ok(variable.into()) };
            match serde_json::from_str::<Value>(fallback) {
                Ok(Value::Number(number)) => Ok(variable.fallback(number).into()),
                _ => Err("the fallback of a number must be a number".to_owned()),
            }
        }
        Some(_) => Err("the type must be string or number: NAME:number".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_variable_is_a_name_a_type_and_a_fallback() {
        let wire = |text: &str| variable(text).map(|variable| serde_json::to_value(variable).unwrap());
        assert_eq!(wire("A"), Ok(json!({ "key": "A", "type": "string" })));
        assert_eq!(wire("A=b=c:d"), Ok(json!({ "key": "A", "type": "string", "fallback_value": "b=c:d" })));
        assert_eq!(wire("A:string="), Ok(json!({ "key": "A", "type": "string", "fallback_value": "" })));
        assert_eq!(wire("A:number"), Ok(json!({ "key": "A", "type": "number" })));
        assert_eq!(wire("A:number=1.5"), Ok(json!({ "key": "A", "type": "number", "fallback_value": 1.5 })));
        for wrong in ["A:number=x", "A:number=\"1\"", "A:boolean", "A:"] {
            assert!(wire(wrong).is_err(), "{wrong}");
        }
    }
}
