//! `--variable` of templates.

use idempost::templates::{StringVariable, TemplateVariable};
use serde_json::Value;

use crate::rows::given::{Body, Given};

/// Reads the variables; reports malformed ones.
pub(super) fn fill_variables(given: &Given<'_>, body: &mut Body) {
    let texts = given.texts("variable");
    body.flags.declare_list("/variables", "--variable", &texts);
    let mut variables = Vec::with_capacity(texts.len());
    for (i, text) in texts.iter().enumerate() {
        // A placeholder for a malformed one, so that later variables keep their index.
        let read = parse_variable(text).unwrap_or_else(|rule| {
            body.flags.reject_nth("type", rule, "--variable", i + 1, text);
            TemplateVariable::string(format!("stand_in_{i}")).into()
        });
        variables.extend(serde_json::to_value(read));
    }
    if !variables.is_empty() {
        body.set("variables", variables.into());
    }
}

/// Parses `NAME[:TYPE][=FALLBACK]`.
fn parse_variable(text: &str) -> Result<TemplateVariable, String> {
    let (definition, fallback) = match text.split_once('=') {
        Some((definition, fallback)) => (definition, Some(fallback)),
        None => (text, None),
    };
    match definition.split_once(':') {
        None | Some((_, "string")) => {
            let key = definition.split(':').next().unwrap_or_default();
            let variable = TemplateVariable::string(key);
            Ok(fallback.into_iter().fold(variable, StringVariable::fallback).into())
        }
        Some((key, "number")) => {
            let variable = TemplateVariable::number(key);
            let Some(fallback) = fallback else { return Ok(variable.into()) };
            match serde_json::from_str::<Value>(fallback) {
                Ok(Value::Number(number)) => Ok(variable.fallback(number).into()),
                _ => Err("the fallback of a number variable must be a number".to_owned()),
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
        let wire = |text: &str| parse_variable(text).map(|variable| serde_json::to_value(variable).unwrap());
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
