//! The search language for lists of emails, used on the page, in `GET /_/messages?query=…` and in the CLI. It is described in docs/sandbox.md.
//!
//! A search is a list of terms that must all match. The other parameters (`to`, `from`, `subject`, `tag`, `unread`) are shorthand for terms.

mod mails;
mod matches;
mod parse;
mod phrase;
mod term;

use jiff::Timestamp;
use url::form_urlencoded;

use self::parse::Dialect;
use self::term::{Condition, Operator, Term};
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::wire::paging::quote;
use idempost_reference_server::wire::problem::Problem;
use idempost_reference_server::wire::query::{BOOLEANS, parse_word};

pub(super) use self::mails::Searchable;

/// The maximum number of terms, each of which is evaluated for every email.
const MAX_TERMS: usize = 32;
/// The maximum length of a query or another parameter, in characters.
const MAX_LENGTH: usize = 1_024;

/// The parameters that are shorthand for the term of the same name.
const SHORTHAND: [Operator; 4] = [Operator::To, Operator::From, Operator::Subject, Operator::Tag];

/// A parsed search. Without terms, it matches all emails.
#[derive(Debug, Default)]
pub(super) struct Search {
    terms: Vec<Term>,
}

impl Search {
    /// Reads `query` and its shorthand from a request's parameters. Empty parameters are ignored.
    pub(super) fn read(call: &AccountCall<'_>) -> Result<Self, Problem> {
        Self::parse(call.query().unwrap_or_default(), call.now())
    }

    /// Parses the parameters. Durations are relative to `now`.
    fn parse(parameters: &str, now: Timestamp) -> Result<Self, Problem> {
        let mut terms = Vec::new();
        let mut given = [0; SHORTHAND.len()];
        for (name, value) in form_urlencoded::parse(parameters.as_bytes()) {
            if value.trim().is_empty() {
                continue;
            }
            if name == "query" {
                terms.extend(parse::parse_query(&value, Dialect::Own, now)?);
            } else if name == "unread" {
                let unread = parse_word("unread", &value, &BOOLEANS)?;
                terms.push(Term { negated: !unread, condition: Condition::Unread });
            } else if let Some(index) = SHORTHAND.iter().position(|one| one.as_str() == name) {
                check_length(&name, &value)?;
                given[index] += 1;
                let term = SHORTHAND[index].term(false, &value, now);
                terms.push(term.map_err(|rule| Problem::validation(format!("`{name}` {rule}")))?);
            }
        }
        if let Some((operator, found)) = SHORTHAND.iter().zip(given).find(|(_, found)| *found > MAX_TERMS) {
            return Err(Problem::validation(format!(
                "`{}` must be given at most {MAX_TERMS} times; found {found}.",
                operator.as_str()
            )));
        }
        Ok(Self { terms })
    }

    /// Parses a search from Mailpit's API.
    pub(super) fn from_mailpit_query(query: &str, now: Timestamp) -> Result<Self, Problem> {
        Ok(Self { terms: parse::parse_query(query, Dialect::Mailpit, now)? })
    }

    /// Parses the search of a change, in which ignoring a parameter or an empty value would change more emails than intended.
    pub(super) fn from_mutation_query(parameters: &str, now: Timestamp) -> Result<Self, Problem> {
        let names = || SHORTHAND.iter().map(|one| one.as_str()).chain(["query", "unread"]);
        for (name, value) in form_urlencoded::parse(parameters.as_bytes()) {
            if !names().any(|known| known == name) {
                let names: Vec<_> = names().map(|name| format!("`{name}`")).collect();
                let rule = format!("is not a filter here; the filters are: {}", names.join(", "));
                return Err(Problem::validation(format!("{} {rule}.", quote(&name))));
            }
            if value.trim().is_empty() {
                return Err(Problem::validation(format!("`{name}` must not be empty.")));
            }
        }
        Self::parse(parameters, now)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

fn check_length(name: &str, value: &str) -> Result<(), Problem> {
    let found = value.chars().count();
    if found <= MAX_LENGTH {
        return Ok(());
    }
    Err(Problem::validation(format!("`{name}` must have at most {MAX_LENGTH} characters; found {found}.")))
}
