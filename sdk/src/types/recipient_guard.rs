//! The recipient guard, which restricts a client's recipients.

use std::{fmt, str::FromStr};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value};

use crate::problem::{Mailbox, Problem, Problems, SettingsError, Validator, address_fault, mailbox};

/// The fields that contain an email's recipients, and the headers that list the original recipients after a redirection.
const FIELDS: [(&str, &str); 3] =
    [("to", "X-Original-To"), ("cc", "X-Original-Cc"), ("bcc", "X-Original-Bcc")];
/// The fields of a request that are read: those with recipients (`email` is a contact's address), and those in which a line break could add one.
const READ_FIELDS: [&str; 7] = ["to", "cc", "bcc", "email", "headers", "from", "subject"];
/// The fields that determine recipients. A service might ignore their case.
const CHECKED_FIELDS: [&str; 11] = [
    "to",
    "cc",
    "bcc",
    "email",
    "headers",
    "contact_id",
    "segment_id",
    "audience_id",
    "reply_all",
    "send",
    "scheduled_at",
];
/// Headers that could make a mail server deliver to the addresses in them.
const RECIPIENT_HEADERS: [&str; 6] = ["to", "cc", "bcc", "resent-to", "resent-cc", "resent-bcc"];
/// The maximum number of patterns shown in a message.
const MAX_SHOWN: usize = 5;

/// Protects against sending email to the wrong recipients: a client with a guard sends only to recipients that the guard allows.
///
/// ```
/// use idempost::{Client, types::RecipientGuard};
///
/// # fn example() -> idempost::Result<()> {
/// let guard = RecipientGuard::new().allow_to(["*@acme.test", "qa@example.com"])?;
/// let staging = Client::builder()
///     .base_url("https://api.resend.com")
///     .api_key("re_…")
///     .recipient_guard(guard)
///     .build()?;
/// # Ok(())
/// # }
/// ```
///
/// It applies to every request of the client, including requests by [method and path](crate::Client::request): nothing is sent unless all recipients
/// are allowed. If the service looks up recipients, as for a reply or a broadcast, the client reads them first, with the same credential; if it
/// can't, it rejects the request. It also rejects scheduled broadcasts, whose recipients may change before they are sent, and requests to operations
/// that this version doesn't know.
///
/// A guard can only become stricter: each call of [`allow_to`](Self::allow_to) and [`redirect_to`](Self::redirect_to) adds a condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecipientGuard {
    /// Lists of patterns. A recipient must match a pattern in every list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    allow_to: Vec<Vec<Pattern>>,
    /// The addresses to which everything is redirected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    redirect_to: Option<Vec<Pattern>>,
}

/// An address, or all addresses in a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
struct Pattern {
    /// `None` for any local part.
    local: Option<String>,
    /// In ASCII and lowercase.
    domain: String,
}

impl RecipientGuard {
    /// Creates a guard that allows all recipients.
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows only these recipients: complete addresses, or `*@` followed by a domain. If called several times, every call must allow a recipient.
    ///
    /// Domains are compared according to IDNA, ignoring case; local parts must match exactly. A domain doesn't include its subdomains.
    ///
    /// # Errors
    /// A pattern is malformed, or the guard redirects to an address that isn't allowed.
    pub fn allow_to<T: AsRef<str>>(
        mut self,
        patterns: impl IntoIterator<Item = T>,
    ) -> Result<Self, SettingsError> {
        let patterns = patterns.into_iter().map(|pattern| pattern.as_ref().parse());
        self.allow_to.push(patterns.collect::<Result<_, _>>()?);
        self.check_consistent()
    }

    /// Sends every email to these addresses instead. The original recipients are listed in the headers `X-Original-To`, `X-Original-Cc` and
    /// `X-Original-Bcc`, and the first one in the subject. If called several times, only the addresses common to all calls are used.
    ///
    /// Emails that can't be redirected, such as replies in an inbox or broadcasts, are rejected unless all their recipients are redirection addresses
    /// already. The service applies topics and suppressions to the new recipients, not to the original ones.
    ///
    /// # Errors
    /// An address is malformed or not allowed, or the calls have no address in common.
    pub fn redirect_to<T: AsRef<str>>(
        mut self,
        addresses: impl IntoIterator<Item = T>,
    ) -> Result<Self, SettingsError> {
        let mut common = Vec::new();
        for address in addresses {
            let parsed = address.as_ref().parse().ok().filter(|address: &Pattern| address.local.is_some());
            let Some(address) = parsed else {
                let rule = "must be an address such as qa@example.com";
                let found = format!("{:?}", address.as_ref());
                return Err(SettingsError::new("redirect_to", rule).with_value(found));
            };
            if self.redirect_to.as_ref().is_none_or(|earlier| earlier.contains(&address)) {
                common.push(address);
            }
        }
        if common.is_empty() {
            let rule = match &self.redirect_to {
                Some(earlier) => {
                    format!(
                        "must be an address that the guard already redirects to: {}",
                        join_patterns(earlier)
                    )
                }
                None => "must be an address".to_owned(),
            };
            return Err(SettingsError::new("redirect_to", rule));
        }
        self.redirect_to = Some(common);
        self.check_consistent()
    }

    /// Combines two guards into one that applies both.
    ///
    /// # Errors
    /// Nothing would satisfy both: their redirections have no address in common, or redirect to addresses that aren't allowed.
    pub fn combine(self, other: &Self) -> Result<Self, SettingsError> {
        let narrowed = match &other.redirect_to {
            Some(addresses) => self.redirect_to(addresses.iter().map(ToString::to_string))?,
            None => self,
        };
        let lists = other.allow_to.iter().filter(|list| !narrowed.allow_to.contains(list)).cloned();
        let lists: Vec<_> = lists.collect();
        Self { allow_to: [narrowed.allow_to.clone(), lists].concat(), ..narrowed }.check_consistent()
    }

    /// Returns whether the guard restricts anything.
    pub fn is_active(&self) -> bool {
        self.has_redirect() || !self.allow_to.is_empty()
    }

    /// Applies the guard to an email in the service's JSON, as a client does before sending: redirects the email and checks its recipients.
    ///
    /// # Errors
    /// All recipients that aren't allowed, each with its JSON pointer.
    pub fn apply(&self, email: &mut Value) -> Result<(), Problems> {
        if !self.is_active() {
            return Ok(());
        }
        let mut problems = Vec::new();
        self.redirect("", email, &mut problems);
        match RecipientFields::deserialize(&*email) {
            Ok(email) => self.check("", &email, &mut problems),
            Err(error) => problems.push(unreadable_recipients("", error)),
        }
        Problems::check(problems)
    }

    pub(crate) fn has_redirect(&self) -> bool {
        self.redirect_to.is_some()
    }

    /// Redirects an email, unless all its recipients are redirection addresses already.
    pub(crate) fn redirect(&self, base: &str, email: &mut Value, problems: &mut Vec<Problem>) {
        let Some(targets) = &self.redirect_to else { return };
        let Value::Object(email) = email else { return };
        let mut originals = Vec::new();
        for (field, header) in FIELDS {
            let mut addresses = Vec::new();
            for (path, text) in
                collect_texts(&format!("{base}/{field}"), email.get(field).unwrap_or(&Value::Null))
            {
                match parse_mailbox(&path, text) {
                    Ok(mailbox) => addresses.push(mailbox),
                    Err(problem) => problems.push(problem),
                }
            }
            originals.push((header, addresses));
        }
        let all = || originals.iter().flat_map(|(_, addresses)| addresses);
        if all().next().is_none() || all().all(|mailbox| self.allows(mailbox)) {
            return;
        }
        let (first, more) = (all().next().map(ToString::to_string).unwrap_or_default(), all().count() - 1);
        if let Some(Value::String(subject)) = email.get_mut("subject") {
            let more = if more > 0 { format!(" +{more}") } else { String::new() };
            *subject = format!("[{first}{more}] {subject}");
        }
        for (field, _) in FIELDS {
            email.remove(field);
        }
        email.insert("to".to_owned(), targets.iter().map(ToString::to_string).collect());
        let headers = email.entry("headers").or_insert(Value::Null);
        if headers.is_null() {
            *headers = Map::new().into();
        }
        let Value::Object(headers) = headers else { return };
        for (header, addresses) in originals.iter().filter(|(_, addresses)| !addresses.is_empty()) {
            headers.retain(|name, _| !name.eq_ignore_ascii_case(header));
            let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            headers.insert((*header).to_owned(), addresses.join(", ").into());
        }
    }

    /// Checks the recipients of an email.
    pub(crate) fn check(&self, base: &str, email: &RecipientFields, problems: &mut Vec<Problem>) {
        for field in ["to", "cc", "bcc", "email"] {
            self.check_field(&format!("{base}/{field}"), &email.read[field], problems);
        }
        for name in &email.others {
            let plain = name.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            if *name != plain && CHECKED_FIELDS.contains(&&*plain) {
                let rule = format!("the recipient guard accepts this field only as `{plain}`");
                problems.push(Problem::new(base, "recipient", rule).with_value(name.escape_debug()));
            }
        }
        let lines = Validator::run(|v| {
            // A line break could start a header with recipients.
            v.check_one_line("from", email.read["from"].as_str());
            v.check_one_line("subject", email.read["subject"].as_str());
            v.field("headers", |v| match &email.read["headers"] {
                Value::Null => {}
                Value::Object(headers) => headers.iter().for_each(|(name, value)| {
                    v.field(name, |v| match value.as_str() {
                        _ if RECIPIENT_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name)) => {
                            let rule = "a header must not contain recipients; the recipient guard checks only `to`, `cc` and `bcc`";
                            v.report("recipient", rule);
                        }
                        Some(value) => v.check_header(name, value),
                        None => v.report("recipient", "a header must be a string"),
                    });
                }),
                _ => v.report("recipient", "the headers must be an object"),
            });
        });
        let lines = lines.err().map(Problems::into_vec).unwrap_or_default();
        problems
            .extend(lines.into_iter().map(|line| Problem { path: format!("{base}{}", line.path), ..line }));
    }

    /// Checks an address or a list of addresses.
    pub(crate) fn check_field(&self, path: &str, value: &Value, problems: &mut Vec<Problem>) {
        for (path, text) in collect_texts(path, value) {
            problems.extend(match parse_mailbox(&path, text) {
                Ok(mailbox) if self.allows(&mailbox) => None,
                Ok(mailbox) => Some(Problem::new(path, "recipient", self.rule()).with_value(mailbox)),
                Err(problem) => Some(problem),
            });
        }
    }

    /// Returns the rule that a recipient violates.
    fn rule(&self) -> String {
        if let Some(targets) = &self.redirect_to {
            let targets = join_patterns(targets);
            return format!(
                "the recipient guard redirects every email to {targets}, which isn't possible here"
            );
        }
        if self.allow_to.iter().any(Vec::is_empty) {
            return "the recipient guard allows no recipients".to_owned();
        }
        let lists: Vec<_> = self.allow_to.iter().map(|list| join_patterns(list)).collect();
        format!("the recipient guard allows only {}", lists.join(", and of those "))
    }

    fn allows(&self, mailbox: &Mailbox) -> bool {
        let matches = |list: &Vec<Pattern>| list.iter().any(|pattern| pattern.matches(mailbox));
        self.redirect_to.as_ref().is_none_or(matches) && self.allow_to.iter().all(matches)
    }

    /// Checks that the guard allows its own redirection addresses.
    fn check_consistent(self) -> Result<Self, SettingsError> {
        let targets = self.redirect_to.iter().flatten();
        let allowed = |address: &Pattern| {
            let mailbox = mailbox(&address.to_string());
            mailbox.is_some_and(|mailbox| self.allows(&mailbox))
        };
        match targets.clone().find(|address| !allowed(address)) {
            Some(address) => {
                let found = format!("{:?}", address.to_string());
                Err(SettingsError::new("redirect_to", "must be an allowed address").with_value(found))
            }
            None => Ok(self),
        }
    }
}

/// What decides the recipients of a request. Other values aren't kept, since attachments are large.
#[derive(Debug, Default)]
pub(crate) struct RecipientFields {
    /// An object with those of [`READ_FIELDS`].
    read: Value,
    /// The names of the other fields.
    others: Vec<String>,
}

impl<'de> Deserialize<'de> for RecipientFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = RecipientFields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<RecipientFields, A::Error> {
        let (mut read, mut others) = (Map::new(), Vec::new());
        while let Some(name) = fields.next_key::<String>()? {
            if !READ_FIELDS.contains(&&*name) {
                fields.next_value::<IgnoredAny>()?;
                others.push(name);
            } else if read.contains_key(&name) {
                // The service might read the other one.
                return Err(de::Error::custom(format_args!("duplicate field `{name}`")));
            } else {
                read.insert(name, fields.next_value()?);
            }
        }
        Ok(RecipientFields { read: read.into(), others })
    }
}

/// Returns the problem for a request whose recipients can't be read.
pub(crate) fn unreadable_recipients(path: &str, reason: impl fmt::Display) -> Problem {
    let rule = format!("the recipient guard can't read the recipients: {reason}");
    Problem::new(path, "recipient", rule)
}

/// Returns the texts in an address or a list, with their JSON pointers. Empty texts are ignored.
fn collect_texts<'a>(path: &str, value: &'a Value) -> Vec<(String, &'a Value)> {
    let is_blank =
        |value: &Value| value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
    match value {
        Value::Array(items) => {
            items.iter().enumerate().map(|(i, item)| (format!("{path}/{i}"), item)).collect()
        }
        value if is_blank(value) => Vec::new(),
        value => vec![(path.to_owned(), value)],
    }
}

/// Returns the mailbox in a text.
fn parse_mailbox(path: &str, value: &Value) -> Result<Mailbox, Problem> {
    let Some(text) = value.as_str() else {
        return Err(Problem::new(path, "recipient", "a recipient must be a string").with_value(value));
    };
    mailbox(text).ok_or_else(|| {
        let rule = address_fault(text).map_or(
            "the recipient guard accepts only addresses that all mail servers interpret the same way",
            |(_, rule)| rule,
        );
        Problem::new(path, "recipient", rule).with_value(text.escape_debug())
    })
}

fn join_patterns(patterns: &[Pattern]) -> String {
    let mut shown: Vec<_> = patterns.iter().take(MAX_SHOWN).map(ToString::to_string).collect();
    if patterns.len() > MAX_SHOWN {
        shown.push(format!("{} more", patterns.len() - MAX_SHOWN));
    }
    shown.join(", ")
}

impl Pattern {
    fn matches(&self, mailbox: &Mailbox) -> bool {
        self.domain == mailbox.domain && self.local.as_ref().is_none_or(|local| *local == mailbox.local)
    }
}

impl FromStr for Pattern {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Self, SettingsError> {
        let domain = text.strip_prefix("*@");
        let address = domain.map_or_else(|| text.to_owned(), |domain| format!("any@{domain}"));
        // A display name is rejected, since it would suggest that it matters.
        let Some(mailbox) = mailbox(&address).filter(|_| !address.contains(['<', '*'])) else {
            let rule = "must be an address such as qa@example.com, or *@ followed by a domain";
            return Err(SettingsError::new("recipient_guard", rule).with_value(format!("{text:?}")));
        };
        Ok(Self { local: domain.is_none().then_some(mailbox.local), domain: mailbox.domain })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.local.as_deref().unwrap_or("*"), self.domain)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.to_string()
    }
}

impl TryFrom<String> for Pattern {
    type Error = SettingsError;

    fn try_from(text: String) -> Result<Self, SettingsError> {
        text.parse()
    }
}
