//! Looks up the route of a method and path.

use http::Method;
use uuid::Uuid;

use crate::routes::{OpenRoute, Route, table};

/// The result of a route lookup.
pub(crate) enum Found {
    Route(&'static Route),
    /// The path is known with other methods. An ID that can't be one, as in `POST /emails/report`, makes it unknown.
    WrongMethod(Vec<&'static str>),
    Nothing,
}

/// Looks up a route that needs a credential.
pub(crate) fn find(method: &Method, path: &str) -> Found {
    let Some(routes) = table::at(path) else { return Found::Nothing };
    match routes.iter().find(|route| route.method == *method) {
        Some(route) => Found::Route(route),
        None if routes.iter().any(|route| fits(route.path, path)) => {
            Found::WrongMethod(routes.iter().map(|route| route.method.as_str()).collect())
        }
        None => Found::Nothing,
    }
}

/// Whether all segments that are IDs only can be IDs; the others, such as `{id_or_email}`, can be any text.
fn fits(pattern: &str, path: &str) -> bool {
    pattern
        .split('/')
        .zip(path.split('/'))
        .all(|(name, given)| !name.ends_with("_id}") || Uuid::try_parse(given).is_ok())
}

/// Looks up a route that needs no credential. `Err` contains the method that the path supports.
pub(crate) fn find_open(method: &Method, path: &str) -> Option<Result<&'static OpenRoute, &'static str>> {
    let route = table::open_at(path)?.first()?;
    let is_head = *method == Method::HEAD && route.method == Method::GET && path.starts_with("/.well-known/");
    Some(if route.method == *method || is_head { Ok(route) } else { Err(route.method.as_str()) })
}

/// Whether the path belongs to a route that needs no credential.
pub(crate) fn is_open(path: &str) -> bool {
    table::open_at(path).is_some()
}
