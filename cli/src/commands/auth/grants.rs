//! `auth grants`: the applications authorized for the account.

use crate::actions::mutation;
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::rows::operation::execute;
use crate::rows::prelude::*;

noun!(Grants, "Manage OAuth grants: the applications authorized for this account", VERBS);

const VERBS: &[Verb] = &[
    Verb::list(
        "List OAuth grants, newest first, including revoked ones",
        &TABLE,
        &Pages(Paging::Complete, |client, _| client.oauth_grants().list()),
    )
    .detail("Without --limit, the service returns all of them.")
    .examples(&["auth grants list --jq '.data[] | select(.revoked_at == null).client.name'"]),
    Verb::new(
        "revoke",
        "Revoke an OAuth grant; all its tokens become invalid",
        &Run(Arguments::DryRun, revoke),
    )
    .ids(&[Field::positional("id", "ID", "ID of the grant")])
    .unknown_outcome("the grant may have been revoked; check: idempost auth grants list")
    .examples(&["auth grants revoke 650e8400-e29b-41d4-a716-446655440001"]),
];

const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("client", "APPLICATION", Kind::Shrinks).pointer("/client/name"),
    Column::new("scopes", "SCOPES", Kind::Text),
    Column::new("revoked_at", "REVOKED", Kind::Time),
    Column::new("created_at", "CREATED", Kind::Time),
])
.nothing("no OAuth grants yet");

async fn revoke(given: Given<'_>, context: &Context) -> Result<(), Fail> {
    let (id, plan) = (given.ids[0], given.plan_change(context).await?);
    let question = format!("Revoke grant {id}? The application will lose access");
    mutation::confirm(plan.dry_run.is_some(), &question, context).await?;
    execute(&given, &plan, context, &|client| client.oauth_grants().revoke(id).response()).await
}
