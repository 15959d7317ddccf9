//! Matches emails against a search, evaluating the cheapest terms first.

use super::mails::Searchable;
use super::phrase::{Needle, append_folded};
use super::term::{Condition, Field};
use super::{MAX_TERMS, Search};
use idempost_reference_server::model::mail::Tag;
use idempost_reference_server::state::tenant::Tenant;

/// The fields, besides the text, searched for a term without an operator. `To` includes all recipients.
const HEAD: [Field; 4] = [Field::Subject, Field::From, Field::To, Field::ReplyTo];

/// The fields that [`Field::Addressed`] stands for.
const ADDRESS_FIELDS: [Field; 3] = [Field::From, Field::To, Field::ReplyTo];

/// A search prepared for matching many emails.
pub(in crate::inbox) struct Matcher<'a> {
    tenant: &'a Tenant,
    plain: Vec<(bool, &'a Condition)>,
    fields: Vec<(bool, Field, Needle<'a>)>,
    anywhere: Anywhere<'a>,
    /// Getting a size is slow the first time, because the message has to be rendered.
    sizes: Vec<(bool, &'a Condition)>,
    /// The searched text, in lower case.
    folded: String,
}

impl Search {
    pub(in crate::inbox) fn matcher<'a>(&'a self, tenant: &'a Tenant) -> Matcher<'a> {
        let mut matcher = Matcher {
            tenant,
            plain: Vec::new(),
            fields: Vec::new(),
            anywhere: Anywhere::default(),
            sizes: Vec::new(),
            folded: String::new(),
        };
        for term in &self.terms {
            match &term.condition {
                Condition::Anywhere(phrase) => matcher.anywhere.add(term.negated, phrase.needle()),
                Condition::In(field, phrase) => matcher.fields.push((term.negated, *field, phrase.needle())),
                size @ (Condition::Larger(_) | Condition::Smaller(_)) => {
                    matcher.sizes.push((term.negated, size));
                }
                plain => matcher.plain.push((term.negated, plain)),
            }
        }
        matcher
    }
}

impl Matcher<'_> {
    pub(in crate::inbox) fn matches(&mut self, mail: &impl Searchable) -> bool {
        let Self { tenant, plain, fields, anywhere, sizes, folded } = self;
        let holds = |(negated, condition): &(bool, &Condition)| {
            *negated != self::matches_condition(condition, mail, tenant)
        };
        plain.iter().all(holds)
            && fields.iter().all(|(negated, field, needle)| {
                let fields: &[Field] =
                    if *field == Field::Addressed { &ADDRESS_FIELDS } else { std::slice::from_ref(field) };
                let mut is_in = |text: &str| needle.is_in(folded_pieces(&[text], folded));
                let found = fields.iter().any(|field| mail.any_value(*field, &mut is_in));
                *negated != found
            })
            && anywhere.matches(mail, folded)
            && sizes.iter().all(holds)
    }
}

/// The terms that may occur anywhere in an email, whose parts are lower-cased only once for all terms.
#[derive(Default)]
struct Anywhere<'a> {
    needles: Vec<Needle<'a>>,
    /// The needles that must occur and those that must not, as bits.
    wanted: u32,
    unwanted: u32,
}

const _: () = assert!(MAX_TERMS <= u32::BITS as usize);

impl<'a> Anywhere<'a> {
    fn add(&mut self, negated: bool, needle: Needle<'a>) {
        let bit = 1 << self.needles.len();
        self.needles.push(needle);
        if negated { self.unwanted |= bit } else { self.wanted |= bit }
    }

    fn matches(&self, mail: &impl Searchable, folded: &mut String) -> bool {
        if self.needles.is_empty() {
            return true;
        }
        let mut found = 0_u32;
        // Returns whether the result is known.
        let mut search = |pieces: &[&str]| {
            let text = folded_pieces(pieces, folded);
            for (index, needle) in self.needles.iter().enumerate() {
                if found & (1 << index) == 0 && needle.is_in(text) {
                    found |= 1 << index;
                }
            }
            found & self.unwanted != 0 || self.unwanted == 0 && found == self.wanted
        };
        let _ = HEAD.iter().any(|field| mail.any_value(*field, &mut |text| search(&[text])))
            || mail.tags().iter().any(|Tag { name, value }| search(&[name, "=", value]))
            || mail.any_value(Field::Text, &mut |text| search(&[text]));
        found == self.wanted
    }
}

fn matches_condition(condition: &Condition, mail: &impl Searchable, tenant: &Tenant) -> bool {
    let size = |holds: &dyn Fn(u64) -> bool| mail.size().is_some_and(|size| holds(size as u64));
    match condition {
        // `Anywhere` and `In` conditions are evaluated as needles.
        Condition::Anywhere(_) | Condition::In(..) => true,
        Condition::Tag(name, value) => mail.tags().iter().any(|tag| {
            // Tags are ASCII.
            tag.name.eq_ignore_ascii_case(name)
                && value.as_ref().is_none_or(|value| tag.value.eq_ignore_ascii_case(value))
        }),
        Condition::HasAttachment => mail.has_attachment(),
        Condition::HasTag => !mail.tags().is_empty(),
        Condition::Unread => mail.is_unread(),
        Condition::Before(at) => mail.timestamp() < *at,
        Condition::After(at) => mail.timestamp() >= *at,
        Condition::Larger(limit) => size(&|size| size > *limit),
        Condition::Smaller(limit) => size(&|size| size < *limit),
        Condition::Event(event) => mail.has_event(*event, tenant),
        Condition::Id(id) => mail.has_id(*id),
    }
}

/// Returns the pieces in lower case, in a buffer reused for all texts.
fn folded_pieces<'f>(pieces: &[&str], folded: &'f mut String) -> &'f str {
    folded.clear();
    for piece in pieces {
        append_folded(piece, folded);
    }
    folded
}
