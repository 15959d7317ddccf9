//! Where in a JSON text a value stands. Only asked when something is wrong: a second parser finds the bytes then.

use std::ops::Range;

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{ObjectProp, Value},
    common::Ranged,
    parse_to_ast,
};

/// What of a place is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The value at the pointer.
    Value,
    /// The key that the pointer ends with.
    Key,
}

/// The bytes of what stands at a JSON pointer; of the nearest place around it when there is no such thing.
pub(crate) fn find(text: &str, pointer: &str, part: Part) -> Range<usize> {
    let all = 0..text.len();
    let options = ParseOptions {
        allow_comments: false,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let Ok(parsed) = parse_to_ast(text, &CollectOptions::default(), &options) else { return all };
    let Some(mut value) = parsed.value.as_ref() else { return all };
    let mut key: Option<&ObjectProp<'_>> = None;
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let next = match value {
            // The last of several counts, as it does for a reader of the value; it is also the one that repeats.
            Value::Object(object) => object
                .properties
                .iter()
                .rev()
                .find(|prop| prop.name.as_str() == step)
                .map(|prop| (&prop.value, Some(prop))),
            Value::Array(array) => step
                .parse()
                .ok()
                .and_then(|index: usize| array.elements.get(index))
                .map(|value| (value, None)),
            _ => None,
        };
        match next {
            Some((inner, prop)) => (value, key) = (inner, prop),
            None => return first_line_of(text, value.range().start..value.range().end),
        }
    }
    let range = match (part, key) {
        (Part::Key, Some(prop)) => prop.name.range(),
        _ => value.range(),
    };
    range.start..range.end
}

/// Of an object or array around a place, its opening bracket says enough.
fn first_line_of(text: &str, range: Range<usize>) -> Range<usize> {
    match text.as_bytes().get(range.start) {
        Some(b'{' | b'[') => range.start..range.start + 1,
        _ => range,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"from": "a", "tags": [{"name": "week 47"}], "a/b": 1, "x": 1, "x": 2}"#;

    fn at(pointer: &str, part: Part) -> &'static str {
        &TEXT[find(TEXT, pointer, part)]
    }

    #[test]
    fn a_value_is_found_by_its_pointer() {
        assert_eq!(at("/from", Part::Value), "\"a\"");
        assert_eq!(at("/tags/0/name", Part::Value), "\"week 47\"");
        assert_eq!(at("/a~1b", Part::Value), "1");
        assert_eq!(at("/a~1b", Part::Key), "\"a/b\"");
    }

    #[test]
    fn of_a_repeated_key_the_repetition_is_found() {
        assert_eq!(find(TEXT, "/x", Part::Key).start, TEXT.rfind("\"x\"").unwrap());
    }

    #[test]
    fn what_is_missing_is_told_at_the_object_that_lacks_it() {
        assert_eq!(at("/tags/0/value", Part::Value), "{");
        assert_eq!(find(TEXT, "/tags/0/value", Part::Value).start, TEXT.find("{\"name\"").unwrap());
        assert_eq!(at("/subject", Part::Value), "{");
        assert_eq!(find("no json", "/x", Part::Value), 0..7);
    }
}
