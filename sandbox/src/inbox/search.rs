//! The search language for lists of emails, used on the page, in `GET /_/messages?query=…` and in the CLI. It is described in docs/sandbox.md.
//!
//! A search is a list of terms that must all match. The other parameters (`to`, `from`, `subject`, `tag`, `unread`) are shorthand for terms.

mod mails;
mod matches;
mod parse;
mod phrase;
mod term;

use std::sync::Arc;

use jiff::Timestamp;

use self::parse::Dialect;
use self::term::{Condition, Operator, Term};
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::state::tenant::Tenant;
use idempost_reference_server::wire::cancel::Cancellation;
use idempost_reference_server::wire::declared::{Input, Kind};
use idempost_reference_server::wire::paging::quote;
use idempost_reference_server::wire::problem::Problem;
use idempost_reference_server::wire::query::{BOOLEANS, Parameters, parse_word};

pub(super) use self::mails::Searchable;

/// The maximum number of terms, each of which is evaluated for every email.
const MAX_TERMS: usize = 32;
/// The maximum length of a query or another parameter, in characters.
const MAX_LENGTH: usize = 1_024;

/// The parameters of a search. All but `query` are shorthand for terms.
pub(super) const QUERY: &[Input] = &[
    Input::new("to", SHORTHAND, "Emails with this text in a recipient's address or name"),
    Input::new("from", SHORTHAND, "Emails with this text in the sender's address or name"),
    Input::new("subject", SHORTHAND, "Emails with this text in the subject"),
    Input::new("tag", SHORTHAND, "Emails with this tag: `NAME` or `NAME=VALUE`"),
    Input::new("query", Kind::Short(MAX_LENGTH), "A search of at most 32 terms, as on the inbox page"),
    Input::new("unread", Kind::Boolean, "Emails that are unread, or read"),
];
/// The type of a shorthand for the term of the same name.
const SHORTHAND: Kind = Kind::List(&Kind::Short(MAX_LENGTH), MAX_TERMS);

/// A parsed search. Without terms, it matches all emails.
#[derive(Debug, Default)]
pub(super) struct Search {
    terms: Vec<Term>,
}

impl Search {
    /// Reads `query` and its shorthand from a request's parameters. Empty parameters are ignored.
    pub(super) fn read(call: &AccountCall<'_>) -> Result<Self, Problem> {
        Self::parse(&call.parameters(), call.now())
    }

    /// Parses the parameters. Durations are relative to `now`.
    fn parse(parameters: &Parameters<'_>, now: Timestamp) -> Result<Self, Problem> {
        let mut terms = Vec::new();
        let is_given = |(_, value): &(_, &str)| !value.trim().is_empty();
        for (Input { name, .. }, value) in parameters.of(QUERY).filter(is_given) {
            if *name == "query" {
                terms.extend(parse::parse_query(value, Dialect::Own, now)?);
            } else if let Some(operator) = Operator::from_name(name) {
                check_length(name, value)?;
                let term = operator.term(false, value, now);
                terms.push(term.map_err(|rule| Problem::validation(format!("`{name}` {rule}")))?);
            } else {
                let unread = parse_word(name, value, &BOOLEANS)?;
                terms.push(Term { negated: !unread, condition: Condition::Unread });
            }
        }
        for Input { name, .. } in QUERY.iter().filter(|input| matches!(input.kind, Kind::List(..))) {
            let found = parameters.get_all(name).filter(|value| !value.trim().is_empty()).count();
            if found > MAX_TERMS {
                let rule = format!("must be given at most {MAX_TERMS} times; found {found}");
                return Err(Problem::validation(format!("`{name}` {rule}.")));
            }
        }
        Ok(Self { terms })
    }

    /// Parses a search from Mailpit's API.
    pub(super) fn from_mailpit_query(query: &str, now: Timestamp) -> Result<Self, Problem> {
        Ok(Self { terms: parse::parse_query(query, Dialect::Mailpit, now)? })
    }

    /// Parses the search of a change, in which ignoring a parameter or an empty value would change more emails than intended.
    pub(super) fn from_mutation_query(parameters: &Parameters<'_>, now: Timestamp) -> Result<Self, Problem> {
        for (name, value) in parameters.iter() {
            if !QUERY.iter().any(|known| known.name == name) {
                let names: Vec<_> = QUERY.iter().map(|known| format!("`{}`", known.name)).collect();
                let rule = format!("is not a filter here; the filters are: {}", names.join(", "));
                return Err(Problem::validation(format!("{} {rule}.", quote(name))));
            }
            if value.trim().is_empty() {
                return Err(Problem::validation(format!("`{name}` must not be empty.")));
            }
        }
        Self::parse(parameters, now)
    }

    /// Removes the mails that don't match. Stops when the client disconnects.
    pub(super) fn retain_matching<T: Searchable>(
        &self,
        mails: &mut Vec<Arc<T>>,
        tenant: &Tenant,
        canceled: &Cancellation,
    ) -> Result<(), Problem> {
        let mut matcher = self.matcher(tenant);
        mails.retain(|mail| !canceled.is_canceled() && matcher.matches(&**mail));
        canceled.check()
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
