//! Metrics: one line per total, or with dimensions one row per combination.

use idempost::{Call, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{mutation, trace};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::table::{Column, Kind};
use crate::settings::Form;

const TOTALS: &[Column] =
    &[Column::new("metric", "METRIC", Kind::Text), Column::new("value", "VALUE", Kind::Text)];

/// Fetches metrics and prints their rows in these columns, or the totals if there are none. `nothing` is the note if there are no rows.
pub(crate) async fn show<T: DeserializeOwned + Send + 'static>(
    columns: Option<&[Column]>,
    nothing: &str,
    context: &Context,
    make: impl Fn(&Client) -> Call<T>,
) -> Result<(), Fail> {
    let out = &context.out;
    // Fails on an unknown column before the request.
    let shown = out.columns(columns.unwrap_or(TOTALS))?;
    let client = context.client()?;
    let response = trace::execute(context, || make(&client)).await?;
    let document = mutation::document(&response);
    if out.form == Form::Json {
        return out.document(&document);
    }
    let rows: Vec<_> = if columns.is_some() {
        document["data"].as_array().cloned().unwrap_or_default()
    } else {
        let totals = document["totals"].as_object().into_iter().flatten();
        totals.map(|(metric, value)| json!({ "metric": metric, "value": value })).collect()
    };
    if rows.is_empty() && !out.is_json() {
        out.note(nothing);
    }
    out.list(&json!({ "object": "list", "data": Value::Array(rows), "has_more": false }), &shown)
}
