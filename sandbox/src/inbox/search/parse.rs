//! The grammar of a query:
//!
//! ```text
//! query    = terms, separated by white space
//! term     = ["-"] [operator ":"] value
//! value    = word | '"' characters '"', in which `\"` is a quote and `\\` a backslash
//! operator = a name of `Operator`, ignoring case; any other name belongs to its word
//! ```
//!
//! Mailpit's grammar differs in two ways: `!` also negates a term, and an unknown name is an error, since test helpers would take a search without
//! results to mean that there is no such mail.

use jiff::Timestamp;

use super::phrase::Phrase;
use super::term::{Condition, Operator, Term};
use super::{MAX_TERMS, check_length};
use idempost_reference_server::wire::problem::Problem;

/// The dialect of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::inbox) enum Dialect {
    Own,
    Mailpit,
}

/// Parses a query. Errors state the position as a character number, from 1.
pub(super) fn parse_query(text: &str, dialect: Dialect, now: Timestamp) -> Result<Vec<Term>, Problem> {
    check_length("query", text)?;
    let mut terms = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let problem = |rest: &str, what: &str| {
            let character = text[..text.len() - rest.len()].chars().count() + 1;
            Problem::validation(format!("`query`, character {character}: {what}"))
        };
        let begin = rest;
        let negation = if dialect == Dialect::Mailpit { &['-', '!'][..] } else { &['-'] };
        let (negated, written_term) = match rest.strip_prefix(negation) {
            Some(term) if term.starts_with(|next: char| !next.is_whitespace()) => (true, term),
            _ => (false, rest),
        };
        let named =
            written_term.split_once(':').and_then(|(name, value)| Some((Operator::from_name(name)?, value)));
        let (operator, value) =
            named.map_or((None, written_term), |(operator, value)| (Some(operator), value));
        if dialect == Dialect::Mailpit
            && operator.is_none()
            && let Some(name) = unknown_operator(value)
        {
            let known: Vec<_> = Operator::WORDS.iter().map(|(word, _)| format!("`{word}:`")).collect();
            let rule = format!(
                "`{name}:` is not an operator; the operators are: {}. To search for this text, put it in quotes.",
                known.join(", ")
            );
            return Err(problem(begin, &rule));
        }
        let written;
        let content;
        if value.starts_with('"') {
            let close = problem(value, "the quote isn't closed; close it with `\"`.");
            (written, rest) = parse_quoted(value).ok_or(close)?;
            content = &*written;
        } else {
            (content, rest) = value.split_at(value.find(char::is_whitespace).unwrap_or(value.len()));
        }
        let term = match operator {
            Some(operator) if content.trim().is_empty() => {
                let name = operator.as_str();
                let rule = format!(
                    "`{name}:` must have a value directly after the colon; in quotes if it has spaces."
                );
                return Err(problem(begin, &rule));
            }
            Some(operator) => operator
                .term(negated, content, now)
                .map_err(|rule| problem(begin, &format!("`{}:` {rule}", operator.as_str())))?,
            None => {
                let phrase = Phrase::new(content);
                let phrase = phrase.ok_or_else(|| problem(begin, "the quotes must contain a word."))?;
                Term { negated, condition: Condition::Anywhere(phrase) }
            }
        };
        terms.push(term);
        rest = rest.trim_start();
    }
    if terms.len() > MAX_TERMS {
        let found = terms.len();
        return Err(Problem::validation(format!(
            "`query` must have at most {MAX_TERMS} terms; found {found}."
        )));
    }
    Ok(terms)
}

/// Returns the name before a colon at the start of a term, unless it is a URL scheme.
fn unknown_operator(term: &str) -> Option<&str> {
    let word = &term[..term.find(char::is_whitespace).unwrap_or(term.len())];
    let (name, value) = word.split_once(':')?;
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    (is_name && !value.starts_with("//")).then_some(name)
}

/// Returns the content of a quoted text, and the rest of the query; `None` if the quote isn't closed.
fn parse_quoted(text: &str) -> Option<(String, &str)> {
    let mut content = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((content, &text[at + 1..])),
            '\\' => {
                let escaped = chars.next_if(|(_, next)| matches!(next, '"' | '\\'));
                content.push(escaped.map_or(char, |(_, next)| next));
            }
            _ => content.push(char),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Vec<Term> {
        parse_query(text, Dialect::Own, Timestamp::UNIX_EPOCH)
            .unwrap_or_else(|problem| panic!("{text}: {}", problem.message))
    }

    #[test]
    fn only_known_names_directly_before_a_colon_are_operators() {
        let words = |text: &str| {
            let word = |term: &Term| matches!(term.condition, Condition::Anywhere(_));
            parsed(text).iter().filter(|term| word(term)).count()
        };
        assert_eq!(words("http://a.test 12:30 foo:bar : :x - -- from - a\"b \"from:ada\" from-x:y"), 12);
        assert_eq!(words("from:ada FROM:ada -from:ada subject:a:b message-id:<x@y>"), 0);
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected(text in ".{0,64}") {
            for dialect in [Dialect::Own, Dialect::Mailpit] {
                if let Err(problem) = parse_query(&text, dialect, Timestamp::UNIX_EPOCH) {
                    prop_assert!(problem.message.starts_with("`query`"), "{}", problem.message);
                }
            }
        }
    }
}
