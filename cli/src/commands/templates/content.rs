//! The flags of a template's content, which making one and changing one have in common.

use posthaste::TemplateVariable;
use serde_json::Value;

use crate::context::Context;
use crate::input::bodies::{self, Bodies};
use crate::input::flags::Flags;

/// What the template says
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(super) struct Args {
    /// Name for its makers
    #[arg(long, value_name = "TEXT")]
    pub(super) name: Option<String>,
    /// Name that can stand for the id where it is sent, changed or published
    #[arg(long, value_name = "NAME")]
    pub(super) alias: Option<String>,
    /// Sender of emails that name none: `you@x.test` or `You <you@x.test>`
    #[arg(long, value_name = "ADDR")]
    pub(super) from: Option<String>,
    /// Subject of emails that have none; it may hold placeholders, as the body
    #[arg(long, value_name = "TEXT")]
    pub(super) subject: Option<String>,
    /// Address that answers go to; repeat it
    #[arg(long, value_name = "ADDR")]
    pub(super) reply_to: Vec<String>,
    #[command(flatten)]
    bodies: bodies::Args,
    /// Variable: NAME, NAME=FALLBACK, NAME:number or NAME:number=7; repeat it, at most 50 times
    ///
    /// It stands as {{{NAME}}} in HTML, text and subject. Without a fallback, every send has to give it a value. A name is made of
    /// A-Z a-z 0-9 _, at most 50; capitals are recommended.
    #[arg(long, value_name = "VARIABLE")]
    variable: Vec<String>,
}

impl Args {
    /// Reads the files, and tells the flags where each field was written.
    pub(super) fn bodies(&self, flags: &mut Flags, context: &Context) -> Bodies {
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
        self.bodies.read(flags, context.stdin())
    }

    /// Reads the variables; what is no variable is told.
    pub(super) fn variables(&self, flags: &mut Flags) -> Vec<TemplateVariable> {
        let mut variables = Vec::with_capacity(self.variable.len());
        for (i, text) in self.variable.iter().enumerate() {
            match variable(text) {
                Ok(variable) => variables.push(variable),
                Err(rule) => {
                    flags.wrong_nth("type", rule, "--variable", i + 1, text);
                    // Its place is kept, so that the others are told by theirs.
                    variables.push(TemplateVariable::string(format!("stand_in_{i}")).into());
                }
            }
        }
        variables
    }
}

/// `NAME[:TYPE][=FALLBACK]`.
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
                _ => Err("the fallback of a number is a number".to_owned()),
            }
        }
        Some(_) => Err("a variable is of type string or number: NAME:number".to_owned()),
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
