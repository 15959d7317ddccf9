//! Templates end to end: versions, precedence, and injection.

use http::Method;
use mail_parser::MessageParser;
use serde_json::{Value, json};

use crate::support::{Answer, RESERVED_KEYS, Sandbox, expect_fields_of, merged};

fn welcome() -> Value {
    json!({
        "name": "Welcome", "alias": "welcome", "from": "Acme <hi@acme.test>", "subject": "Welcome, {{{NAME}}}",
        "html": "<p>Hello {{{NAME}}}</p>", "variables": [{"key": "NAME", "type": "string"}],
    })
}

/// The welcome template with some fields replaced; `null` removes one.
fn welcome_with(fields: &Value) -> Value {
    merged(welcome(), fields)
}

fn created(sandbox: &Sandbox, template: &Value) -> String {
    sandbox.post("/templates", template).expect_status(201).id()
}

fn publish(sandbox: &Sandbox, name: &str) {
    sandbox.act(format!("/templates/{name}/publish")).expect_status(200);
}

fn update(sandbox: &Sandbox, name: &str, patch: &Value) -> Answer {
    sandbox.patch(format!("/templates/{name}"), patch)
}

fn record(sandbox: &Sandbox, name: &str) -> Value {
    sandbox.get(format!("/templates/{name}")).expect_status(200).json()
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
    expect_fields_of(&json!({ "status": "draft", "has_unpublished_versions": true }), &draft);
    assert_eq!(draft["published_at"], Value::Null);

    sandbox.advance(60);
    publish(&sandbox, "welcome");
    let first = record(&sandbox, &id);
    expect_fields_of(&json!({ "status": "published", "has_unpublished_versions": false }), &first);
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
    expect_fields_of(&json!({ "status": "published", "has_unpublished_versions": true }), &edited);
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
    sandbox.published(&welcome());
    let mut email = with("welcome", &json!({"NAME": "Ada"}));
    email["scheduled_at"] = json!("in 10 min");
    sandbox.sent(&email);
    update(&sandbox, "welcome", &json!({"html": "<p>Other</p>"}));
    publish(&sandbox, "welcome");
    assert_eq!(sandbox.delete("/templates/welcome").status, 200);
    sandbox.advance(600);
    assert_eq!(sandbox.mail().html.as_deref(), Some("<p>Hello Ada</p>"));
}

#[test]
fn a_deleted_template_cannot_be_sent_and_frees_its_alias() {
    let sandbox = Sandbox::new();
    let id = sandbox.published(&welcome());
    assert_eq!(sandbox.post("/templates", &welcome()).status, 422, "the alias is taken");
    let answer = sandbox.delete("/templates/welcome");
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
            answer.rejected(404, "not_found", "");
        }
        let refused = sandbox.refused(&with(name, &json!({"NAME": "Ada"})));
        assert!(refused.message().contains("there is no template"), "{}", refused.message());
    }
    sandbox.published(&welcome());
    sandbox.sent(&with("welcome", &json!({"NAME": "Ada"})));
}

#[test]
fn an_alias_is_unique_per_tenant() {
    let sandbox = Sandbox::new();
    let id = created(&sandbox, &welcome());
    let elsewhere = sandbox.account("sb_other").post("/templates", &welcome());
    assert_eq!(elsewhere.status, 201, "another tenant doesn't see it");
    let other = created(&sandbox, &welcome_with(&json!({"alias": "other"})));
    let taken = update(&sandbox, "other", &json!({"alias": "welcome"}));
    taken.invalid("");
    assert_eq!(record(&sandbox, "welcome")["id"].as_str(), Some(id.as_str()));
    let own = update(&sandbox, "welcome", &json!({"alias": "welcome"}));
    assert_eq!(own.status, 200, "the template already has this alias");
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
    sandbox.published(&welcome());
    let good = with("welcome", &json!({"NAME": "Ada"}));
    for (bad, words) in [
        (with("welcome", &json!({})), "`[1].template.variables`"),
        (with("welcome", &json!({"NAME": 1})), "`[1].template.variables.NAME`"),
        (with("other", &json!({})), "`[1].template.id`"),
    ] {
        let answer = sandbox.post("/emails/batch", &json!([good, bad]));
        answer.invalid(words);
        assert!(sandbox.mails().is_empty());
    }
    assert_eq!(sandbox.post("/emails/batch", &json!([good, good])).status, 200);
    assert_eq!(sandbox.mails().len(), 2);
}

#[test]
fn a_template_without_reply_to_omits_the_header() {
    let sandbox = Sandbox::new();
    sandbox.published(&welcome_with(&json!({"reply_to": []})));
    assert_eq!(record(&sandbox, "welcome")["reply_to"], Value::Null);
    sandbox.sent(&with("welcome", &json!({"NAME": "Ada"})));
    assert!(headers(&sandbox, "reply-to").is_empty());
}

#[test]
fn a_reply_to_header_overrides_the_template() {
    // EMAIL-53
    let sandbox = Sandbox::new();
    sandbox.published(&welcome_with(&json!({"reply_to": "template@acme.test"})));
    let mut email = with("welcome", &json!({"NAME": "Ada"}));
    email["headers"] = json!({"Reply-To": "own@acme.test"});
    sandbox.sent(&email);
    let [one] = &headers(&sandbox, "reply-to")[..] else { panic!("not one Reply-To") };
    assert!(one.contains("own@acme.test"), "{one}");
}

#[test]
fn a_variable_in_the_subject_cannot_inject_headers() {
    let sandbox = Sandbox::new();
    sandbox.published(&welcome());
    let email = sandbox.sent(&with("welcome", &json!({"NAME": "Ada\r\nBcc: eve@x.test\u{85}!"})));
    assert_eq!(sandbox.record(&email)["subject"], "Welcome, Ada  Bcc: eve@x.test !");
    assert!(headers(&sandbox, "bcc").is_empty());
}

#[test]
fn a_rendered_body_has_a_size_limit() {
    let sandbox = Sandbox::new();
    let html = "{{{NAME}}}".repeat(50_000);
    sandbox.published(&welcome_with(&json!({"html": html, "text": ""})));
    sandbox.sent(&with("welcome", &json!({"NAME": "x".repeat(20)})));
    let refused = sandbox.refused(&with("welcome", &json!({"NAME": "x".repeat(2_000)})));
    assert!(refused.message().contains("`template` must make"), "{}", refused.message());
}

#[test]
fn a_template_has_at_most_fifty_variables() {
    // TPL-07, TPL-08, LIM-09
    let sandbox = Sandbox::new();
    let variables = |count: usize| -> Value {
        (0..count).map(|n| json!({"key": format!("V{n}"), "type": "string", "fallback_value": "x"})).collect()
    };
    for count in [51, 20_000] {
        let answer = sandbox.post("/templates", &welcome_with(&json!({"variables": variables(count)})));
        answer.invalid(&format!("found {count}"));
    }
    created(&sandbox, &welcome_with(&json!({"variables": variables(50)})));
    assert_eq!(update(&sandbox, "welcome", &json!({"variables": variables(50)})).status, 200);
    update(&sandbox, "welcome", &json!({"variables": variables(51)})).invalid("found 51");
}

#[test]
fn numbers_are_rendered_as_given() {
    let sandbox = Sandbox::new();
    let variables = json!([{"key": "N", "type": "number", "fallback_value": -0.5}]);
    let template = json!({
        "name": "n", "alias": "n", "from": "a@acme.test", "subject": "{{{N}}}", "html": "<p>{{{N}}}</p>", "variables": variables,
    });
    sandbox.published(&template);
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
    let id = sandbox.published(&welcome());
    update(&sandbox, &id, &json!({"html": "<p>Newer {{{NAME}}}</p>"}));
    let copy = sandbox.act("/templates/welcome/duplicate").json();
    let copy = record(&sandbox, copy["id"].as_str().unwrap());
    expect_fields_of(&json!({ "status": "draft", "published_at": null }), &copy);
    expect_fields_of(&json!({ "html": "<p>Newer {{{NAME}}}</p>", "alias": null }), &copy);
    assert_eq!(copy["name"], "Welcome (copy)");
    // Changing the duplicate leaves the original unchanged.
    update(&sandbox, copy["id"].as_str().unwrap(), &json!({"subject": "Copied"}));
    assert_eq!(record(&sandbox, &id)["subject"], "Welcome, {{{NAME}}}");
}

const EVERYTHING: &str = "{{{FIRST_NAME|friend}}} {{{LAST_NAME}}} <{{{EMAIL|you}}}> {{{contact.city|Rome}}} {{{contact.plan}}} \
    {{{contact.unknown}}} {{{this.x|y}}} {{{contact}}} {{{this|z}}} {{{UNSUBSCRIBE_URL}}} {{{RESEND_UNSUBSCRIBE_URL}}} {{{SERVICE_UNSUBSCRIBE_URL}}}";

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
    sandbox.published(&template);
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
    let topic = sandbox.created("/topics", &topic);
    for (to, expected) in [
        ("ada@example.com", "Ada  <ada@example.com> London free  y  z"),
        ("bob@example.com", "friend  <bob@example.com> Rome free  y  z"),
    ] {
        for topic in [None, Some(&topic)] {
            sandbox.sent(&json!({"to": to, "topic_id": topic, "template": {"id": "t"}}));
            let (link, rest) = link_and_rest(&sandbox);
            assert_eq!(rest, expected);
            let page = follow(&sandbox, Method::GET, &link, "").expect_status(200);
            assert!(page.text().contains(to) && !page.text().contains("type=radio"), "{}", page.text());
            assert_eq!(page.text().contains("News"), topic.is_some());
            let before = sandbox.get(format!("/contacts/{to}"));
            assert!(
                before.status == 404 || before.json()["unsubscribed"] == (topic.is_some()),
                "a GET changes nothing"
            );
            for _ in 0..2 {
                follow(&sandbox, Method::POST, &link, ONE_CLICK).expect_status(200);
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
    assert_eq!((rest.as_str(), sandbox.mail().subject.as_str()), ("friend  <you> Rome free  y  z", "To you"));
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
    assert_eq!(rest, "Ada  <ada@example.com> London free  y  z");
    assert_eq!(follow(&sandbox, Method::POST, &link, ONE_CLICK).status, 200);
    assert_eq!(sandbox.get("/contacts/ada@example.com").json()["unsubscribed"], true);
}

/// The welcome template with a number that has a fallback.
fn apples(fields: &Value) -> Value {
    let apples = json!({"html": "<p>Hello {{{NAME}}}, {{{APPLES}}} apples</p>", "variables": [
        {"key": "NAME", "type": "string"}, {"key": "APPLES", "type": "number", "fallback_value": 3},
    ]});
    merged(welcome_with(&apples), fields)
}

#[test]
fn a_template_is_created_as_a_draft_read_and_listed() {
    // TPL-01, TPL-04, TPL-05, TPL-21, TPL-22, TPL-23, TPL-24, TPL-28, TPL-29, TPL-30, TPL-35
    let sandbox = Sandbox::new();
    let answer = sandbox.post("/templates", &json!({"name": "Plain", "html": "<p>x</p>"}));
    let plain = answer.id();
    assert_eq!(answer.expect_status(201).json(), json!({"object": "template", "id": plain}));
    let reply_to = json!(["a@acme.test", "b@acme.test"]);
    let id = created(&sandbox, &apples(&json!({"reply_to": reply_to})));
    let shown = record(&sandbox, "welcome");
    assert_eq!(shown["id"], json!(id));
    let expected = json!({
        "name": "Welcome", "alias": "welcome", "from": "Acme <hi@acme.test>", "subject": "Welcome, {{{NAME}}}",
        "reply_to": reply_to, "status": "draft", "published_at": null,
    });
    expect_fields_of(&expected, &shown);
    let variables: Vec<_> = shown["variables"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
    assert_eq!(variables, ["NAME", "APPLES"]);
    assert_eq!(shown["variables"][0]["fallback_value"], Value::Null);
    assert_eq!(shown["variables"][1]["fallback_value"], 3);
    assert_eq!(sandbox.ids("/templates"), [id, plain], "newest first");
    assert_eq!(shown["created_at"], "2026-03-02 12:00:00.000000+00");
    assert_eq!(shown["variables"][1]["type"], "number");
    publish(&sandbox, "welcome");
    let (shown, item) = (record(&sandbox, "welcome"), sandbox.get("/templates").json()["data"][0].clone());
    expect_fields_of(&json!({ "status": "published", "object": "template" }), &shown);
    assert_eq!(shown["published_at"], "2026-03-02 12:00:00.000000+00");
    expect_fields_of(&item, &shown);
}

#[test]
fn invalid_fields_are_named() {
    // TPL-09, TPL-10, TPL-11, TPL-13, TPL-14, TPL-19, TPL-20
    let sandbox = Sandbox::new();
    let variable = |variable: Value| json!({"name": "n", "html": "h", "variables": [variable]});
    let mut wrong = vec![
        (json!({"html": "h"}), "Missing `name`"),
        (json!({"name": "n"}), "Missing `html`"),
        (json!({"name": " ", "html": "h"}), "name"),
        (json!({"name": "n", "html": "h", "alias": ""}), "alias"),
        (json!({"name": "n", "html": "h", "from": "nobody"}), "from"),
        (json!({"name": "n", "html": "h", "react": "<b/>"}), "react"),
        (variable(json!({"type": "string"})), "Missing `variables[0].key`"),
        (variable(json!({"key": "A"})), "Missing `variables[0].type`"),
        (variable(json!({"key": "A", "type": "boolean"})), "type"),
        (variable(json!({"key": "A", "type": "string", "fallback_value": 1})), "fallback_value"),
        (variable(json!({"key": "A", "type": "number", "fallback_value": "1"})), "fallback_value"),
        (variable(json!({"key": "a b", "type": "string"})), "key"),
        (variable(json!({"key": "x".repeat(51), "type": "string"})), "key"),
    ];
    for key in RESERVED_KEYS {
        wrong.push((variable(json!({"key": key, "type": "string"})), "reserved"));
    }
    let twice = json!([{"key": "A", "type": "string"}, {"key": "A", "type": "number"}]);
    wrong.push((json!({"name": "n", "html": "h", "variables": twice}), "variables"));
    for (body, named) in wrong {
        sandbox.post("/templates", &body).invalid(named);
    }
    assert_eq!(sandbox.get("/templates").json()["data"], json!([]));
    // Capitals are recommended, not demanded.
    created(&sandbox, &variable(json!({"key": "lower_case", "type": "string"})));
}

#[test]
fn each_field_is_updated_alone_by_id_or_alias_and_cleared() {
    // TPL-03, TPL-31, TPL-32, TPL-33, TPL-34
    let sandbox = Sandbox::new();
    let id = created(&sandbox, &welcome_with(&json!({"reply_to": "a@acme.test"})));
    let mut expected = record(&sandbox, &id);
    for (name, field, value) in [
        (id.as_str(), "name", json!("Hello")),
        ("welcome", "from", json!("news@acme.test")),
        ("welcome", "subject", json!("Hi")),
        ("welcome", "reply_to", json!(["b@acme.test"])),
        ("welcome", "html", json!("<p>other</p>")),
        ("welcome", "alias", json!("hello")),
        ("hello", "alias", Value::Null),
        (&id, "from", Value::Null),
        (&id, "subject", Value::Null),
        (&id, "reply_to", Value::Null),
    ] {
        let answer = update(&sandbox, name, &json!({ field: value }));
        assert_eq!(answer.json(), json!({"object": "template", "id": id}), "{}", answer.text());
        expected[field] = value;
        let shown = record(&sandbox, &id);
        for field in ["name", "alias", "from", "subject", "reply_to", "html", "variables"] {
            assert_eq!(shown[field], expected[field], "{field}");
        }
    }
    assert_eq!(sandbox.get("/templates/welcome").status, 404);
    for (text, shown) in [(json!("own"), "own"), (Value::Null, "other")] {
        update(&sandbox, &id, &json!({ "text": text }));
        assert_eq!(record(&sandbox, &id)["text"].as_str().unwrap().trim(), shown, "derived without one");
    }
    update(&sandbox, &id, &json!({"variables": [{"key": "X", "type": "string"}]}));
    assert_eq!(record(&sandbox, &id)["variables"][0]["key"], "X");
}

#[test]
fn a_template_is_sent_by_id_or_alias_once_it_is_published() {
    // GEN-02, GEN-04, EMAIL-43, EMAIL-44, EMAIL-45, TPL-02, TPL-37, TPL-38
    let sandbox = Sandbox::new();
    let id = created(&sandbox, &welcome());
    let variables = json!({"NAME": "Ada"});
    for name in [id.as_str(), "welcome"] {
        let refused = sandbox.refused(&with(name, &variables));
        assert!(refused.message().contains("published"), "{}", refused.message());
    }
    let published = sandbox.act("/templates/welcome/publish");
    assert_eq!(published.json(), json!({"object": "template", "id": id}));
    for name in [id.as_str(), "welcome"] {
        sandbox.sent(&with(name, &variables));
    }
    assert_eq!(sandbox.mails().len(), 2);
}

#[test]
fn variables_have_their_values_or_fallbacks() {
    // EMAIL-46, EMAIL-60, EMAIL-61, EMAIL-62, EMAIL-63, ERR-02, TPL-12, TPL-15
    let sandbox = Sandbox::new();
    sandbox.published(&apples(&json!({})));
    let html = |variables: Value| sandbox.record(&sandbox.sent(&with("welcome", &variables)))["html"].clone();
    assert_eq!(html(json!({"NAME": "Ada <3", "UNUSED": "y"})), "<p>Hello Ada <3, 3 apples</p>", "unescaped");
    assert_eq!(sandbox.mail().subject, "Welcome, Ada <3");
    // A number may be given as a string.
    for apples in [json!(5), json!("3"), json!("-1.5"), json!("1e3"), json!("9007199254740991")] {
        let text = apples.as_str().map_or_else(|| apples.to_string(), str::to_owned);
        assert_eq!(
            html(json!({"NAME": "Ada", "APPLES": apples})),
            format!("<p>Hello Ada, {text} apples</p>")
        );
    }
    for text in ["", " 3", "3 ", "0x3", "3,5", "NaN", "three", "9007199254740992", "1e99"] {
        let refused = sandbox.refused(&with("welcome", &json!({"NAME": "Ada", "APPLES": text})));
        refused.invalid("variables.APPLES");
    }
    for variables in [json!({"APPLES": 1}), json!({"NAME": 1})] {
        sandbox.refused(&with("welcome", &variables)).invalid("NAME");
    }
}

#[test]
fn an_email_overrides_its_template_and_fields_of_neither_are_rejected() {
    // EMAIL-11, EMAIL-42, EMAIL-51, EMAIL-52, EMAIL-53, EMAIL-54, TPL-22, TPL-23, TPL-24
    let sandbox = Sandbox::new();
    sandbox.published(&welcome_with(&json!({"reply_to": "template@acme.test"})));
    let mut email = with("welcome", &json!({"NAME": "Ada"}));
    let fields = |email: &Value| {
        let record = sandbox.record(&sandbox.sent(email));
        [record["from"].clone(), record["subject"].clone(), record["reply_to"].clone()]
    };
    assert_eq!(
        fields(&email),
        [json!("Acme <hi@acme.test>"), json!("Welcome, Ada"), json!(["template@acme.test"])]
    );
    assert_eq!(headers(&sandbox, "reply-to"), ["template@acme.test"]);
    let own = [json!("Other <other@acme.test>"), json!("Own"), json!(["own@acme.test"])];
    for (field, value) in ["from", "subject", "reply_to"].iter().zip(&own) {
        email[field] = value.clone();
    }
    assert_eq!(fields(&email), own);

    sandbox.published(&json!({"name": "Bare", "html": "<p>x</p>", "alias": "bare"}));
    for (more, missing) in
        [(json!({}), "from"), (json!({"from": "a@acme.test"}), "subject"), (json!({"subject": "s"}), "from")]
    {
        let email = merged(json!({"to": "ada@example.com", "template": {"id": "bare"}}), &more);
        assert!(sandbox.refused(&email).message().contains(missing), "{missing}");
    }
    sandbox.sent(&json!({
        "to": "ada@example.com", "template": {"id": "bare"}, "from": "a@acme.test", "subject": "s",
    }));
}

#[test]
fn the_text_is_given_derived_or_omitted() {
    // TPL-25, TPL-26
    let sandbox = Sandbox::new();
    for (text, expected) in [(json!("own"), Some("own")), (Value::Null, Some("Hello Ada")), (json!(""), None)]
    {
        sandbox.published(&welcome_with(&json!({"alias": null, "text": text})));
        let template = sandbox.get("/templates?limit=1").json()["data"][0]["id"].as_str().unwrap().to_owned();
        sandbox.sent(&with(&template, &json!({"NAME": "Ada"})));
        assert_eq!(sandbox.mails()[0].text.as_deref().map(str::trim), expected);
    }
}
