//! `templates`: stored email content with variables.

mod variable;

use idempost::templates::{NewTemplate, TemplatePatch};
use idempost::types::fields;
use serde_json::Value;

use crate::actions::trace;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::rows::prelude::*;

noun!(Templates, "Manage templates, stored email content with variables", VERBS);

const VERBS: &[Verb] = &[
    Verb::new(
        "create",
        "Create a template and print its ID",
        &Create(|client, _, template: &NewTemplate| client.templates().create(template)),
    )
    .detail("The template is a draft; it can be sent after publishing with --publish or `templates publish`.")
    .fields(&[
        Field::positional_or_flag("name", "NAME", "Internal name"),
        ALIAS, FROM, SUBJECT, REPLY_TO, BODIES, VARIABLES,
        PUBLISH.help("Publish it immediately"),
    ])
    .fill(variable::fill_variables)
    .hint("templates create Welcome --html '<p>Hello {{{NAME}}}</p>' --variable NAME")
    .unknown_outcome("the template may have been created; check: idempost templates list --limit 1")
    .on_success(|given, _, template, context| Box::pin(report_creation(given, template, context)))
    .examples(&[
        "templates create Welcome --alias welcome --subject 'Welcome, {{{NAME}}}' \\\n      --html '<p>Hello {{{NAME}}}</p>' --variable NAME=friend --publish",
        "templates create Invoice --html-file invoice.html --variable TOTAL:number",
    ]),
    Verb::list("List templates, newest first", &TABLE, &Pages(Paging::Usual, |client, _| client.templates().list()))
        .detail("Without --limit, the service returns 20.")
        .examples(&["templates list --all", "templates list --jq '.data[] | select(.status == \"draft\").name'"]),
    Verb::new("get", "Show one template with its latest content", &Show(|client, ids| client.templates().get(ids[0])))
        .ids(TEMPLATE)
        .web(Page { dashboard: "templates/{}", inbox: Some("templates") })
        .examples(&["templates get welcome --jq .html > welcome.html"]),
    Verb::new(
        "update",
        "Change a template",
        &Update(|client, ids, patch: &TemplatePatch| client.templates().update(ids[0], patch)),
    )
    .detail("Fields not set by a flag stay unchanged. A published template is sent as published until the change is published too; its name and alias change immediately. --variable replaces all existing variables.")
    .ids(TEMPLATE)
    .fields(&[
        Field::new("name", "TEXT", "Internal name"),
        ALIAS, FROM, SUBJECT, REPLY_TO, BODIES, VARIABLES,
    ])
    .clear_flag("Clear a field: alias, from, subject, reply-to, text or variable; repeatable")
    .options(&[PUBLISH.help("Publish the change immediately")])
    .fill(variable::fill_variables)
    .hint("templates update welcome --subject '…'")
    .unknown_outcome("the template may have been changed; check: idempost templates get {alias|0}")
    .on_success(|given, _, template, context| Box::pin(report_change(given, template, context)))
    .examples(&[
        "templates update welcome --subject 'Hello, {{{NAME}}}' --publish",
        "templates update welcome --html-file welcome.html --clear text",
    ]),
    Verb::new("publish", "Publish a template's latest content", &Act(|client, ids| client.templates().publish(ids[0])))
        .ids(TEMPLATE)
        .unknown_outcome("the template may have been published; check: idempost templates get {0}")
        .examples(&["templates publish welcome"]),
    Verb::new(
        "duplicate",
        "Copy a template into a new draft and print its ID",
        &Act(|client, ids| client.templates().duplicate(ids[0])),
    )
    .ids(TEMPLATE)
    .unknown_outcome("the copy may have been created; check: idempost templates list --limit 1")
    .examples(&["templates duplicate welcome"]),
    Verb::delete(
        "Delete a template with all its versions",
        "the template may have been deleted; check: idempost templates get {0}",
        &Delete(|client, ids| client.templates().delete(ids[0])),
    )
    .ids(TEMPLATE)
    .examples(&["templates delete welcome"]),
];

const TEMPLATE: &[Field] = &[Field::positional("id", "ID|ALIAS", "ID or alias of the template")];
const ALIAS: Field =
    Field::new("alias", "NAME", "Alias usable in place of the ID when sending, changing or publishing");
const FROM: Field = Field::new("from", "ADDRESS", "Default sender: `you@x.test` or `You <you@x.test>`");
const SUBJECT: Field =
    Field::new("subject", "TEXT", "Default subject; may contain placeholders, like the body");
const REPLY_TO: Field = Field::new("reply_to", "ADDRESS", "Default reply-to address; repeatable");
const VARIABLES: Field = Field::new(
    "variables",
    "VARIABLE",
    "Variable: NAME, NAME=FALLBACK, NAME:number or NAME:number=7; repeatable, at most 50",
)
.detail(
    "Used as {{{NAME}}} in HTML, text and subject; these can also contain the placeholders of `broadcasts create`, such as \
    {{{contact.city|your town}}} and {{{SERVICE_UNSUBSCRIBE_URL}}}. Without a fallback, every send must set it. A name can have up to 50 characters of A-Z a-z 0-9 _; \
    capitals are recommended.",
)
.flag("variable")
.list(&fields::Kind::Json)
.clear_to_empty()
.manual();
const PUBLISH: Field = Field::new("publish", "", "").switch().manual();

/// Columns of a list of templates.
const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("name", "NAME", Kind::Shrinks),
    Column::new("alias", "ALIAS", Kind::Text),
    Column::new("status", "STATUS", Kind::State),
    Column::new("updated_at", "UPDATED", Kind::Time),
    Column::new("published_at", "PUBLISHED", Kind::Time).optional(),
    Column::new("created_at", "CREATED", Kind::Time).optional(),
])
.nothing("no templates yet");

async fn report_creation(given: &Given<'_>, template: &Value, context: &Context) -> Result<(), Fail> {
    let id = template["id"].as_str().unwrap_or_default();
    if given.is_set("publish") {
        return publish_now(id, context).await;
    }
    context.out.note(&format!("draft created · publish it: idempost templates publish {id}"));
    Ok(())
}

async fn report_change(given: &Given<'_>, template: &Value, context: &Context) -> Result<(), Fail> {
    // By ID: the alias may just have changed.
    let id = template["id"].as_str().unwrap_or_default();
    if given.is_set("publish") { publish_now(id, context).await } else { Ok(()) }
}

/// Publishes a stored template. If this fails, the template stays stored.
async fn publish_now(id: &str, context: &Context) -> Result<(), Fail> {
    let client = context.client()?;
    match trace::execute(context, || client.templates().publish(id)).await {
        Ok(_) => {
            context.out.note("published");
            Ok(())
        }
        Err(error) => {
            context.out.warn(&format!(
                "the template is stored but not published; retry: idempost templates publish {id}"
            ));
            Err(error.into())
        }
    }
}
