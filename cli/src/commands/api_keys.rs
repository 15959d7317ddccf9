//! `api-keys`: credentials for applications.

use idempost::{ApiKeyId, api_keys::NewApiKey};
use serde_json::Value;

use crate::actions::mutation::{self, document};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::{report, secret};
use crate::rows::prelude::*;

noun!(ApiKeys, "Manage API keys", VERBS);

const VERBS: &[Verb] = &[
    Verb::new("create", "Create an API key and print it", &with(create))
        .detail("The key is shown only once: on standard output, or in the file named by --token-file. Its ID is printed on standard error.")
        .fields(&[
            Field::positional_or_flag("name", "NAME", "Name of the key"),
            Field::new("permission", "PERMISSION", "full_access, or sending_access to permit only sending [default: full_access]"),
            Field::new("domain_id", "ID", "With sending_access, the only domain the key may send from"),
            Field::new("token_file", "PATH", "New file for the key, readable only by its owner").local().manual(),
        ])
        .hint("api-keys create Newsletter --permission sending_access")
        .unknown_outcome(
            "a key may have been created, but its value is lost; find and delete it: idempost api-keys list",
        )
        .after_help("Examples:\n  \
            idempost api-keys create Newsletter --permission sending_access --token-file newsletter.key\n  \
            IDEMPOST_API_KEY=$(idempost api-keys create CI)"),
    Verb::list(
        "List API keys, newest first, without the keys themselves",
        &TABLE,
        &Pages(Paging::Complete, |client, _| client.api_keys().list()),
    )
    .detail("Without --limit, the service returns all of them.")
    .examples(&["api-keys list --jq '.data[] | select(.last_used_at == null).name'"]),
    Verb::new(
        "rename",
        "Rename an API key",
        &Name(|client, ids, name| client.api_keys().rename(ids[0], name)),
    )
    .alias("update")
    .ids(&[Field::positional("id", "ID", "ID of the key")])
    .fields(&[Field::positional_or_flag("name", "NAME", "Name of the resource")])
    .fill(|given, body| {
        if let Some(name) = given.text("name").filter(|name| !name.is_empty() && name.trim().is_empty()) {
            body.flags.reject("empty", "a name must not be empty", "NAME", name);
        }
    })
    .unknown_outcome("the key may have been renamed; check: idempost api-keys list")
    .examples(&["api-keys rename dacf4072-4119-4d88-932f-6202748ac7c8 Staging"]),
    Verb::delete(
        "Delete an API key; requests that use it then fail",
        "the key may have been deleted; check: idempost api-keys list",
        &Delete(|client, ids| client.api_keys().delete(ids[0])),
    )
    .ids(ID)
    .examples(&["api-keys delete dacf4072-4119-4d88-932f-6202748ac7c8"]),
];

const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("name", "NAME", Kind::Shrinks),
    Column::new("last_used_at", "LAST USED", Kind::Time),
    Column::new("created_at", "CREATED", Kind::Time),
])
.nothing("no API keys yet");

async fn create(key: NewApiKey, plan: Plan, given: Given<'_>, context: &Context) -> Result<(), Fail> {
    let path = given.text("token_file");
    let file = path.filter(|_| plan.dry_run.is_none()).map(secret::create_file).transpose()?;
    let unknown = given.unknown_outcome();
    let done = mutation::execute(plan.dry_run, &unknown, context, |client| client.api_keys().create(&key));
    let response = match done.await {
        Ok(Some(response)) => response,
        Ok(None) => return Ok(()),
        Err(fail) => return Err(mutation::keep_secret(fail, file, context)),
    };
    let (id, token) = (response.value.id.as_str(), response.value.token.expose());
    let mut shown = document(&response);
    let Some((file, path)) = file.zip(path) else {
        if let Err(fail) = context.out.result(&[token.to_owned()], &shown) {
            return Err(revoke(response.value.id, fail, context).await);
        }
        context.in_flight.finish();
        context.out.note(&format!("id {id} · this key won't be shown again"));
        return Ok(());
    };
    if let Err(fail) = file.write(token) {
        return Err(revoke(response.value.id, fail, context).await);
    }
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("token".to_owned(), Value::Null);
    }
    mutation::report(context, || context.out.result(&[id.to_owned()], &shown))?;
    context.out.note(&format!("the key is in {path}; it won't be shown again"));
    Ok(())
}

/// Revokes a key that couldn't be shown, since its value is lost.
async fn revoke(id: ApiKeyId, cause: Fail, context: &Context) -> Fail {
    let cause = match cause {
        Fail::BrokenPipe => "standard output was closed".to_owned(),
        cause => report::message(&cause),
    };
    let revoked = match context.client() {
        Ok(client) => client.api_keys().delete(id.as_str()).await.map(|_| ()).map_err(Fail::from),
        Err(fail) => Err(fail),
    };
    context.in_flight.finish();
    match revoked {
        Ok(()) => {
            Fail::error(format!("the new API key {id} was revoked, because it couldn't be shown: {cause}"))
        }
        Err(fail) => Fail::error(format!(
            "the new API key {id} couldn't be shown ({cause}), and revoking it failed: {}",
            report::message(&fail)
        ))
        .hint(format!("it is still valid; delete it: idempost api-keys delete {id}")),
    }
}
