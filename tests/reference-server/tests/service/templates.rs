//! Templates end to end: versions, precedence, and injection.

use http::Method;
use mail_parser::MessageParser;
use serde_json::{Value, json};

use crate::support::{Answer, Sandbox};

fn welcome() -> Value {
    json!({
        "name": "Welcome", "alias": "welcome", "from": "Acme <hi@acme.test>", "subject": "Welcome, {{{NAME}}}",
        "html": "<p>Hello {{{NAME}}}</p>", "variables": [{"key": "NAME", "type": "string"}],
    })
}

/// The welcome template with some fields replaced; `null` removes one.
fn welcome_with(fields: &Value) -> Value {
    let mut template = welcome();
    for (name, value) in fields.as_object().unwrap() {
        if value.is_null() {
            template.as_object_mut().unwrap().remove(name);
        } else {
            template[name] = value.clone();
        }
    }
    template
}

fn created(sandbox: &Sandbox, template: &Value) -> String {
    let answer = sandbox.post("/templates", template);
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["id"].as_str().unwrap().to_owned()
}

fn publish(sandbox: &Sandbox, name: &str) {
    let answer = sandbox.ask(Method::POST, format!("/templates/{name}/publish")).send("");
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn published(sandbox: &Sandbox, template: &Value) -> String {
    let id = created(sandbox, template);
    publish(sandbox, &id);
    id
}

fn update(sandbox: &Sandbox, name: &str, patch: &Value) -> Answer {
    sandbox.ask(Method::PATCH, format!("/templates/{name}")).json(patch)
}

fn record(sandbox: &Sandbox, name: &str) -> Value {
    let answer = sandbox.get(format!("/templates/{name}"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

/// An email that uses the template with these variables.
fn with(template: &str, variables: &Value) -> Value {
    json!({"to": "ada@example.com", "template": {"id": template, "variables": variables}})
}

/// The values of a header of the only captured mail.
fn headers(sandbox: &Sandbox, name: &'static str) -> Vec<String> {
    let mail = sandbox.mail();
    let message = MessageParser::default().parse(&mail.mime[..]).unwrap();
    let all = message.headers_raw().filter(|(found, _)| found.eq_ignore_ascii_case(name));
    all.map(|(_, value)| value.trim().to_owned()).collect()
}

#[test]
fn edits_create_versions_and_the_published_one_is_sent() {
    // TPL-06, TPL-36, EMAIL-45
    let sandbox = Sandbox::new();
    let id = created(&sandbox, &welcome());
    let draft = record(&sandbox, &id);
    assert_eq!((&draft["status"], &draft["has_unpublished_versions"]), (&json!("draft"), &json!(true)));
    assert_eq!(draft["published_at"], Value::Null);

    sandbox.advance(60);
    publish(&sandbox, "welcome");
    let first = record(&sandbox, &id);
    assert_eq!((&first["status"], &first["has_unpublished_versions"]), (&json!("published"), &json!(false)));
    assert_eq!(first["published_at"], "2026-03-02 12:01:00.000000+00");
    assert_eq!(first["current_version_id"], draft["current_version_id"]);

    sandbox.advance(60);
    publish(&sandbox, "welcome");
    assert_eq!(record(&sandbox, &id), first, "publishing it again changes nothing");

    update(&sandbox, &id, &json!({"name": "Hello", "alias": "hello"}));
    let renamed = record(&sandbox, "hello");
    assert_eq!(renamed["has_unpublished_versions"], false, "name and alias aren't versioned");
    assert_eq!(renamed["updated_at"], "2026-03-02 12:02:00.000000+00");

    // Neither an added variable nor a removed sender takes effect before it is published.
    let edit = json!({
        "html": "<p>{{{NAME}}} of {{{TOWN}}}</p>", "from": null,
        "variables": [{"key": "NAME", "type": "string"}, {"key": "TOWN", "type": "string"}],
    });
    assert_eq!(update(&sandbox, "hello", &edit).status, 200);
    let edited = record(&sandbox, &id);
    assert_eq!((&edited["status"], &edited["has_unpublished_versions"]), (&json!("published"), &json!(true)));
    assert_ne!(edited["current_version_id"], first["current_version_id"]);
    assert_eq!(edited["published_at"], first["published_at"]);
    let email = sandbox.sent(&with("hello", &json!({"NAME": "Ada"})));
    assert_eq!(sandbox.record(&email)["html"], "<p>Hello Ada</p>");
    assert_eq!(sandbox.record(&email)["from"], "Acme <hi@acme.test>");

    publish(&sandbox, &id);
    let refused = sandbox.refused(&with("hello", &json!({"NAME": "Ada"})));
    assert!(refused.message().contains("TOWN"), "{}", refused.message());
    let mut email = with("hello", &json!({"NAME": "Ada", "TOWN": "London"}));
    assert!(sandbox.refused(&email).message().contains("`from`"));
    email["from"] = json!("own@acme.test");
    let email = sandbox.sent(&email);
    assert_eq!(sandbox.record(&email)["html"], "<p>Ada of London</p>");
}

#[test]
fn a_scheduled_email_keeps_the_template_content_from_acceptance() {
    // The specification is silent here.
    let sandbox = Sandbox::new();
    published(&sandbox, &welcome());
    let mut email = with("welcome", &json!({"NAME": "Ada"}));
    email["scheduled_at"] = json!("in 10 min");
    sandbox.sent(&email);
    update(&sandbox, "welcome", &json!({"html": "<p>Other</p>"}));
    publish(&sandbox, "welcome");
    assert_eq!(sandbox.ask(Method::DELETE, "/templates/welcome").send("").status, 200);
    sandbox.advance(600);
    assert_eq!(sandbox.mail().html.as_deref(), Some("<p>Hello Ada</p>"));
}

#[test]
fn a_deleted_template_cannot_be_sent_and_frees_its_alias() {
    let sandbox = Sandbox::new();
    let id = published(&sandbox, &welcome());
    assert_eq!(sandbox.post("/templates", &welcome()).status, 422, "the alias is taken");
    let answer = sandbox.ask(Method::DELETE, "/templates/welcome").send("");
    assert_eq!(answer.json(), json!({"object": "template", "id": id, "deleted": true}));
    for name in [id.as_str(), "welcome"] {
        assert_eq!(sandbox.get(format!("/templates/{name}")).status, 404);
        for (method, path) in [
            (Method::DELETE, ""),
            (Method::POST, "/publish"),
            (Method::POST, "/duplicate"),
            (Method::PATCH, ""),
        ] {
            let answer = sandbox.ask(method, format!("/templates/{name}{path}")).send("{}");
            assert_eq!((answer.status.as_u16(), answer.name().as_str()), (404, "not_found"));
        }
        let refused = sandbox.refused(&with(name, &json!({"NAME": "Ada"})));
        assert!(refused.message().contains("there is no template"), "{}", refused.message());
    }
    published(&sandbox, &welcome());
    sandbox.sent(&with("welcome", &json!({"NAME": "Ada"})));
}

#[test]
fn an_alias_is_unique_per_tenant() {
    let sandbox = Sandbox::new();
    let id = created(&sandbox, &welcome());
    let elsewhere = sandbox.ask(Method::POST, "/templates").key("sb_other").json(&welcome());
    assert_eq!(elsewhere.status, 201, "another tenant doesn't see it");
    let other = created(&sandbox, &welcome_with(&json!({"alias": "other"})));
    let taken = update(&sandbox, "other", &json!({"alias": "welcome"}));
    assert_eq!((taken.status.as_u16(), taken.name().as_str()), (422, "validation_error"));
    assert_eq!(record(&sandbox, "welcome")["id"].as_str(), Some(id.as_str()));
    assert_eq!(
        update(&sandbox, "welcome", &json!({"alias": "welcome"})).status,
        200,
        "the template already has this alias"
    );
    assert_eq!(update(&sandbox, "welcome", &json!({"alias": null})).status, 200);
    assert_eq!(update(&sandbox, "other", &json!({"alias": "welcome"})).status, 200);
    assert_eq!(record(&sandbox, "welcome")["id"].as_str(), Some(other.as_str()));
    for wrong in ["", " ", "a\nb", id.as_str(), &id.to_uppercase(), &id.replace('-', "")] {
        let answer = update(&sandbox, "welcome", &json!({"alias": wrong}));
        assert!(answer.status == 422 && answer.message().contains("`alias`"), "{wrong:?}");
    }
}

#[test]
fn an_alias_with_url_characters_can_be_looked_up() {
    let sandbox = Sandbox::new();
    for (alias, written) in [
        ("a/b", "a%2Fb"),
        ("50% off?", "50%25%20off%3F"),
        ("a+b", "a+b"),
        ("ü#1", "%C3%BC%231"),
        ("publish", "publish"),
    ] {
        let id = created(&sandbox, &welcome_with(&json!({"alias": alias})));
        assert_eq!(record(&sandbox, written)["id"].as_str(), Some(id.as_str()), "{alias}");
        publish(&sandbox, written);
        sandbox.sent(&with(alias, &json!({"NAME": "Ada"})));
    }
}

#[test]
fn a_batch_renders_templates_and_identifies_the_failing_email() {
    // EMAIL-63, ERR-02
    let sandbox = Sandbox::new();
    published(&sandbox, &welcome());
    let good = with("welcome", &json!({"NAME": "Ada"}));
    for (bad, words) in [
        (with("welcome", &json!({})), "`[1].template.variables`"),
        (with("welcome", &json!({"NAME": 1})), "`[1].template.variables.NAME`"),
        (with("other", &json!({})), "`[1].template.id`"),
    ] {
        let answer = sandbox.post("/emails/batch", &json!([good, bad]));
        assert_eq!((answer.status.as_u16(), answer.name().as_str()), (422, "validation_error"));
        assert!(answer.message().contains(words), "{}", answer.message());
        assert!(sandbox.mails().is_empty());
    }
    assert_eq!(sandbox.post("/emails/batch", &json!([good, good])).status, 200);
    assert_eq!(sandbox.mails().len(), 2);
}

#[test]
fn a_template_without_reply_to_omits_the_header() {
    let sandbox = Sandbox::new();
    published(&sandbox, &welcome_with(&json!({"reply_to": []})));
    assert_eq!(record(&sandbox, "welcome")["reply_to"], Value::Null);
    sandbox.sent(&with("welcome", &json!({"NAME": "Ada"})));
    assert!(headers(&sandbox, "reply-to").is_empty());
}

#[test]
fn a_reply_to_header_overrides_the_template() {
    // EMAIL-53
    let sandbox = Sandbox::new();
    published(&sandbox, &welcome_with(&json!({"reply_to": "template@acme.test"})));
    let mut email = with("welcome", &json!({"NAME": "Ada"}));
    email["headers"] = json!({"Reply-To": "own@acme.test"});
    sandbox.sent(&email);
    let [one] = &headers(&sandbox, "reply-to")[..] else { panic!("not one Reply-To") };
    assert!(one.contains("own@acme.test"), "{one}");
}

#[test]
fn a_variable_in_the_subject_cannot_inject_headers() {
    let sandbox = Sandbox::new();
    published(&sandbox, &welcome());
    let email = sandbox.sent(&with("welcome", &json!({"NAME": "Ada\r\nBcc: eve@x.test"})));
    assert_eq!(sandbox.record(&email)["subject"], "Welcome, Ada  Bcc: eve@x.test");
    assert!(headers(&sandbox, "bcc").is_empty());
}

#[test]
fn a_rendered_body_has_a_size_limit() {
    let sandbox = Sandbox::new();
    let html = "{{{NAME}}}".repeat(50_000);
    published(&sandbox, &welcome_with(&json!({"html": html, "text": ""})));
    sandbox.sent(&with("welcome", &json!({"NAME": "x".repeat(20)})));
    let refused = sandbox.refused(&with("welcome", &json!({"NAME": "x".repeat(2_000)})));
    assert!(refused.message().contains("`template` must make"), "{}", refused.message());
}

#[test]
fn too_many_variables_are_rejected_quickly() {
    // TPL-07
    let sandbox = Sandbox::new();
    let variables: Vec<_> = (0..20_000).map(|n| json!({"key": format!("V{n}"), "type": "string"})).collect();
    let answer = sandbox.post("/templates", &welcome_with(&json!({"variables": variables})));
    assert_eq!(answer.status, 422);
    assert!(answer.message().contains("found 20000"), "{}", answer.message());
}

#[test]
fn numbers_are_rendered_as_given() {
    let sandbox = Sandbox::new();
    let variables = json!([{"key": "N", "type": "number", "fallback_value": -0.5}]);
    let template = json!({
        "name": "n", "alias": "n", "from": "a@acme.test", "subject": "{{{N}}}", "html": "<p>{{{N}}}</p>", "variables": variables,
    });
    published(&sandbox, &template);
    for (variables, expected) in [
        (json!({}), "-0.5"),
        (json!({"N": 0}), "0"),
        (json!({"N": 9_007_199_254_740_991_u64}), "9007199254740991"),
        (json!({"N": 1.25}), "1.25"),
    ] {
        let email = sandbox.sent(&with("n", &variables));
        assert_eq!(sandbox.record(&email)["subject"], expected);
    }
}

#[test]
fn a_duplicate_is_a_draft_of_the_latest_version() {
    let sandbox = Sandbox::new();
    let id = published(&sandbox, &welcome());
    update(&sandbox, &id, &json!({"html": "<p>Newer {{{NAME}}}</p>"}));
    let copy = sandbox.ask(Method::POST, "/templates/welcome/duplicate").send("").json();
    let copy = record(&sandbox, copy["id"].as_str().unwrap());
    assert_eq!((&copy["status"], &copy["published_at"]), (&json!("draft"), &Value::Null));
    assert_eq!((&copy["html"], &copy["alias"]), (&json!("<p>Newer {{{NAME}}}</p>"), &Value::Null));
    // Changing the duplicate leaves the original unchanged.
    update(&sandbox, copy["id"].as_str().unwrap(), &json!({"subject": "Copied"}));
    assert_eq!(record(&sandbox, &id)["subject"], "Welcome, {{{NAME}}}");
}

const EVERYTHING: &str = "{{{FIRST_NAME|friend}}} {{{LAST_NAME}}} <{{{EMAIL|you}}}> {{{contact.city|Rome}}} {{{contact.plan}}} \
    {{{contact.unknown}}} {{{this.x|y}}} {{{UNSUBSCRIBE_URL}}} {{{RESEND_UNSUBSCRIBE_URL}}} {{{SERVICE_UNSUBSCRIBE_URL}}}";

/// A template with every placeholder that isn't a variable, and a contact.
fn with_placeholders(sandbox: &Sandbox) {
    for property in [
        json!({"key": "city", "type": "string"}),
        json!({"key": "plan", "type": "string", "fallback_value": "free"}),
    ] {
        assert_eq!(sandbox.post("/contact-properties", &property).status, 201);
    }
    let ada = json!({"email": "ada@example.com", "first_name": "Ada", "properties": {"city": "London"}});
    assert_eq!(sandbox.post("/contacts", &ada).status, 201);
    let template = json!({"name": "t", "alias": "t", "from": "hi@acme.test", "subject": "To {{{EMAIL|you}}}", "html": EVERYTHING});
    published(sandbox, &template);
}

/// The only unsubscribe link of a mail, as a path, and its HTML without the links.
fn link_and_rest(sandbox: &Sandbox) -> (String, String) {
    let mail = &sandbox.mails()[0];
    for text in [mail.html.as_deref(), mail.text.as_deref(), Some(&mail.subject)] {
        assert!(!text.unwrap().contains("{{{"), "{text:?}");
    }
    let html = mail.html.as_deref().unwrap().to_owned();
    let (rest, last) = html.rsplit_once(' ').unwrap();
    assert_eq!(mail.text.as_deref().unwrap().matches(last).count(), 3, "no line break divides the link");
    let link = last.strip_prefix("http://sandbox.invalid").unwrap_or_else(|| panic!("{last}"));
    (link.to_owned(), rest.replace(last, "").trim().to_owned())
}

fn follow(sandbox: &Sandbox, method: Method, link: &str, form: &'static str) -> Answer {
    sandbox.ask(method, link).no_key().send(form)
}

const ONE_CLICK: &str = "List-Unsubscribe=One-Click";

#[test]
fn an_email_with_a_template_has_an_unsubscribe_link_that_opens() {
    // TPL-18, TPL-39
    let sandbox = Sandbox::new();
    with_placeholders(&sandbox);
    let topic = json!({"name": "News", "default_subscription": "opt_in"});
    let topic = sandbox.post("/topics", &topic).json()["id"].as_str().unwrap().to_owned();
    for (to, expected) in [
        ("ada@example.com", "Ada  <ada@example.com> London free  y"),
        ("bob@example.com", "friend  <bob@example.com> Rome free  y"),
    ] {
        for topic in [None, Some(&topic)] {
            sandbox.sent(&json!({"to": to, "topic_id": topic, "template": {"id": "t"}}));
            let (link, rest) = link_and_rest(&sandbox);
            assert_eq!(rest, expected);
            let page = follow(&sandbox, Method::GET, &link, "");
            assert_eq!(page.status, 200, "{}", page.text());
            assert!(page.text().contains(to) && !page.text().contains("type=radio"), "{}", page.text());
            assert_eq!(page.text().contains("News"), topic.is_some());
            let before = sandbox.get(format!("/contacts/{to}"));
            assert!(
                before.status == 404 || before.json()["unsubscribed"] == (topic.is_some()),
                "a GET changes nothing"
            );
            for _ in 0..2 {
                let done = follow(&sandbox, Method::POST, &link, ONE_CLICK);
                assert_eq!(done.status, 200, "{}", done.text());
            }
            if topic.is_some() {
                let topics = sandbox.get(format!("/contacts/{to}/topics")).json();
                assert_eq!(topics["data"][0]["subscription"], "opt_out", "{topics}");
            } else {
                assert_eq!(sandbox.get(format!("/contacts/{to}")).json()["unsubscribed"], true);
            }
        }
    }
}

#[test]
fn several_recipients_get_fallbacks_and_a_link_that_asks_for_the_address() {
    // TPL-18, TPL-39
    let sandbox = Sandbox::new();
    with_placeholders(&sandbox);
    let email = json!({
        "to": ["Ada <ada@example.com>", "bob@example.com"], "cc": "<eve@example.com>", "bcc": "hidden@example.com",
        "template": {"id": "t"},
    });
    sandbox.sent(&email);
    let (link, rest) = link_and_rest(&sandbox);
    assert_eq!((rest.as_str(), sandbox.mail().subject.as_str()), ("friend  <you> Rome free  y", "To you"));
    let page = follow(&sandbox, Method::GET, &link, "").text();
    for address in ["ada@example.com", "bob@example.com", "eve@example.com"] {
        assert!(page.contains(&format!("type=radio name=address value=\"{address}\"")), "{page}");
    }
    assert!(!page.contains("hidden@") && page.contains("type=email"), "blind copies stay hidden: {page}");
    let unsubscribed =
        |address: &str| sandbox.get(format!("/contacts/{address}")).json()["unsubscribed"] == true;
    for form in [ONE_CLICK, "address=mallory%40example.com", "address="] {
        assert_eq!(follow(&sandbox, Method::POST, &link, form).status, 422, "{form}");
    }
    assert!(sandbox.get("/contacts/mallory@example.com").status == 404 && !unsubscribed("ada@example.com"));
    for (form, address) in [
        ("List-Unsubscribe=One-Click&address=BOB%40example.com", "bob@example.com"),
        ("address=bob%40example.com&address=hidden%40example.com", "hidden@example.com"),
    ] {
        let done = follow(&sandbox, Method::POST, &link, form);
        assert!(done.status == 200 && done.text().contains(address), "{}", done.text());
        assert!(unsubscribed(address), "{address}");
    }
    assert!(!unsubscribed("ada@example.com"));
    sandbox.sent(&json!({"to": "ada@example.com", "cc": "bob@example.com", "template": {"id": "t"}}));
    let (link, _) = link_and_rest(&sandbox);
    let page = follow(&sandbox, Method::GET, &link, "").text();
    assert!(page.contains("required") && !page.contains("type=email"), "{page}");
}

#[test]
fn batches_and_scheduled_emails_fill_the_placeholders_of_a_template() {
    // TPL-18, TPL-39
    let sandbox = Sandbox::new();
    with_placeholders(&sandbox);
    let one = json!({"to": "ada@example.com", "template": {"id": "t"}});
    let several = json!({"to": ["ada@example.com", "bob@example.com"], "template": {"id": "t"}});
    assert_eq!(sandbox.post("/emails/batch", &json!([one, several])).status, 200);
    let mut links: Vec<_> =
        sandbox.mails().iter().map(|mail| mail.html.as_deref().unwrap().to_owned()).collect();
    assert!(links.iter().all(|html| !html.contains("{{{")), "{links:?}");
    links.dedup();
    assert_eq!(links.len(), 2);
    let mut scheduled = one;
    scheduled["scheduled_at"] = "in 1 hour".into();
    sandbox.sent(&scheduled);
    sandbox.advance(3_600);
    let (link, rest) = link_and_rest(&sandbox);
    assert_eq!(rest, "Ada  <ada@example.com> London free  y");
    assert_eq!(follow(&sandbox, Method::POST, &link, ONE_CLICK).status, 200);
    assert_eq!(sandbox.get("/contacts/ada@example.com").json()["unsubscribed"], true);
}
