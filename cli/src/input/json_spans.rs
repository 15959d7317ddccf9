//! Finds the bytes of values in a JSON text. Used only for errors, with a second parser.

use std::{collections::HashMap, ops::Range};

use idempost::problem::Problem;
use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{ObjectProp, Value},
    common::Ranged,
    parse_to_ast,
};

/// Selects the key or the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The value at the pointer.
    Value,
    /// The last key of the pointer.
    Key,
}

/// Whether a problem concerns the key or the value.
pub(crate) fn part(problem: &Problem) -> Target {
    let keyed = problem.path.contains("/headers/") || problem.path.contains("/template/variables/");
    match problem.code {
        "unknown" | "repeated" | "unsupported" => Target::Key,
        "charset" | "reserved" if keyed => Target::Key,
        "length" | "header"
            if keyed && (problem.message.contains("key") || problem.message.contains("name")) =>
        {
            Target::Key
        }
        _ => Target::Value,
    }
}

/// The bytes of the value at each JSON pointer, or of the nearest enclosing value. Parses the text once for all of them.
pub(crate) fn find<'a>(text: &str, places: impl IntoIterator<Item = (&'a str, Target)>) -> Vec<Range<usize>> {
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
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    let root = parsed.as_ref().ok().and_then(|parsed| parsed.value.as_ref());
    let mut finder = Finder { text, keys: HashMap::new() };
    let find = |(pointer, part)| root.map_or(0..text.len(), |root| finder.find(root, pointer, part));
    places.into_iter().map(find).collect()
}

/// Looks up keys in an index per object, built on first use.
struct Finder<'t, 'a> {
    text: &'t str,
    /// Keyed by the byte at which an object starts.
    keys: HashMap<usize, HashMap<&'a str, &'a ObjectProp<'a>>>,
}

impl<'a> Finder<'_, 'a> {
    fn find(&mut self, root: &'a Value<'a>, pointer: &str, part: Target) -> Range<usize> {
        let mut value = root;
        let mut key: Option<&ObjectProp<'_>> = None;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = match value {
                // Of repeated keys, the last one: parsers use it, and it is also the repetition to report.
                Value::Object(object) => {
                    let keys = self.keys.entry(object.range().start).or_insert_with(|| {
                        object.properties.iter().map(|prop| (prop.name.as_str(), prop)).collect()
                    });
                    keys.get(step.as_str()).map(|prop| (&prop.value, Some(*prop)))
                }
                Value::Array(array) => step
                    .parse()
                    .ok()
                    .and_then(|index: usize| array.elements.get(index))
                    .map(|value| (value, None)),
                _ => None,
            };
            match next {
                Some((inner, prop)) => (value, key) = (inner, prop),
                None => return first_line_of(self.text, value.range().start..value.range().end),
            }
        }
        let range = match (part, key) {
            (Target::Key, Some(prop)) => prop.name.range(),
            _ => value.range(),
        };
        range.start..range.end
    }
}

/// For an object or array, the opening bracket is enough.
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

    fn one(text: &str, pointer: &str, part: Target) -> Range<usize> {
        find(text, [(pointer, part)]).remove(0)
    }

    fn at(pointer: &str, part: Target) -> &'static str {
        &TEXT[one(TEXT, pointer, part)]
    }

    #[test]
    fn a_pointer_selects_a_value() {
        assert_eq!(at("/from", Target::Value), "\"a\"");
        assert_eq!(at("/tags/0/name", Target::Value), "\"week 47\"");
        assert_eq!(at("/a~1b", Target::Value), "1");
        assert_eq!(at("/a~1b", Target::Key), "\"a/b\"");
    }

    #[test]
    fn for_a_repeated_key_the_repetition_is_found() {
        assert_eq!(one(TEXT, "/x", Target::Key).start, TEXT.rfind("\"x\"").unwrap());
    }

    #[test]
    fn a_missing_value_is_reported_at_its_object() {
        assert_eq!(at("/tags/0/value", Target::Value), "{");
        assert_eq!(one(TEXT, "/tags/0/value", Target::Value).start, TEXT.find("{\"name\"").unwrap());
        assert_eq!(at("/subject", Target::Value), "{");
        assert_eq!(one("no json", "/x", Target::Value), 0..7);
    }
}
