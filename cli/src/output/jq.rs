//! `--jq`: applies a jq filter to the JSON that `--json` would print.

pub(crate) mod process;

use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use jaq_core::load::{Arena, File, Loader, lex, parse, span};
use jaq_core::{Compiler, Ctx, Vars, data};
use jaq_json::{Val, read, write};
use serde_json::Value;

use self::process::Process;
use super::json;
use super::terminal::safe_lines;

/// `@csv` and `@tsv`, which the library doesn't define.
const TABLES: &str = r#"
def cells($format; quote): map(
  if type == "string" then quote
  elif . == null then ""
  elif type == "number" or type == "boolean" then tostring
  else error("\(type) is not valid in \($format)") end);
def @csv: cells("@csv"; "\"" + (split("\"") | join("\"\"")) + "\"") | join(",");
def @tsv: cells("@tsv"; split("\\") | join("\\\\") | split("\t") | join("\\t") | split("\n") | join("\\n")
  | split("\r") | join("\\r")) | join("\t");
"#;

/// Maximum length of an expression in bytes.
const MAX_EXPRESSION_BYTES: usize = 16 * 1024;
/// The parser's stack size; only the used part is committed.
const STACK: usize = 256 * 1024 * 1024;

/// A compiled filter, which can be run on any number of documents.
pub(crate) struct Jq {
    filter: jaq_core::Filter<data::JustLut<Val>>,
    /// The expression and its process, unless it is a path.
    elsewhere: Option<(String, Mutex<Option<Process>>)>,
}

/// Why an expression is invalid, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invalid {
    /// The message, which names the expected token or the unknown function.
    pub(crate) message: String,
    /// The relevant bytes of the expression.
    pub(crate) span: Range<usize>,
}

impl fmt::Debug for Jq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jq").finish_non_exhaustive()
    }
}

impl Jq {
    /// Compiles the expression before anything is sent, on a stack large enough for any allowed nesting.
    pub(crate) fn compile(expression: &str) -> Result<Self, Vec<Invalid>> {
        let failed = |message: String| vec![Invalid { message, span: 0..0 }];
        if expression.len() > MAX_EXPRESSION_BYTES {
            let message = format!(
                "an expression must have at most {MAX_EXPRESSION_BYTES} bytes (found {})",
                expression.len()
            );
            return Err(failed(message));
        }
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            let compiled = thread.spawn_scoped(scope, || Self::compile_in_process(expression));
            let compiled = compiled.map_err(|error| failed(format!("couldn't parse it: {error}")))?;
            compiled.join().unwrap_or_else(|_| Err(failed("couldn't parse it".to_owned())))
        })
    }

    fn compile_in_process(expression: &str) -> Result<Self, Vec<Invalid>> {
        let tables = parse(TABLES, |parser| parser.defs()).unwrap_or_default();
        let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).chain(tables);
        let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let modules = Loader::new(definitions)
            .load(&arena, File { code: expression, path: () })
            .map_err(|errors| load_errors(expression, errors))?;
        let filter = Compiler::default().with_funs(functions).compile(modules).map_err(|errors| {
            let undefined = errors.into_iter().flat_map(|(_, undefined)| undefined);
            undefined
                .map(|(name, what)| Invalid {
                    message: format!("unknown {} `{name}`", what.as_str()),
                    span: find_span(expression, name),
                })
                .collect::<Vec<_>>()
        })?;
        let elsewhere = (!process::is_path(expression)).then(|| (expression.to_owned(), Mutex::default()));
        Ok(Self { filter, elsewhere })
    }

    /// Runs the filter on one document: strings are returned raw, anything else as JSON.
    pub(crate) fn run(&self, document: &Value, terminal: bool) -> Result<Vec<String>, String> {
        let Some((expression, place)) = &self.elsewhere else {
            return self.run_in_process(document, terminal);
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        let process = match place.take() {
            Some(process) => process,
            None => Process::start(expression).map_err(|error| error.to_string())?,
        };
        place.insert(process).run(document, terminal).inspect_err(|_| *place = None)
    }

    fn run_in_process(&self, document: &Value, terminal: bool) -> Result<Vec<String>, String> {
        let input = read::parse_single(document.to_string().as_bytes()).map_err(|error| error.to_string())?;
        let context = Ctx::<data::JustLut<Val>>::new(&self.filter.lut, Vars::new([]));
        let mut lines = Vec::new();
        for output in self.filter.id.run((context, input)) {
            match output {
                Ok(value) => lines.push(print(&value, terminal)),
                Err(stopped) => match stopped.get_err() {
                    Ok(error) => return Err(error.to_string()),
                    // `halt` ends the filter, not the program, whose exit code reports the request.
                    Err(_) => break,
                },
            }
        }
        Ok(lines)
    }
}

fn print(value: &Val, terminal: bool) -> String {
    if let Val::TStr(bytes) = value {
        let text = String::from_utf8_lossy(bytes);
        return if terminal { safe_lines(&text).into_owned() } else { text.into_owned() };
    }
    let style =
        write::Pp { indent: terminal.then(|| "  ".to_owned()), sep_space: terminal, ..Default::default() };
    let mut bytes = Vec::new();
    // Writing to memory can't fail.
    let _ = write::write(&mut bytes, &style, 0, value);
    let text = String::from_utf8_lossy(&bytes);
    if terminal { json::escape(&text) } else { text.into_owned() }
}

fn load_errors(expression: &str, errors: jaq_core::load::Errors<&str, ()>) -> Vec<Invalid> {
    use jaq_core::load::Error;
    let mut found = Vec::new();
    for (_, error) in errors {
        match error {
            Error::Io(missing) => found.extend(missing.into_iter().map(|(path, message)| Invalid {
                message: format!("modules aren't supported: {message}"),
                span: find_span(expression, path),
            })),
            Error::Lex(errors) => found.extend(errors.into_iter().map(|(expected, rest)| {
                let start = find_span(expression, rest).start;
                let end = start + rest.chars().next().map_or(0, char::len_utf8);
                let unclosed = matches!(expected, lex::Expect::Delim(_));
                Invalid {
                    message: format!("expected {}", expected.as_str()),
                    // An unclosed bracket must be closed by the end at the latest, so the caret points there.
                    span: if unclosed { expression.len()..expression.len() } else { start..end },
                }
            })),
            Error::Parse(errors) => found.extend(errors.into_iter().map(|(expected, rest)| Invalid {
                message: format!("expected {}", expected.as_str()),
                span: find_span(expression, rest),
            })),
        }
    }
    found
}

/// The position of a part of the expression; its end if the part isn't from the expression.
fn find_span(expression: &str, part: &str) -> Range<usize> {
    let whole = expression.as_bytes().as_ptr_range();
    if whole.contains(&part.as_ptr()) || part.as_ptr() == whole.end {
        span(expression, part)
    } else {
        expression.len()..expression.len()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Runs in this process; the program's own tests run filters in a separate one.
    fn run(expression: &str, document: &Value) -> Vec<String> {
        Jq::compile(expression).unwrap().run_in_process(document, false).unwrap()
    }

    #[test]
    fn strings_are_raw_and_other_values_are_json() {
        let list = json!({"data":[{"id":"a","n":1},{"id":"b","n":[true,null]}]});
        assert_eq!(run(".data[].id", &list), ["a", "b"]);
        assert_eq!(run(".data[].n", &list), ["1", "[true,null]"]);
        assert_eq!(run(r#".data[] | "\(.id)\t\(.n)""#, &list), ["a\t1", "b\t[true,null]"]);
        assert_eq!(run(".data | map(.id) | @csv", &list), [r#""a","b""#]);
        assert_eq!(run("@tsv", &json!(["a\tb\\", 1, null, true])), ["a\\tb\\\\\t1\t\ttrue"]);
        assert_eq!(run("@csv", &json!(["a\"b"])), [r#""a""b""#]);
        assert_eq!(run("@sh", &json!("it's")), [r"'it'\''s'"]);
    }

    #[test]
    fn an_unclosed_expression_is_reported_at_its_end() {
        let invalid = Jq::compile(".data[.subject").unwrap_err();
        assert_eq!(invalid, [Invalid { message: "expected closing bracket".to_owned(), span: 14..14 }]);
    }

    #[test]
    fn an_unknown_function_is_reported_at_its_position() {
        let invalid = Jq::compile(".data | lenght").unwrap_err();
        assert_eq!(invalid, [Invalid { message: "unknown filter `lenght`".to_owned(), span: 8..14 }]);
        assert!(!Jq::compile(".a | | .b").unwrap_err().is_empty());
    }

    #[test]
    fn a_runtime_error_is_a_message_and_halt_ends_only_the_filter() {
        assert!(Jq::compile(".id | keys").unwrap().run_in_process(&json!({"id":"a"}), false).is_err());
        assert_eq!(run("1, halt, 2", &json!(null)), ["1"]);
    }

    #[test]
    fn a_raw_string_cannot_control_the_terminal() {
        // G-01
        let jq = Jq::compile(".").unwrap();
        assert_eq!(jq.run(&json!("\u{1b}]0;x\u{7}"), true).unwrap(), ["\\u{1b}]0;x\\u{7}"]);
        assert_eq!(jq.run(&json!("\u{1b}"), false).unwrap(), ["\u{1b}"]);
        assert_eq!(jq.run(&json!(["\u{9b}"]), true).unwrap(), ["[\n  \"\\u009b\"\n]"]);
    }

    #[test]
    fn only_paths_run_in_this_process() {
        for path in [".", ".id", ".data[0].to", ".data[] | .id", ".a?|.b"] {
            assert!(process::is_path(path), "{path}");
        }
        for other in
            ["", "..", ".a | keys", ".a * 9", "(.,.)", ".a = 1", ".a | .. | .b", "\"x\"", ".data | map(.id)"]
        {
            assert!(!process::is_path(other), "{other}");
        }
    }

    #[test]
    fn large_numbers_keep_their_digits() {
        assert_eq!(run(".n", &json!({"n": 9_007_199_254_740_993_i64})), ["9007199254740993"]);
    }
}
