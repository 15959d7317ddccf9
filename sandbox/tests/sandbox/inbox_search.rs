//! The search in lists of emails, compared with a slow, independent evaluation of random searches on random emails.

use std::collections::BTreeSet;

use jiff::{Span, Timestamp};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use crate::support::{KEY, Sandbox, email, email_of, email_with};

/// Words whose case, script or characters are traps.
const WORDS: [&str; 16] = [
    "Invoice",
    "your",
    "CODE",
    "code",
    "Straße",
    "ΟΔΟΣ",
    "οδος",
    "İzmir",
    "\u{212a}ilo",
    "日本語",
    "http://a.test/x",
    "12:30",
    "foo:bar",
    "-minus",
    "5\"",
    "a\\b",
];
const PEOPLE: [&str; 6] = [
    "Ada Lovelace <ada@example.com>",
    "Zoë <opened@example.org>",
    "bounced+0@acme.test",
    "clicked+x@Example.com",
    "ΟΔΟΣ <complained+0@acme.test>",
    "delayed@example.org",
];
const FILES: [&str; 3] = ["Terms.pdf", "Größe.txt", "a.png"];
const EVENTS: &str = "queued scheduled canceled failed suppressed sent delivery_delayed bounced delivered opened clicked \
    complained";

/// An email, and where it is listed.
#[derive(Clone, Debug)]
struct Mail {
    list: usize,
    from: &'static str,
    to: Vec<String>,
    cc: Vec<String>,
    bcc: Vec<String>,
    subject: String,
    text: String,
    is_html: bool,
    tag: Option<(&'static str, &'static str)>,
    files: Vec<&'static str>,
    /// Seconds until the next email.
    pause: u64,
}

/// The lists: captured, received and unsent.
const LISTS: [&str; 3] = ["/_/messages?", "/_/received?", "/_/messages?state=unsent&"];
const RECEIVED: usize = 1;
const UNSENT: usize = 2;

fn mails() -> impl Strategy<Value = Vec<Mail>> {
    let people = |range| subsequence(PEOPLE.to_vec(), range);
    let words = |joint: &'static str| {
        prop::collection::vec(select(WORDS.to_vec()), 1..6).prop_map(move |words| words.join(joint))
    };
    let text = select(vec![" ", "\n", " \t ", "\u{a0}"]).prop_flat_map(words);
    let tag = prop::option::of((select(vec!["kind", "Team"]), select(vec!["a", "Welcome"])));
    let files = subsequence(FILES.to_vec(), 0..3);
    let people = (select(PEOPLE.to_vec()), people(1..3), people(0..2), people(0..2));
    let rest = (words(" "), text, any::<bool>(), tag, files, 0_u64..5_000);
    let mail = (0..LISTS.len(), people, rest).prop_map(|(list, (from, to, cc, bcc), rest)| {
        let (subject, text, is_html, tag, files, pause) = rest;
        let owned = |people: Vec<&str>| people.into_iter().map(str::to_owned).collect();
        let (to, cc, bcc) = (owned(to), owned(cc), owned(bcc));
        Mail { list, from, to, cc, bcc, subject, text, is_html, tag, files, pause }
    });
    // Bounces and complaints suppress an address, so each email has its own.
    prop::collection::vec(mail, 1..10).prop_map(|mut mails| {
        for (index, mail) in mails.iter_mut().enumerate() {
            for person in [&mut mail.to, &mut mail.cc, &mut mail.bcc].into_iter().flatten() {
                *person = person.replace("+0@", &format!("+{index}@"));
            }
        }
        mails
    })
}

/// A condition.
#[derive(Clone, Debug)]
enum Wanted {
    Anywhere(String),
    In(&'static str, String),
    Tag(&'static str, Option<&'static str>),
    Attachment,
    Before(Time),
    After(Time),
    Larger(usize),
    Smaller(usize),
    Event(&'static str),
    /// The ID of the email with this index.
    Id(usize),
}

#[derive(Clone, Debug)]
enum Time {
    Seconds(i64),
    Ago(i64),
}

fn phrase() -> impl Strategy<Value = String> {
    let words = prop::collection::vec(select(WORDS.to_vec()), 1..3).prop_map(|words| words.join(" "));
    let part =
        select(vec!["nvoi", "your c", "example", "ada", "ADA@", "zoë", "kilo", "ΣΟΔ", "nowhere", "İZ"]);
    prop_oneof![3 => words, 1 => part.prop_map(str::to_owned)]
}

/// The terms of a search, each with its negation, and which of them are parameters.
type Search = (Vec<(bool, Wanted)>, Vec<bool>);

fn searches() -> impl Strategy<Value = Vec<Search>> {
    let time = prop_oneof![(0_i64..20_000).prop_map(Time::Seconds), (1_i64..20_000).prop_map(Time::Ago)];
    let field = select(vec!["from", "to", "cc", "bcc", "subject", "filename", "message-id"]);
    let tag =
        (select(vec!["kind", "KIND", "team", "none"]), prop::option::of(select(vec!["a", "A", "welcome"])));
    let file =
        select(vec!["terms", "GRÖSSE", "größe", ".p"]).prop_map(|part| Wanted::In("filename", part.into()));
    let one = prop_oneof![
        4 => phrase().prop_map(Wanted::Anywhere),
        4 => (field, phrase()).prop_map(|(field, phrase)| Wanted::In(field, phrase)),
        1 => file,
        1 => tag.prop_map(|(name, value)| Wanted::Tag(name, value)),
        1 => Just(Wanted::Attachment),
        1 => time.clone().prop_map(Wanted::Before),
        1 => time.prop_map(Wanted::After),
        1 => (300_usize..2_000).prop_map(Wanted::Larger),
        1 => (300_usize..2_000).prop_map(Wanted::Smaller),
        1 => select(EVENTS.split(' ').collect::<Vec<_>>()).prop_map(Wanted::Event),
        1 => (0_usize..10).prop_map(Wanted::Id),
    ];
    let terms = prop::collection::vec((any::<bool>(), one), 1..4);
    prop::collection::vec((terms, prop::collection::vec(any::<bool>(), 4)), 1..16)
}

/// The properties of an email for the independent evaluation.
struct Known {
    mail: Mail,
    /// The ID in the list.
    id: String,
    email_id: String,
    message_id: String,
    at: Timestamp,
    size: Option<usize>,
    events: Vec<String>,
}

fn start() -> Timestamp {
    "2026-03-02T12:00:00Z".parse().unwrap()
}

/// Sends or receives an email; returns its ID.
fn submit(sandbox: &Sandbox, mail: &Mail) -> String {
    let body = if mail.is_html { "html" } else { "text" };
    let files =
        mail.files.iter().map(|name| json!({"filename": name, "content": "YQ=="})).collect::<Vec<_>>();
    let mut email = json!({"from": mail.from, "to": mail.to, "subject": mail.subject, "attachments": files});
    email[body] = mail.text.clone().into();
    for (field, list) in [("cc", &mail.cc), ("bcc", &mail.bcc)] {
        if !list.is_empty() {
            email[field] = json!(list);
        }
    }
    if mail.list == UNSENT {
        email["scheduled_at"] = start().checked_add(Span::new().hours(600)).unwrap().to_string().into();
    }
    if let (Some((name, value)), false) = (mail.tag, mail.list == RECEIVED) {
        email["tags"] = json!([{"name": name, "value": value}]);
    }
    if mail.list != RECEIVED {
        return sandbox.sent(&email);
    }
    sandbox.received(&email)
}

fn known(sandbox: &Sandbox, mail: &Mail, id: &str) -> Known {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let folder = if mail.list == RECEIVED { "received" } else { "messages" };
    let about = sandbox.get(format!("/_/{folder}/{id}/about")).json();
    let timeline = sandbox.get(format!("/_/{folder}/{id}/timeline")).json();
    let events = timeline["events"].as_array().unwrap().iter().map(|one| text(&one["event"]));
    // The last event of an email that is neither sent nor over isn't on its timeline.
    let mut events: Vec<_> = events.chain([text(&about["last_event"])]).collect();
    if mail.list == RECEIVED {
        events.clear();
    }
    let message_id = match mail.list {
        RECEIVED => text(&sandbox.get(format!("/emails/receiving/{id}")).json()["message_id"]),
        _ => text(&sandbox.record(id)["message_id"]),
    };
    Known {
        id: text(&about["id"]),
        email_id: id.to_owned(),
        message_id,
        at: text(&about["created_at"]).parse().unwrap(),
        size: about["size"].as_u64().map(|size| usize::try_from(size).unwrap()),
        events,
        mail: mail.clone(),
    }
}

/// Whether one of the texts contains the phrase.
fn has(texts: &[&str], phrase: &str) -> bool {
    let plain =
        |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase().replace('ς', "σ");
    texts.iter().any(|text| plain(text).contains(&plain(phrase)))
}

impl Time {
    fn instant(&self, now: Timestamp) -> Timestamp {
        match self {
            Self::Seconds(seconds) => start().checked_add(Span::new().seconds(*seconds)).unwrap(),
            Self::Ago(seconds) => now.checked_sub(Span::new().seconds(*seconds)).unwrap(),
        }
    }

    fn written(&self) -> String {
        match self {
            Self::Seconds(seconds) => {
                let at = start().checked_add(Span::new().seconds(*seconds)).unwrap();
                if seconds % 2 == 0 { at.to_string() } else { at.strftime("%Y-%m-%dT%H:%M:%S").to_string() }
            }
            Self::Ago(seconds) => format!("{seconds}s"),
        }
    }
}

fn texts(people: &[String]) -> Vec<&str> {
    people.iter().map(String::as_str).collect()
}

impl Wanted {
    fn holds(&self, known: &Known, all: &[Known], now: Timestamp) -> bool {
        let Mail { from, to, cc, bcc, subject, text, tag, files, list, .. } = &known.mail;
        let tag = tag.filter(|_| *list != RECEIVED);
        let mut everybody = [texts(to), texts(cc), texts(bcc)].concat();
        if *list == RECEIVED {
            // Of Bcc recipients, a received message has only the address of the envelope.
            everybody.truncate(to.len() + cc.len());
            everybody.extend(texts(bcc).iter().map(|one| one.rsplit('<').next().unwrap_or_default()));
        }
        match self {
            Self::Anywhere(phrase) => {
                let tag = tag.map(|(name, value)| format!("{name}={value}")).unwrap_or_default();
                has(&everybody, phrase) || has(&[from, subject, text, &tag], phrase)
            }
            Self::In("from", phrase) => has(&[from], phrase),
            Self::In("to", phrase) => has(&everybody, phrase),
            Self::In("cc", phrase) => has(&texts(cc), phrase),
            // A received email has no such header.
            Self::In("bcc", phrase) => *list != RECEIVED && has(&texts(bcc), phrase),
            Self::In("subject", phrase) => has(&[subject], phrase),
            Self::In("filename", phrase) => has(files, phrase),
            Self::In(_, phrase) => has(&[&known.message_id], phrase),
            Self::Tag(name, value) => tag.is_some_and(|(found, content)| {
                found.to_lowercase() == name.to_lowercase()
                    && value.is_none_or(|value| content.to_lowercase() == value.to_lowercase())
            }),
            Self::Attachment => !files.is_empty(),
            Self::Before(time) => known.at < time.instant(now),
            Self::After(time) => known.at >= time.instant(now),
            Self::Larger(size) => known.size.is_some_and(|found| found > *size),
            Self::Smaller(size) => known.size.is_some_and(|found| found < *size),
            Self::Event(event) => known.events.iter().any(|found| found == event),
            Self::Id(index) => {
                let email = &all[index % all.len()];
                known.email_id == email.email_id || known.id == email.id
            }
        }
    }

    /// Formats the condition in the query language, quoted if necessary or wanted.
    fn written(&self, negated: bool, quotes: bool, all: &[Known]) -> String {
        let value = |text: &str, is_bare: bool| {
            let must = text.contains(char::is_whitespace) || text.starts_with(['"', '-']) && is_bare;
            if must || quotes {
                format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            } else {
                text.to_owned()
            }
        };
        let minus = if negated { "-" } else { "" };
        let (name, content) = match self {
            Self::Anywhere(phrase) => return format!("{minus}{}", value(phrase, true)),
            Self::In(name, phrase) => (*name, phrase.clone()),
            Self::Tag(name, Some(content)) => ("tag", format!("{name}={content}")),
            Self::Tag(name, None) => ("tag", (*name).to_owned()),
            Self::Attachment => ("has", "attachment".to_owned()),
            Self::Before(time) => ("before", time.written()),
            Self::After(time) => ("after", time.written()),
            Self::Larger(size) => ("larger", size.to_string()),
            Self::Smaller(size) => ("smaller", format!("{size}B")),
            Self::Event(event) => ("event", (*event).to_owned()),
            Self::Id(index) => ("id", all[index % all.len()].email_id.clone()),
        };
        let name = if negated { name.to_uppercase() } else { name.to_owned() };
        format!("{minus}{name}:{}", value(&content, false))
    }
}

pub(crate) fn encoded(query: &str) -> String {
    url::form_urlencoded::byte_serialize(query.as_bytes()).collect()
}

fn ids(sandbox: &Sandbox, path: &str) -> BTreeSet<String> {
    sandbox.ids(path).into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_searches_find_what_a_slow_evaluation_finds(mails in mails(), searches in searches()) {
        let sandbox = Sandbox::unread();
        let mut sent = Vec::new();
        for mail in &mails {
            sent.push(submit(&sandbox, mail));
            sandbox.advance(mail.pause);
        }
        sandbox.advance(120);
        let now = sandbox.service.clock().now();
        // The first search of an HTML email happens before its text is derived.
        let early: Vec<_> = searches.iter().map(|_| LISTS.map(|list| ids(&sandbox, &format!("{list}limit=100")))).collect();
        prop_assert_eq!(early[0].iter().map(BTreeSet::len).sum::<usize>(), mails.len());
        let _ = ids(&sandbox, "/_/messages?query=nowhere");
        let all: Vec<_> = mails.iter().zip(&sent).map(|(mail, id)| known(&sandbox, mail, id)).collect();
        for (terms, quotes) in &searches {
            let written = terms.iter().zip(quotes);
            let query: Vec<_> = written.map(|((negated, term), quotes)| term.written(*negated, *quotes, &all)).collect();
            let query = query.join("  ");
            for (list, path) in LISTS.iter().enumerate() {
                let found = ids(&sandbox, &format!("{path}limit=100&query={}", encoded(&query)));
                let in_list = all.iter().filter(|known| known.mail.list == list);
                let expected = in_list.filter(|known| {
                    terms.iter().all(|(negated, term)| *negated != term.holds(known, &all, now))
                });
                let expected: BTreeSet<_> = expected.map(|known| known.id.clone()).collect();
                prop_assert_eq!(&found, &expected, "{} in {}", query, path);
            }
        }
    }
}

/// Markup that may surround the visible text of HTML; no search may find its content.
const INVISIBLE: [&str; 9] = [
    "<b>",
    "</i >",
    "<a href='https://code.test/?Invoice&amp;12:30' title=\"your code\">",
    "<!-- Invoice > your code -- 日本語 -->",
    "<style>your code</style>",
    "<STYLE type='text/css'>p > a { content: 'Invoice' }</STYLE >",
    "<script type=module>if (a < code) '<p>Invoice</p>'</script>",
    "<template>code</template>",
    "<img alt='Straße' src=cid:code />",
];
const GAPS: [&str; 8] = [
    " ",
    "\n\t  ",
    "&nbsp;",
    "&#32;",
    "<br>",
    "</b> ",
    "</p>\r\n  <p class=\"code\">",
    " <!-- code -->\n<style>code</style>",
];

/// The HTML of a word: with tags or comments inside, or with character references.
fn html_of(word: &'static str) -> impl Strategy<Value = String> {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('ß', "&szlig;");
    let split = (0..word.chars().count(), select(INVISIBLE.to_vec())).prop_map(move |(count, tag)| {
        let at = word.char_indices().nth(count).map_or(0, |(at, _)| at);
        format!("{}{tag}{}", escaped(&word[..at]), escaped(&word[at..]))
    });
    let referenced = any::<bool>().prop_map(move |hex| {
        let one =
            |char| if hex { format!("&#X{:x};", u32::from(char)) } else { format!("&#{};", u32::from(char)) };
        word.chars().map(one).collect::<Vec<_>>().concat()
    });
    prop_oneof![Just(escaped(word)), split, referenced]
}

/// HTML with its visible words.
fn html_and_words() -> impl Strategy<Value = (String, String)> {
    let words = [WORDS.as_slice(), &["R&D", "a<b", "&amp;"]].concat();
    let word = select(words).prop_flat_map(|word| (html_of(word), Just(word)));
    let pieces = prop::collection::vec((word, select(GAPS.to_vec())), 1..8);
    let starts = select(vec![
        "",
        "<p>",
        "<!doctype html>\n<head><title>code</title></head>",
        "<head><style>code</style><body>",
    ]);
    let ends = select(vec!["", "</p></body></html>", "<b title='code", "<!-- your code", "<style>code"]);
    (starts, pieces, ends).prop_map(|(start, pieces, end)| {
        let html = pieces.iter().map(|((html, _), gap)| format!("{html}{gap}")).collect::<Vec<_>>().concat();
        let words = pieces.iter().map(|((_, word), _)| *word).collect::<Vec<_>>().join(" ");
        (format!("{start}{html}{end}"), words)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    /// Searches once, since listing the results derives the text, which also contains the URLs of links.
    #[test]
    fn html_is_searched_by_its_visible_text_before_it_is_derived(
        mails in prop::collection::vec((html_and_words(), any::<bool>()), 1..8),
        phrase in prop_oneof![6 => phrase(), 1 => select(vec!["R&D", "<b", "&amp; code"]).prop_map(str::to_owned)],
    ) {
        let sandbox = Sandbox::unread();
        for (index, ((html, _), received)) in mails.iter().enumerate() {
            if *received {
                let head = format!("From: x@a.test\r\nSubject: #{index}\r\nContent-Type: text/html; charset=utf-8\r\n\r\n");
                sandbox.service.receive(KEY, &["x@a.test"], format!("{head}{html}")).unwrap();
            } else {
                sandbox.sent(&json!({"from": "x@a.test", "to": "x@a.test", "subject": format!("#{index}"), "html": html}));
            }
        }
        let query = encoded(&format!("\"{}\"", phrase.replace('\\', "\\\\").replace('"', "\\\"")));
        let mut found = BTreeSet::new();
        for list in ["/_/messages", "/_/received"] {
            found.extend(sandbox.subjects(&format!("{list}?limit=100&query={query}")));
        }
        let expected = mails.iter().enumerate().filter(|(_, ((_, words), _))| has(&[words], &phrase));
        let expected: BTreeSet<_> = expected.map(|(index, _)| format!("#{index}")).collect();
        prop_assert_eq!(&found, &expected, "{} in {:?}", phrase, mails);
    }
}

/// The subjects of the captured emails that match, oldest first.
fn found(sandbox: &Sandbox, query: &str) -> Vec<String> {
    let mut subjects = sandbox.subjects(&format!("/_/messages?query={}", encoded(query)));
    subjects.reverse();
    subjects
}

#[test]
fn operators_phrases_and_exclusions_select_emails() {
    let sandbox = Sandbox::new();
    let mut reset = email_with("subject", "Reset");
    reset["text"] = "You forgot\n  your PASSWORD at 12:30, see http://a.test/x for 1000 EUR".into();
    reset["cc"] = "Bob <bob@example.org>".into();
    reset["bcc"] = "carol@example.org".into();
    reset["reply_to"] = "dora@example.org".into();
    let reset = sandbox.sent(&reset);
    sandbox.advance(3_600);
    let mut invoice = email_with("subject", "Your invoice");
    invoice["to"] = "opened@example.com".into();
    invoice["tags"] = json!([{"name": "kind", "value": "billing"}]);
    invoice["attachments"] = json!([{"filename": "Invoice 7.pdf", "content": "YWFh".repeat(5_000)}]);
    sandbox.sent(&invoice);
    sandbox.advance(60);
    let both = ["Reset", "Your invoice"];
    for (query, expected) in [
        ("\"forgot your password\"", &both[..1]),
        ("\"your forgot\"", &[]),
        ("forgot -\"your password\"", &[]),
        ("\"00 eur\"", &both[..1]),
        ("\"10 eur\"", &[]),
        ("-forgot", &both[1..]),
        ("-forgot -invoice", &[]),
        ("INVOICE your", &both[1..]),
        ("invoice forgot", &[]),
        ("carol", &both[..1]),
        ("dora", &both[..1]),
        ("-dora", &both[1..]),
        ("kind=billing", &both[1..]),
        ("acme", &both),
        ("nobody", &[]),
        ("", &both),
        (" ", &both),
        ("12:30", &both[..1]),
        ("http://a.test/x", &both[..1]),
        ("nobody:reset", &[]),
        ("From:ACME", &both),
        ("to:bob", &both[..1]),
        ("to:carol", &both[..1]),
        ("cc:carol", &[]),
        ("bcc:carol -cc:carol", &both[..1]),
        ("subject:\"your  INVOICE\"", &both[1..]),
        ("subject:your invoice", &both[1..]),
        ("filename:invoice", &both[1..]),
        ("filename:\"invoice 7\" has:attachment", &both[1..]),
        ("-has:attachment", &both[..1]),
        ("event:opened", &both[1..]),
        ("event:delivered", &both),
        ("event:bounced", &[]),
        ("tag:kind", &both[1..]),
        ("TAG:Kind=Billing", &both[1..]),
        ("-tag:kind=other", &both),
        ("larger:15kB", &both[1..]),
        ("smaller:15KB", &both[..1]),
        ("larger:1KiB smaller:1MiB", &both[1..]),
        ("after:2026-03-02", &both),
        ("before:2026-03-02", &[]),
        ("after:2026-03-02T13:00:00Z", &both[1..]),
        ("before:2026-03-02T13:00:00Z", &both[..1]),
        ("after:\"2026-03-02 13:00:00.000000+00\"", &both[1..]),
        ("before:2026-03-02T14:00:00+01:00", &both[..1]),
        ("after:30m", &both[1..]),
        ("before:30m", &both[..1]),
        ("after:\"1 day\"", &both),
        ("\u{201d}", &[]),
    ] {
        assert_eq!(found(&sandbox, query), expected, "{query}");
    }
    let id = sandbox.mails().iter().find(|mail| mail.subject == "Reset").unwrap().id.clone();
    sandbox.patch(format!("/_/messages/{id}"), &json!({"unread": false})).expect_status(200);
    for (query, expected) in [
        ("is:unread", &both[1..]),
        ("is:read", &both[..1]),
        ("-is:READ", &both[1..]),
        ("-is:unread reset", &both[..1]),
    ] {
        assert_eq!(found(&sandbox, query), expected, "{query}");
    }
    for id in [&reset, &id] {
        assert_eq!(found(&sandbox, &format!("id:{id}")), both[..1]);
    }
    assert_eq!(found(&sandbox, &format!("message-id:{reset}@acme.test")), both[..1]);
    assert_eq!(found(&sandbox, "\"to:bob\""), Vec::<String>::new(), "a quoted operator is a phrase");
}

#[test]
fn all_lists_share_the_search_and_its_shorthand() {
    let sandbox = Sandbox::new();
    let tagged = json!([{"name": "kind", "value": "a"}]);
    sandbox.sent(&email_of(&json!({"subject": "one \"two\"", "to": "bob@example.org", "tags": tagged})));
    sandbox.sent(&email_with("subject", "three"));
    for (path, count) in [
        ("/_/messages?to=EXAMPLE&limit=1", 1),
        ("/_/messages?to=example.org&subject=TWO", 1),
        ("/_/messages?from=acme", 2),
        ("/_/messages?from=other", 0),
        ("/_/messages?tag=kind=a", 1),
        ("/_/messages?tag=KIND&subject=three", 0),
        ("/_/messages?tag=kind%3Da&subject=one", 1),
        ("/_/messages?tag=kind=", 0),
        ("/_/messages?subject=%22two%22&query=-three", 1),
        ("/_/messages?to=ADA&to=example&query=subject:three", 1),
        ("/_/messages?to=ADA&to=nobody", 0),
        ("/_/messages?state=unsent&query=subject:three", 0),
        ("/_/received?query=subject:three", 0),
    ] {
        assert_eq!(ids(&sandbox, path).len(), count, "{path}");
    }
    assert_eq!(sandbox.get("/_/messages?limit=0").status, 422);
    let export = sandbox.get("/_/export?format=json&query=-subject:three").json();
    assert_eq!((export.as_array().unwrap().len(), &export[0]["subject"]), (1, &json!("one \"two\"")));
    assert_eq!(sandbox.get("/_/latest.json?query=-three").json()["subject"], "one \"two\"");
}

#[test]
fn a_mistake_in_a_search_names_its_place_and_what_is_allowed() {
    let sandbox = Sandbox::new();
    sandbox.sent(&email());
    for (query, parts) in [
        ("größe \"open end", vec!["`query`, character 7:", "the quote isn't closed"]),
        ("a -subject:\"open", vec!["character 12:", "the quote isn't closed"]),
        ("a from:", vec!["character 3:", "`from:` must have a value directly after the colon"]),
        ("from: ada", vec!["character 1:", "`from:`"]),
        ("to:\"  \"", vec!["`to:` must have a value"]),
        ("\"\"", vec!["character 1:", "must contain a word"]),
        (
            "before:yesterdayish",
            vec!["character 1: `before:`", "`2026-03-02`", "`2h`", "found \"yesterdayish\""],
        ),
        ("AFTER:\"2h ago\"", vec!["`after:`", "found \"2h ago\""]),
        ("after:-2h", vec!["`after:`"]),
        ("before:2026-02-30", vec!["`before:`"]),
        ("x -larger:abc", vec!["character 3: `larger:`", "`10kB`", "found \"abc\""]),
        ("smaller:-1", vec!["`smaller:`"]),
        ("event:nope", vec!["`event:` must be one of `queued`", "`clicked`", "found \"nope\""]),
        ("is:new", vec!["`is:` must be `read`, `unread` or `tagged`; found \"new\""]),
        ("has:wings", vec!["`has:` must be `attachment`; found \"wings\""]),
        ("id:7", vec!["`id:` must be the complete ID"]),
        ("tag:=x", vec!["`tag:` must be `name` or `name=value`"]),
        (&"ä".repeat(1_025), vec!["`query` must have at most 1024 characters; found 1025"]),
        (&"a ".repeat(100), vec!["`query`", "at most 32", "found 100"]),
    ] {
        for list in ["/_/messages?", "/_/messages?state=unsent&", "/_/received?", "/_/export?format=json&"] {
            let answer = sandbox.get(format!("{list}query={}", encoded(query)));
            for part in &parts {
                answer.invalid(part);
            }
        }
    }
    for (query, message) in [
        ("tag==x", "`tag` must be `name` or `name=value`; found \"=x\"."),
        (&*format!("subject={}", "a".repeat(1_025)), "`subject` must have at most 1024 characters"),
        (&"tag=a%3Db&".repeat(100), "`tag` must be given at most 32 times; found 100"),
    ] {
        sandbox.get(format!("/_/messages?{query}")).invalid(message);
    }
}
