use std::time::Duration;

use futures_util::TryStreamExt as _;
use http::Method;
use idempost::{
    AutomationId, Error,
    automations::{
        Automation, AutomationEmail, AutomationPatch, AutomationRun, AutomationStatus, Connection,
        ContactUpdate, NewAutomation, Rule, RunStatus, RunValue, Step, StepStatus, WaitForEvent,
    },
    error::ApiErrorKind,
    events::{EventOccurrence, EventPatch, NewEvent, PayloadType},
    templates::{NewTemplate, TemplateVariable},
};
use idempost_conformance::bench::{Bench, EXPECT, Expect, Reply};
use serde_json::{Value, json};

const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";

fn ask(bench: &Bench, method: Method, path: &str, body: &Value) -> Reply {
    let request = bench.request(method, path).header("content-type", "application/json");
    bench.ask(request, body.to_string())
}

fn wrong(bench: &Bench, method: Method, path: &str, body: &Value) -> Reply {
    let request = bench.request(method, path).header("content-type", "application/json");
    bench.ask(request.header(EXPECT, Expect::Refusal.as_str()), body.to_string())
}

/// An enabled automation with a trigger and a sequence of steps.
fn chain(steps: impl IntoIterator<Item = Step>) -> NewAutomation {
    let mut automation = NewAutomation::new("Series")
        .status(AutomationStatus::Enabled)
        .step(Step::trigger("start", "user.created"));
    let mut last = "start".to_owned();
    for step in steps {
        automation = automation.connection(Connection::new(&last, &step.key));
        last.clone_from(&step.key);
        automation = automation.step(step);
    }
    automation
}

fn day(bench: &Bench) {
    bench.service().clock().advance(Duration::from_hours(24));
}

async fn created(bench: &Bench, automation: &NewAutomation) -> AutomationId {
    bench.client().automations().create(automation).await.unwrap().id
}

async fn signed_up(bench: &Bench, email: &str) {
    let event = EventOccurrence::for_email("user.created", email).field("plan", "pro").field("name", "Ada");
    let sent = bench.client().events().send(&event).await.unwrap();
    assert_eq!(sent.event.as_deref(), Some("user.created"));
}

/// Returns the latest run with its steps.
async fn newest(bench: &Bench, id: &AutomationId) -> AutomationRun {
    let runs = bench.client().automations().runs(id).page_size(1).await.unwrap();
    bench.client().automations().run(id, &runs.data[0].id).await.unwrap()
}

fn statuses(run: &AutomationRun) -> Vec<(&str, &str)> {
    run.steps
        .iter()
        .map(|step| (step.key.as_str(), step.status.as_ref().map_or("", StepStatus::as_str)))
        .collect()
}

fn failure<T: std::fmt::Debug>(refused: idempost::Result<T>) -> String {
    match refused.unwrap_err() {
        Error::Invalid(problems) => problems.to_string(),
        other => panic!("{other:?}"),
    }
}

fn refusal(error: Error) -> (u16, ApiErrorKind) {
    match error {
        Error::Api(error) => (error.status.as_u16(), error.kind()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_automation_is_created_read_updated_duplicated_and_deleted() {
    // GEN-07, AUTO-01, AUTO-02
    let bench = Bench::start().await;
    let client = bench.client();
    let series = chain([
        Step::send_email(
            "mail",
            AutomationEmail::new("welcome")
                .variable("NAME", RunValue::var("event.name"))
                .variable("VIP", true)
                .variable("ITEMS", json!(["a", 1]))
                .variable("PLAN", json!({"name": "pro"}))
                .variable("TOTAL", RunValue::var("wait_events.order.paid.total"))
                .topic("78261eea-8f8b-4381-83c6-79fa7120f1cf"),
        ),
        Step::delay("pause", "30 minutes"),
        Step::condition(
            "pro",
            Rule::all([Rule::equals("event.plan", "pro"), Rule::exists("contact.first_name")]),
        ),
    ]);
    let id = created(&bench, &series).await;
    let read = client.automations().get(&id).await.unwrap();
    assert_eq!((read.name.as_deref(), &read.status), (Some("Series"), &Some(AutomationStatus::Enabled)));
    assert_eq!(read.created_at, read.updated_at);
    let sent = serde_json::to_value(&series).unwrap();
    assert_eq!(serde_json::to_value(&read.steps).unwrap(), sent["steps"]);
    assert_eq!(serde_json::to_value(&read.connections).unwrap(), sent["connections"]);

    // A definition that was read can be sent again.
    let patch = AutomationPatch::new().name("Other").definition(read.steps, read.connections);
    assert_eq!(client.automations().update(&id, &patch).await.unwrap().id, id);
    let copy = client.automations().duplicate(&id).await.unwrap().id;
    let copied: Automation = client.automations().get(&copy).await.unwrap();
    assert_eq!(copied.status, Some(AutomationStatus::Disabled));
    assert_eq!(serde_json::to_value(&copied.steps).unwrap(), sent["steps"]);
    let gone = client.automations().delete(&id).await.unwrap();
    assert!(gone.deleted && gone.id == id);
    assert_eq!(client.automations().list().await.unwrap().data[0].id, copy);
    let lost = client.automations().get(&id).await.unwrap_err();
    assert_eq!(refusal(lost), (404, ApiErrorKind::NotFound));
}

#[tokio::test]
async fn the_list_is_filtered_by_status_and_paged() {
    // AUTO-03, AUTO-04, AUTO-05, AUTO-06
    let bench = Bench::start().await;
    let client = bench.client();
    let mut on = Vec::new();
    for n in 0..25 {
        let status = if n % 5 == 0 { AutomationStatus::Disabled } else { AutomationStatus::Enabled };
        let id = created(&bench, &chain([]).status(status.clone())).await;
        if status == AutomationStatus::Enabled {
            on.insert(0, id);
        }
    }
    let all = client.automations().list().await.unwrap();
    assert_eq!((all.data.len(), all.has_more), (20, true), "a mode A list");
    let enabled = || client.automations().list().status(AutomationStatus::Enabled);
    let page = enabled().page_size(7).after(&on[2]).await.unwrap();
    let ids: Vec<_> = page.data.iter().map(|one| one.id.clone()).collect();
    assert_eq!((ids.as_slice(), page.has_more), (&on[3..10], true));
    let query = bench.requests().last().unwrap().query.clone().unwrap();
    assert_eq!(query, format!("status=enabled&limit=7&after={}", on[2]));
    let walked: Vec<_> = enabled().page_size(3).stream().map_ok(|one| one.id).try_collect().await.unwrap();
    assert_eq!(walked, on);
    let off = client.automations().list().status(AutomationStatus::Disabled).await.unwrap();
    assert!(off.data.len() == 5 && off.data.iter().all(|one| one.status == Some(AutomationStatus::Disabled)));
    for word in ["foo", "", "Enabled", "enabled,disabled", "running"] {
        let refused = bench.get_wrong(&format!("/automations?status={word}"));
        assert_eq!((refused.status.as_u16(), refused.name()), (422, "validation_error"), "{word}");
        assert!(refused.message().contains("`enabled` or `disabled`"), "{}", refused.message());
    }
    for query in ["limit=0", "limit=101", "limit=x"] {
        assert_eq!(bench.get_wrong(&format!("/automations?{query}")).name(), "validation_error", "{query}");
    }
    let stranger = bench.get(&format!("/automations?after={UNKNOWN_ID}"));
    assert_eq!((stranger.status.as_u16(), stranger.name()), (422, "validation_error"));
}

#[tokio::test]
async fn an_automation_sends_a_series_of_emails_on_schedule() {
    let bench = Bench::start().await;
    let client = bench.client();
    let template = NewTemplate::new("Welcome", "<p>Hello {{{NAME}}}, your plan is {{{PLAN}}}</p>")
        .alias("welcome")
        .from("Acme <hi@acme.test>")
        .subject("Welcome, {{{NAME}}}")
        .variable(TemplateVariable::string("NAME").fallback("friend"))
        .variable(TemplateVariable::string("PLAN").fallback("free"));
    client.templates().create(&template).await.unwrap();
    client.templates().publish("welcome").await.unwrap();
    let email = |key: &str| {
        let email = AutomationEmail::new("welcome")
            .variable("NAME", RunValue::var("event.name"))
            .variable("PLAN", RunValue::var("event.missing"));
        Step::send_email(key, email)
    };
    let other =
        AutomationEmail::new("welcome").variable("PLAN", "pro").subject("Your tour").from("tour@acme.test");
    let series = chain([email("welcome"), Step::delay("a_day", "1 day")])
        .step(Step::condition("is_pro", Rule::equals("event.plan", "pro")))
        .step(Step::send_email("tour", other))
        .connection(Connection::new("a_day", "is_pro"))
        .connection(Connection::if_met("is_pro", "tour"));
    let id = created(&bench, &series).await;
    signed_up(&bench, "ada@example.com").await;

    let mail = bench.mails().remove(0);
    assert_eq!(
        (mail.subject.as_str(), mail.to.as_slice()),
        ("Welcome, Ada", &["ada@example.com".to_owned()][..])
    );
    assert!(mail.html.as_deref().unwrap().contains("Hello Ada, your plan is free"), "{mail:?}");
    let run = newest(&bench, &id).await;
    let email_id = run.steps[1].output.as_ref().unwrap()["email_id"].as_str().unwrap();
    assert_eq!(client.emails().get(email_id).await.unwrap().subject, "Welcome, Ada");
    assert_eq!(bench.mails().len(), 1, "the second email waits for the delay");
    day(&bench);
    let mails = bench.mails();
    assert_eq!(mails.len(), 2);
    let tour = mails.iter().find(|mail| mail.subject == "Your tour").unwrap();
    assert!(tour.from.contains("tour@acme.test"), "{tour:?}");
    assert!(tour.html.as_deref().unwrap().contains("Hello friend, your plan is pro"), "{tour:?}");
    assert_eq!(newest(&bench, &id).await.status, Some(RunStatus::Completed));
}

#[tokio::test]
async fn a_run_is_in_each_of_four_states() {
    // RUN-01, RUN-02, RUN-03
    let bench = Bench::start().await;
    let client = bench.client();
    let pause = created(&bench, &chain([Step::delay("pause", "1 day")])).await;
    let fails =
        created(&bench, &chain([Step::send_email("mail", "nothing"), Step::contact_delete("gone")])).await;
    signed_up(&bench, "ada@example.com").await;

    let running = newest(&bench, &pause).await;
    assert_eq!(running.status, Some(RunStatus::Running));
    assert_eq!(running.completed_at, None);
    assert!(running.started_at.is_some() && running.created_at.is_some());
    assert_eq!(statuses(&running), [("start", "completed"), ("pause", "waiting")]);
    let early = client.automations().wait_for_run(&pause, &running.id).max_wait(Duration::ZERO).await;
    assert!(matches!(early, Err(Error::WaitTimeout(_))), "{early:?}");

    let failed = newest(&bench, &fails).await;
    assert_eq!(failed.status, Some(RunStatus::Failed));
    assert!(failed.completed_at.is_some());
    assert_eq!(statuses(&failed), [("start", "completed"), ("mail", "failed"), ("gone", "skipped")]);
    let why = failed.steps[1].error.as_ref().unwrap()["message"].as_str().unwrap();
    assert!(why.contains("template"), "{why}");

    day(&bench);
    let completed = client.automations().wait_for_run(&pause, &running.id).await.unwrap();
    assert_eq!(completed.status, Some(RunStatus::Completed));
    assert!(completed.completed_at.is_some());

    signed_up(&bench, "ada@example.com").await;
    let stopped = client.automations().stop(&pause).await.unwrap();
    assert_eq!((&stopped.id, &stopped.status), (&pause, &Some(AutomationStatus::Disabled)));
    let cancelled = newest(&bench, &pause).await;
    assert_eq!(cancelled.status, Some(RunStatus::Cancelled));
    assert!(cancelled.completed_at.is_some());
    signed_up(&bench, "ada@example.com").await;
    assert_eq!(newest(&bench, &pause).await.id, cancelled.id, "a disabled automation starts no run");
}

#[tokio::test]
async fn runs_are_listed_by_automation_and_filtered_by_statuses() {
    // RUN-04, RUN-05, RUN-06, RUN-07, RUN-08
    let bench = Bench::start().await;
    let client = bench.client();
    let wait = WaitForEvent::new("paid").timeout("3 days");
    let id = created(&bench, &chain([Step::wait_for_event("wait", wait)])).await;
    let other = created(&bench, &chain([])).await;
    for n in 0..5 {
        signed_up(&bench, &format!("{n}@example.com")).await;
    }
    let paid = EventOccurrence::for_email("paid", "0@example.com");
    client.events().send(&paid).await.unwrap();
    let runs = |of: &AutomationId| client.automations().runs(of);
    let all: Vec<_> = runs(&id).stream().map_ok(|run| run.id).try_collect().await.unwrap();
    assert_eq!(all.len(), 5);
    let strangers = runs(&other).await.unwrap();
    assert!(strangers.data.len() == 5 && strangers.data.iter().all(|run| !all.contains(&run.id)));
    assert!(!runs(&id).await.unwrap().has_more, "a mode B list");

    let ids = |page: idempost::Page<idempost::automations::AutomationRunSummary>| -> Vec<_> {
        page.data.into_iter().map(|run| run.id).collect()
    };
    assert_eq!(ids(runs(&id).status([RunStatus::Completed]).await.unwrap()), all[4..]);
    let both = [RunStatus::Running, RunStatus::Completed, RunStatus::Running];
    assert_eq!(ids(runs(&id).status(both).page_size(2).after(&all[1]).await.unwrap()), all[2..4]);
    let query = bench.requests().last().unwrap().query.clone().unwrap();
    assert_eq!(query, format!("status=running%2Ccompleted&limit=2&after={}", all[1]));
    assert_eq!(ids(runs(&id).page_size(2).before(&all[4]).await.unwrap()), all[2..4]);
    assert_eq!(ids(runs(&id).status([RunStatus::Failed, RunStatus::Cancelled]).await.unwrap()), []);
    for word in ["foo", "", "running,", "running,bogus", "canceled", "Running"] {
        let refused = bench.get_wrong(&format!("/automations/{id}/runs?status={word}"));
        assert_eq!((refused.status.as_u16(), refused.name()), (422, "validation_error"), "{word}");
    }
    assert_eq!(bench.get_wrong(&format!("/automations/{id}/runs?limit=0")).name(), "validation_error");
    assert_eq!(bench.get_wrong(&format!("/automations/{id}/runs?limit=101")).name(), "validation_error");
    let stranger = bench.get(&format!("/automations/{id}/runs?after={}", strangers.data[0].id));
    assert_eq!((stranger.status.as_u16(), stranger.name()), (422, "validation_error"));
}

#[tokio::test]
async fn steps_update_the_contact_and_wait_for_its_events() {
    let bench = Bench::start().await;
    let client = bench.client();
    let segment = client.segments().create("Customers").await.unwrap().id;
    let wait = WaitForEvent::new("paid").timeout("3 days").filter_rule(Rule::at_least("event.amount", 10));
    let series = chain([Step::wait_for_event("wait", wait)])
        .step(Step::contact_update("note", ContactUpdate::new().first_name(RunValue::var("event.name"))))
        .step(Step::add_to_segment("add", &segment))
        .step(Step::contact_delete("gone"))
        .connection(Connection::on_event("wait", "note"))
        .connection(Connection::new("note", "add"))
        .connection(Connection::on_timeout("wait", "gone"));
    let id = created(&bench, &series).await;
    for email in ["ada@example.com", "bob@example.com"] {
        signed_up(&bench, email).await;
    }
    for amount in [9, 10] {
        let paid = EventOccurrence::for_email("paid", "ada@example.com").field("amount", amount);
        client.events().send(&paid).await.unwrap();
    }
    let ada = client.contacts().get("ada@example.com").await.unwrap();
    assert_eq!(client.segments().contacts(&segment).await.unwrap().data.len(), 1);
    assert_eq!(serde_json::to_value(&ada).unwrap()["first_name"], "Ada");
    for _ in 0..3 {
        day(&bench);
    }
    client.contacts().get("bob@example.com").await.unwrap_err();
    let bob = newest(&bench, &id).await;
    let went = [
        ("start", "completed"),
        ("wait", "completed"),
        ("note", "skipped"),
        ("add", "skipped"),
        ("gone", "completed"),
    ];
    assert_eq!(statuses(&bob), went);
}

#[tokio::test]
async fn client_and_service_refuse_an_invalid_definition() {
    let bench = Bench::start().await;
    let client = bench.client();
    let trigger = || Step::trigger("start", "user.created");
    let delay = |key: &str| Step::delay(key, "1 day");
    let with = |step: Step| NewAutomation::new("x").steps([trigger(), step]);
    let many = |count: usize| {
        NewAutomation::new("x").step(trigger()).steps((1..count).map(|n| delay(&n.to_string())))
    };
    for (automation, place, in_the_contract) in [
        (NewAutomation::new("").step(trigger()), "/name", false),
        (NewAutomation::new("x"), "/steps", false),
        (many(151), "/steps", false),
        (NewAutomation::new("x").step(delay("a")), "/steps", true),
        (with(trigger()), "/steps/1/key", true),
        (with(delay("")), "/steps/1/key", false),
        (with(Step::delay("a", "")), "/steps/1/config/duration", false),
        (with(Step::trigger("a", "")), "/steps/1/config/event_name", false),
        (with(Step::send_email("a", "")), "/steps/1/config/template/id", false),
        (with(Step::condition("a", Rule::exists("plan"))), "/steps/1/config/field", false),
        (with(Step::condition("a", Rule::greater_than("event.n", "5"))), "/steps/1/config/value", false),
        (with(Step::condition("a", Rule::any([]))), "/steps/1/config/rules", false),
        (
            with(Step::contact_update("a", ContactUpdate::new().unsubscribed("yes"))),
            "/steps/1/config/unsubscribed",
            false,
        ),
        (with(delay("a")).connection(Connection::new("start", "b")), "/connections/0/to", true),
        (with(delay("a")).connection(Connection::new("a", "start")), "/connections/0/to", true),
        (with(delay("a")).connection(Connection::on_timeout("start", "a")), "/connections/0/type", true),
        (with(delay("a")).connection(Connection::if_met("a", "a")), "/connections/0/type", true),
        (with(delay("a")).connection(Connection::new("a", "a")), "/connections/0: ", true),
        (
            with(delay("a")).connections([Connection::new("start", "a"), Connection::new("start", "a")]),
            "/connections/1",
            true,
        ),
    ] {
        let message = failure(client.automations().create(&automation).await);
        assert!(message.contains(place), "{place}: {message}");
        let body = serde_json::to_value(&automation).unwrap();
        let refused = if in_the_contract {
            bench.post("/automations", &body)
        } else {
            bench.post_wrong("/automations", &body)
        };
        assert_eq!(refused.status, 422, "{body}: {}", refused.message());
        assert!(
            ["validation_error", "missing_required_field"].contains(&refused.name()),
            "{}",
            refused.message()
        );
    }
    assert_eq!(client.automations().list().await.unwrap().data.len(), 0);
    client.automations().create(&many(150)).await.unwrap();
    // Only the service interprets durations in natural language.
    for duration in ["soon", "31 days", "-1 day", "0 seconds"] {
        let refused = client.automations().create(&with(Step::delay("a", duration))).await.unwrap_err();
        assert_eq!(refusal(refused), (422, ApiErrorKind::Validation), "{duration}");
    }
}

#[tokio::test]
async fn an_empty_update_is_refused() {
    let bench = Bench::start().await;
    let id = created(&bench, &chain([])).await;
    let path = format!("/automations/{id}");
    assert!(
        failure(bench.client().automations().update(&id, &AutomationPatch::new()).await).contains("must set")
    );
    let steps = serde_json::to_value(chain([])).unwrap()["steps"].clone();
    for body in [
        json!({}),
        json!({"status": "paused"}),
        json!({"name": ""}),
        json!({"steps": steps}),
        json!({"connections": []}),
        json!({"steps": [], "connections": []}),
    ] {
        let refused = wrong(&bench, Method::PATCH, &path, &body);
        assert_eq!(refused.status, 422, "{body}");
    }
    assert_eq!(ask(&bench, Method::PATCH, &path, &json!({"steps": steps, "connections": []})).status, 200);
}

#[tokio::test]
async fn custom_events_are_created_read_by_name_updated_and_deleted() {
    let bench = Bench::start().await;
    let client = bench.client();
    let event =
        NewEvent::new("user created/é?").field("plan", PayloadType::String).field("since", PayloadType::Date);
    let id = client.events().create(&event).await.unwrap().id;
    let read = client.events().get("user created/é?").await.unwrap();
    assert_eq!((&read.id, read.updated_at), (&id, None));
    assert_eq!(read.schema.unwrap()["since"], PayloadType::Date);
    let happened = |key: &str, value: &str| {
        EventOccurrence::for_email("user created/é?", "ada@example.com").field(key, value)
    };
    client.events().send(&happened("since", "2026-03-02")).await.unwrap();
    let refused = client.events().send(&happened("since", "yesterday")).await.unwrap_err();
    assert_eq!(refusal(refused), (422, ApiErrorKind::Validation));
    client.events().update(id.as_str(), &EventPatch::clear_schema()).await.unwrap();
    client.events().send(&happened("since", "yesterday")).await.unwrap();
    let listed = client.events().list().await.unwrap();
    assert!(listed.data[0].schema.is_none() && listed.data[0].updated_at.is_some());
    assert!(client.events().delete("user created/é?").await.unwrap().deleted);
    client.events().get(id.as_str()).await.unwrap_err();
    // Contract, client and service have the same rules for names.
    assert!(failure(client.events().create(&NewEvent::new("resend:x")).await).contains("/name"));
    for body in [
        json!({"name": "resend:x"}),
        json!({"name": ""}),
        json!({}),
        json!({"name": "x", "schema": {"a": "list"}}),
    ] {
        assert_eq!(bench.post_wrong("/events", &body).status, 422, "{body}");
    }
    for body in [
        json!({"event": "x"}),
        json!({"event": "x", "email": "a@b.test", "contact_id": UNKNOWN_ID}),
        json!({"email": "a@b.test"}),
        json!({"event": "x", "email": "a@b.test", "payload": "plan"}),
    ] {
        assert_eq!(bench.post_wrong("/events/send", &body).status, 422, "{body}");
    }
    assert_eq!(bench.post("/events/send", &json!({"event": "x", "contact_id": UNKNOWN_ID})).status, 422);
}
