//! Query parameters.

/// Joins the values of a query parameter with commas, as the service expects them.
pub(crate) fn join_values(values: impl IntoIterator<Item: ToString>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(",")
}
