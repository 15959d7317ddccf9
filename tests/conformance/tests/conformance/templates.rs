//! Templates: created, updated, published, and used.

use http::Method;
use idempost::{
    BatchEmail, Email, Error,
    contact_properties::NewContactProperty,
    contacts::NewContact,
    templates::{NewTemplate, TemplatePatch, TemplateStatus, TemplateVariable},
};
use idempost_conformance::bench::{Bench, Expect};
use mail_parser::MessageParser;
use serde_json::{Value, json};

use super::{letters, with};

fn patch(bench: &Bench, path: &str) -> http::request::Builder {
    bench.request(Method::PATCH, path).header("content-type", "application/json")
}

/// A published template, by its alias.
async fn published(bench: &Bench, template: NewTemplate) {
    let client = bench.client();
    let id = client.templates().create(&template).await.unwrap().id;
    client.templates().publish(&id).await.unwrap();
}

fn welcome() -> NewTemplate {
    NewTemplate::new("Welcome", "<p>Hello {{{NAME}}}, {{{APPLES}}} apples</p>")
        .alias("welcome")
        .from("Acme <hi@acme.test>")
        .subject("Welcome, {{{NAME}}}")
        .variable(TemplateVariable::string("NAME"))
        .variable(TemplateVariable::number("APPLES").fallback(3))
}

fn text_of(bench: &Bench) -> String {
    let mime = bench.mails()[0].mime.clone();
    MessageParser::default().parse(&mime).unwrap().body_text(0).unwrap_or_default().trim().to_owned()
}

#[tokio::test]
async fn a_template_is_created_read_listed_duplicated_and_deleted() {
    // TPL-01, TPL-04, TPL-05, TPL-21, TPL-22, TPL-23, TPL-24, TPL-28, TPL-29, TPL-30, TPL-35
    let bench = Bench::start().await;
    let templates = bench.client();
    let templates = templates.templates();
    let plain = templates.create(&NewTemplate::new("Plain", "<p>x</p>")).await.unwrap().id;
    let id = templates.create(&welcome().reply_to(["a@acme.test", "b@acme.test"])).await.unwrap().id;
    let template = templates.get(&id).await.unwrap();
    assert_eq!((template.name.as_str(), template.alias.as_deref()), ("Welcome", Some("welcome")));
    assert_eq!(template.status, Some(TemplateStatus::Draft));
    assert!(template.published_at.is_none());
    assert_eq!(template.reply_to.unwrap(), ["a@acme.test", "b@acme.test"]);
    assert_eq!(template.subject.as_deref(), Some("Welcome, {{{NAME}}}"));
    let variables = template.variables.unwrap();
    assert_eq!((variables[0].key.as_str(), &variables[0].fallback_value), ("NAME", &None));
    assert_eq!((variables[1].key.as_str(), &variables[1].fallback_value), ("APPLES", &Some(json!(3))));
    assert_eq!(templates.get("welcome").await.unwrap().id, id);

    let copy = templates.duplicate("welcome").await.unwrap().id;
    let copied = templates.get(&copy).await.unwrap();
    assert_eq!((copied.name.as_str(), copied.alias), ("Welcome (copy)", None));
    let listed: Vec<_> = templates.list().await.unwrap().data.into_iter().map(|item| item.id).collect();
    assert_eq!(listed, [copy.clone(), id, plain]);
    assert!(templates.delete(&copy).await.unwrap().deleted);
    let gone = templates.get(&copy).await.unwrap_err();
    assert_eq!(gone.status().unwrap(), 404);
}

#[tokio::test]
async fn the_list_shows_the_latest_twenty_by_default() {
    // LIST-A4, LIST-A1
    let bench = Bench::start().await;
    for n in 0..25 {
        bench.post("/templates", &json!({ "name": n.to_string(), "html": "x" }));
    }
    let list = bench.get("/templates").json;
    let names: Vec<_> = list["data"].as_array().unwrap().iter().map(|item| item["name"].clone()).collect();
    assert_eq!(names, (5..25).rev().map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!(list["has_more"], true);
    for limit in ["0", "101", "x"] {
        assert_eq!(bench.get_wrong(&format!("/templates?limit={limit}")).status, 422);
    }
}

#[tokio::test]
async fn an_invalid_template_is_refused() {
    // TPL-09, TPL-10, TPL-11, TPL-13, TPL-19, TPL-20, A-38, A-39, A-40
    let bench = Bench::start().await;
    let variable = |variable: Value| json!({ "name": "n", "html": "h", "variables": [variable] });
    let mut wrong = vec![
        (json!({ "html": "h" }), "name"),
        (json!({ "name": "n" }), "html"),
        (json!({ "name": " ", "html": "h" }), "name"),
        (json!({ "name": "n", "html": "h", "alias": "" }), "alias"),
        (json!({ "name": "n", "html": "h", "from": "nobody" }), "from"),
        (json!({ "name": "n", "html": "h", "react": "<b/>" }), "react"),
        (variable(json!({ "type": "string" })), "key"),
        (variable(json!({ "key": "A" })), "type"),
        (variable(json!({ "key": "A", "type": "boolean" })), "type"),
        (variable(json!({ "key": "A", "type": "string", "fallback_value": 1 })), "fallback_value"),
        (variable(json!({ "key": "A", "type": "number", "fallback_value": "1" })), "fallback_value"),
        (variable(json!({ "key": "a b", "type": "string" })), "key"),
        (variable(json!({ "key": letters(51), "type": "string" })), "key"),
    ];
    for key in
        ["FIRST_NAME", "LAST_NAME", "EMAIL", "UNSUBSCRIBE_URL", "SERVICE_UNSUBSCRIBE_URL", "contact", "this"]
    {
        wrong.push((variable(json!({ "key": key, "type": "string" })), "reserved"));
    }
    for (body, named) in wrong {
        let reply = bench.post_wrong("/templates", &body);
        assert_eq!(reply.status, 422, "{body}");
        assert!(reply.message().contains(named), "{body}: {}", reply.message());
    }
    // TPL-14: capitals are recommended, not demanded.
    assert_eq!(
        bench.post("/templates", &variable(json!({ "key": "lower_case", "type": "string" }))).status,
        201
    );
    let twice = json!({ "name": "n", "html": "h", "variables": [{ "key": "A", "type": "string" }, { "key": "A", "type": "number" }] });
    assert_eq!(bench.post("/templates", &twice).status, 422, "variable keys are unique");
    assert!(bench.get("/templates").json["data"].as_array().unwrap().len() == 1);
}

#[tokio::test]
async fn a_template_has_at_most_fifty_variables() {
    // TPL-07, TPL-08, LIM-09
    let bench = Bench::start().await;
    let variables = |n: usize| -> Value {
        (0..n).map(|i| json!({ "key": format!("V{i}"), "type": "string", "fallback_value": "x" })).collect()
    };
    let body =
        |n: usize| json!({ "name": "n", "html": "h", "alias": format!("a{n}"), "variables": variables(n) });
    assert_eq!(bench.post("/templates", &body(50)).status, 201);
    let refused = bench.post_wrong("/templates", &body(51));
    assert_eq!((refused.status.as_u16(), refused.name()), (422, "validation_error"));
    let change = |n: usize| json!({ "variables": variables(n) });
    assert_eq!(bench.ask(patch(&bench, "/templates/a50"), change(50).to_string()).status, 200);
    let request = patch(&bench, "/templates/a50").header("x-conformance", Expect::Refusal.as_str());
    assert_eq!(bench.ask(request, change(51).to_string()).status, 422);
}

#[tokio::test]
async fn each_field_is_updated_alone_by_id_or_alias_and_cleared() {
    // TPL-03, TPL-06, TPL-31, TPL-32, TPL-33, TPL-34
    let bench = Bench::start().await;
    let client = bench.client();
    let templates = client.templates();
    let id = templates.create(&welcome().reply_to("a@acme.test")).await.unwrap().id;
    let made = templates.get(&id).await.unwrap().updated_at.unwrap();
    bench.service().clock().advance(std::time::Duration::from_mins(1));
    let patches = [
        TemplatePatch::new().name("Hello"),
        TemplatePatch::new().from("news@acme.test"),
        TemplatePatch::new().subject("Hi"),
        TemplatePatch::new().reply_to("b@acme.test"),
        TemplatePatch::new().html("<p>other</p>"),
        TemplatePatch::new().text("other"),
        TemplatePatch::new().variables([TemplateVariable::string("X")]),
        TemplatePatch::new().alias("hello"),
    ];
    for patch in &patches {
        assert_eq!(templates.update(&id, patch).await.unwrap().id, id);
    }
    let changed = templates.get("hello").await.unwrap();
    assert_eq!(changed.name, "Hello");
    assert_eq!((changed.from.as_deref(), changed.subject.as_deref()), (Some("news@acme.test"), Some("Hi")));
    assert_eq!((changed.html.as_deref(), changed.text.as_deref()), (Some("<p>other</p>"), Some("other")));
    assert_eq!(
        (changed.reply_to.unwrap(), changed.variables.unwrap()[0].key.as_str()),
        (vec!["b@acme.test".to_owned()], "X")
    );
    assert!(changed.updated_at.unwrap().unix_seconds() > made.unix_seconds());
    assert_eq!(templates.get("welcome").await.unwrap_err().status().unwrap(), 404);

    let cleared =
        TemplatePatch::new().clear_alias().clear_from().clear_subject().clear_reply_to().clear_text();
    templates.update("hello", &cleared).await.unwrap();
    let cleared = templates.get(&id).await.unwrap();
    assert_eq!((cleared.alias, cleared.from, cleared.subject, cleared.reply_to), (None, None, None, None));
    assert_eq!(cleared.html.as_deref(), Some("<p>other</p>"), "unset fields stay unchanged");
}

#[tokio::test]
async fn an_alias_identifies_one_template() {
    let bench = Bench::start().await;
    let client = bench.client();
    client.templates().create(&welcome()).await.unwrap();
    let Err(Error::Api(error)) = client.templates().create(&welcome()).await else { panic!("taken twice") };
    assert!(error.message.contains("alias"), "{error}");
    let other = client.templates().create(&welcome().alias("other")).await.unwrap().id;
    assert!(client.templates().update(&other, &TemplatePatch::new().alias("welcome")).await.is_err());
    client.templates().update(&other, &TemplatePatch::new().alias("other")).await.unwrap();
}

#[tokio::test]
async fn only_published_templates_can_be_sent() {
    // GEN-02, GEN-04, EMAIL-43, EMAIL-44, EMAIL-45, TPL-02, TPL-36, TPL-37, TPL-38
    let bench = Bench::start().await;
    let client = bench.client();
    let id = client.templates().create(&welcome()).await.unwrap().id;
    let email = |template: &str| Email::from_template(template, "ada@example.com").variable("NAME", "Ada");
    for (template, reason) in
        [(id.as_str(), "published"), ("welcome", "published"), ("nothing", "no template")]
    {
        let Err(Error::Api(error)) = client.emails().send(&email(template)).await else {
            panic!("sent {template}")
        };
        assert_eq!((error.status.as_u16(), error.name.as_str()), (422, "validation_error"));
        assert!(error.message.contains(reason), "{error}");
    }
    assert_eq!(bench.mails().len(), 0);
    assert_eq!(client.templates().publish("welcome").await.unwrap().id, id);
    let published = client.templates().get(&id).await.unwrap();
    assert_eq!(published.status, Some(TemplateStatus::Published));
    assert!(published.published_at.is_some());
    client.emails().send(&email(id.as_str())).await.unwrap();
    client.emails().send(&email("welcome")).await.unwrap();
    assert_eq!(bench.mails().len(), 2);
}

#[tokio::test]
async fn an_update_of_a_published_template_is_a_draft_until_it_is_published() {
    let bench = Bench::start().await;
    let client = bench.client();
    published(&bench, welcome()).await;
    let email = Email::from_template("welcome", "ada@example.com").variable("NAME", "Ada");
    let version = client.templates().get("welcome").await.unwrap();
    assert_eq!(version.has_unpublished_versions, Some(false));
    client.templates().update("welcome", &TemplatePatch::new().html("<p>New {{{NAME}}}</p>")).await.unwrap();
    let edited = client.templates().get("welcome").await.unwrap();
    assert_eq!(
        (edited.has_unpublished_versions, edited.html.as_deref()),
        (Some(true), Some("<p>New {{{NAME}}}</p>"))
    );
    assert_ne!(edited.current_version_id, version.current_version_id);
    client.emails().send(&email).await.unwrap();
    assert_eq!(text_of(&bench), "Hello Ada, 3 apples");
    client.templates().publish("welcome").await.unwrap();
    client.emails().send(&email).await.unwrap();
    assert_eq!(text_of(&bench), "New Ada");
}

#[tokio::test]
async fn variables_are_replaced_by_values_or_fallbacks() {
    // EMAIL-46, EMAIL-61, EMAIL-62, TPL-15, TPL-12
    let bench = Bench::start().await;
    let client = bench.client();
    published(&bench, welcome()).await;
    let email = Email::from_template("welcome", "ada@example.com").variable("NAME", "Ada <3");
    client.emails().send(&email).await.unwrap();
    let mail = bench.mails()[0].clone();
    assert_eq!(mail.subject, "Welcome, Ada <3");
    let mail = MessageParser::default().parse(&mail.mime[..]).unwrap().body_html(0).unwrap().into_owned();
    assert!(mail.contains("Hello Ada <3, 3 apples"), "values are inserted unescaped: {mail}");
    client.emails().send(&email.clone().variable("APPLES", 5)).await.unwrap();
    assert!(text_of(&bench).contains("5 apples"));
    let batch = BatchEmail::from_template("welcome", "bob@example.com").variable("NAME", "Bob");
    client.emails().send_batch(&[batch]).await.unwrap();
    assert!(text_of(&bench).contains("Hello Bob"));
}

#[tokio::test]
async fn a_number_may_be_given_as_a_string() {
    // EMAIL-60: "string or number"
    let bench = Bench::start().await;
    published(&bench, welcome()).await;
    let send = |apples: &str| {
        let template = json!({ "id": "welcome", "variables": { "NAME": "Ada", "APPLES": apples } });
        bench.post("/emails", &json!({ "to": "ada@example.com", "template": template }))
    };
    for text in ["3", "-1.5", "1e3", "9007199254740991"] {
        assert_eq!(send(text).status, 200, "{text}");
        assert!(text_of(&bench).contains(&format!("{text} apples")), "{text}");
    }
    for text in ["", " 3", "3 ", "0x3", "3,5", "NaN", "three", "9007199254740992", "1e99"] {
        let refused = send(text);
        assert!(
            refused.status == 422 && refused.message().contains("variables.APPLES"),
            "{text}: {}",
            refused.message()
        );
    }
}

#[tokio::test]
async fn a_variable_without_value_and_fallback_fails_the_send() {
    // EMAIL-63, ERR-02, TPL-12
    let bench = Bench::start().await;
    published(&bench, welcome()).await;
    let send = |variables: Value| {
        bench.post(
            "/emails",
            &json!({ "to": "ada@example.com", "template": { "id": "welcome", "variables": variables } }),
        )
    };
    let refused = send(json!({ "APPLES": 1 }));
    assert_eq!((refused.status.as_u16(), refused.name()), (422, "validation_error"));
    assert!(refused.message().contains("NAME"), "{}", refused.message());
    for (wrong, named) in
        [(json!({ "NAME": 1 }), "NAME"), (json!({ "NAME": "x", "APPLES": "one" }), "APPLES")]
    {
        let refused = send(wrong);
        assert!(refused.status == 422 && refused.message().contains(named), "{}", refused.message());
    }
    assert_eq!(bench.mails().len(), 0);
    assert_eq!(send(json!({ "NAME": "x", "UNUSED": "y" })).status, 200);
}

#[tokio::test]
async fn the_email_overrides_the_template_and_missing_fields_are_refused() {
    // EMAIL-11, EMAIL-42, EMAIL-51, EMAIL-52, EMAIL-53, EMAIL-54, TPL-22, TPL-23, TPL-24
    let bench = Bench::start().await;
    let client = bench.client();
    published(&bench, welcome().reply_to("template@acme.test")).await;
    let email = Email::from_template("welcome", "ada@example.com").variable("NAME", "Ada");
    client.emails().send(&email).await.unwrap();
    let id = client
        .emails()
        .send(&email.from("Other <other@acme.test>").subject("Own").reply_to("own@acme.test"))
        .await
        .unwrap()
        .id;
    let [own, defaults] = <[_; 2]>::try_from(bench.mails()).unwrap();
    assert_eq!((defaults.from.as_str(), defaults.subject.as_str()), ("Acme <hi@acme.test>", "Welcome, Ada"));
    assert_eq!((own.from.as_str(), own.subject.as_str()), ("Other <other@acme.test>", "Own"));
    let reply_to = |mime: &[u8]| {
        MessageParser::default()
            .parse(mime)
            .unwrap()
            .reply_to()
            .unwrap()
            .first()
            .unwrap()
            .address()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        (reply_to(&defaults.mime).as_str(), reply_to(&own.mime).as_str()),
        ("template@acme.test", "own@acme.test")
    );
    assert_eq!(client.emails().get(&id).await.unwrap().reply_to.unwrap(), ["own@acme.test"]);

    published(&bench, NewTemplate::new("Bare", "<p>x</p>").alias("bare")).await;
    let bare = |more: Value| {
        let mut email = json!({ "to": "ada@example.com", "template": { "id": "bare" } });
        email.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        bench.post("/emails", &email)
    };
    for (more, missing) in [
        (json!({}), "from"),
        (json!({ "from": "a@acme.test" }), "subject"),
        (json!({ "subject": "s" }), "from"),
    ] {
        let refused = bare(more);
        assert_eq!(refused.status, 422);
        assert!(refused.message().contains(missing), "{}", refused.message());
    }
    assert_eq!(bare(json!({ "from": "a@acme.test", "subject": "s" })).status, 200);
}

#[tokio::test]
async fn the_text_is_derived_given_or_disabled() {
    // TPL-25, TPL-26
    let bench = Bench::start().await;
    let plain =
        |alias: &str| NewTemplate::new("n", "<p>from html</p>").alias(alias).from("a@acme.test").subject("s");
    published(&bench, plain("derived")).await;
    published(&bench, plain("given").text("own text")).await;
    published(&bench, plain("none").text("")).await;
    let mut texts = Vec::new();
    for alias in ["derived", "given", "none"] {
        bench.client().emails().send(&Email::from_template(alias, "ada@example.com")).await.unwrap();
        let mime = bench.mails()[0].mime.clone();
        let mail = MessageParser::default().parse(&mime).unwrap();
        texts.push(
            if mail.text_body_count() > 0
                && mail.parts.iter().any(|part| part.is_text() && !part.is_text_html())
            {
                mail.body_text(0).unwrap().trim().to_owned()
            } else {
                String::new()
            },
        );
    }
    assert_eq!(texts, ["from html", "own text", ""]);
}

#[tokio::test]
async fn contact_placeholders_are_filled_for_a_recipient_who_is_a_contact() {
    // TPL-16, TPL-39
    let bench = Bench::start().await;
    bench.client().contact_properties().create(NewContactProperty::string("city")).await.unwrap();
    let ada = NewContact::new("ada@example.com").first_name("Ada").property("city", "London");
    bench.client().contacts().create(&ada).await.unwrap();
    let html = "{{{FIRST_NAME|friend}}} of {{{contact.city|somewhere}}} <{{{EMAIL}}}>";
    published(&bench, NewTemplate::new("n", html).alias("n").from("a@acme.test").subject("s").text(html))
        .await;
    let client = bench.client();
    for (to, expected) in [
        ("ADA@example.com", "Ada of London <ADA@example.com>"),
        ("bob@example.com", "friend of somewhere <bob@example.com>"),
    ] {
        client.emails().send(&Email::from_template("n", to)).await.unwrap();
        assert_eq!(text_of(&bench), expected);
    }
    client.emails().send(&Email::from_template("n", ["ada@example.com", "bob@example.com"])).await.unwrap();
    assert_eq!(text_of(&bench), "friend of somewhere <>", "several recipients share one body");
}

#[tokio::test]
async fn a_template_excludes_bodies() {
    let bench = Bench::start().await;
    published(&bench, welcome()).await;
    for body in ["html", "text"] {
        let email = with(
            json!({ "text": null, body: "x", "template": { "id": "welcome", "variables": { "NAME": "x" } } }),
        );
        let refused = bench.post_wrong("/emails", &email);
        assert!(refused.status == 422 && refused.message().contains(body), "{}", refused.message());
    }
    assert_eq!(bench.mails().len(), 0);
}
