//! Looks up the route of a method and path, in a trie of path segments, so that the cost depends on the path, not on the size of the tables.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use matchit::Router;
use percent_encoding::percent_decode_str;
use uuid::Uuid;

use crate::route::{Access, Area, Route, Table};
use crate::wire::answers::route_not_found;
use crate::wire::{Problem, quote, segments};

/// All routes of a service.
pub struct Routes {
    tables: &'static [Table],
    paths: Router<Path>,
}

/// The routes of a path, in the order of its table.
struct Path {
    table: &'static Table,
    routes: Vec<&'static Route>,
}

/// The result of a lookup.
#[derive(Clone)]
pub struct RouteMatch {
    /// The table that the path belongs to, even if it is unknown.
    pub table: &'static Table,
    pub route: Result<&'static Route, NoRoute>,
}

/// The reason why there is no route.
#[derive(Clone)]
pub enum NoRoute {
    /// The path is known with other methods. An ID that can't be one, as in `POST /emails/report`, makes it unknown.
    WrongMethod(&'static [&'static Route]),
    UnknownPath,
}

impl Routes {
    /// # Panics
    /// If two patterns conflict, or a table is missing: the first one is for paths without a known prefix.
    pub fn new(tables: &'static [Table]) -> Self {
        let mut grouped = BTreeMap::<_, Path>::new();
        for table in tables {
            for route in table.routes {
                let path = grouped.entry(route.path).or_insert_with(|| Path { table, routes: Vec::new() });
                path.routes.push(route);
            }
        }
        let mut paths = Router::new();
        for (pattern, path) in grouped {
            paths.insert(pattern, path).expect("the patterns of the tables don't conflict");
        }
        assert!(!tables.is_empty(), "a service has a table");
        Self { tables, paths }
    }

    /// Looks up a route.
    pub fn find(&'static self, method: &Method, path: &str) -> RouteMatch {
        let Some(Path { table, routes }) = self.find_entry(path) else {
            return RouteMatch { table: self.table(path), route: Err(NoRoute::UnknownPath) };
        };
        let route = routes.iter().find(|route| route.method == *method);
        // Where no credential is needed, and on the page, HEAD is GET without a body.
        let head = || routes.iter().find(|route| *method == Method::HEAD && route.supports_head());
        let route = match route.or_else(head) {
            Some(route) => Ok(*route),
            None if routes.iter().any(|route| has_ids(route.path, path)) => Err(NoRoute::WrongMethod(routes)),
            None => Err(NoRoute::UnknownPath),
        };
        RouteMatch { table, route }
    }

    /// Lists the routes of an area.
    pub fn in_area(&self, area: Area) -> impl Iterator<Item = &'static Route> {
        self.tables.iter().filter(move |table| table.area == area).flat_map(|table| table.routes)
    }

    /// Lists the operations of the service and of its authorization server.
    pub fn operations(&self) -> impl Iterator<Item = &'static Route> {
        self.in_area(Area::Service).chain(self.in_area(Area::OAuth))
    }

    fn find_entry(&self, path: &str) -> Option<&Path> {
        // Some clients put several slashes before a path: Mailpit's, and those whose base URL ends with one.
        let begin = path.len() - path.trim_start_matches('/').len();
        self.find_path(&path[begin.saturating_sub(1)..])
    }

    fn find_path(&self, path: &str) -> Option<&Path> {
        let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
        let found = self.paths.at(path).ok()?;
        let fits = |(name, value)| match name {
            "folder" => ["messages", "received"].contains(&value),
            // `matchit` accepts an empty parameter inside a path (`/webhooks//events`).
            _ => !value.is_empty(),
        };
        found.params.iter().all(fits).then_some(found.value)
    }

    fn table(&self, path: &str) -> &'static Table {
        let begins = |table: &&Table| table.prefixes.iter().any(|prefix| path.starts_with(prefix));
        self.tables.iter().find(begins).unwrap_or(&self.tables[0])
    }
}

impl Route {
    fn supports_head(&self) -> bool {
        let is_page = self.path == "/_";
        self.method == Method::GET && (is_page || matches!(self.access, Access::Health | Access::Open))
    }
}

impl RouteMatch {
    /// The access that the request requires. For an unknown method or path, full access, except where all methods are links.
    pub fn access(&self) -> Access {
        match &self.route {
            Ok(route) => route.access,
            Err(NoRoute::WrongMethod(routes)) if routes.iter().all(|route| route.access == Access::Link) => {
                Access::Link
            }
            Err(_) => Access::Key(crate::model::credential::Scope::Full),
        }
    }
}

impl NoRoute {
    /// 404, or 405 with the methods of the path.
    pub fn response(&self, request: &Request<Bytes>, table: &Table) -> Response<Bytes> {
        let (method, path) = (request.method(), request.uri().path());
        let Self::WrongMethod(routes) = self else { return (table.errors)(route_not_found(method, path)) };
        let mut allowed: Vec<_> = routes.iter().map(|route| route.method.as_str()).collect();
        if routes.iter().any(|route| route.supports_head()) {
            allowed.push("HEAD");
        }
        let allowed = allowed.join(", ");
        let message = format!("{} does not take {method}; it takes {allowed}.", quote(path));
        let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message);
        let mut response = (table.errors)(problem);
        if let Ok(allowed) = HeaderValue::try_from(allowed) {
            response.headers_mut().insert(header::ALLOW, allowed);
        }
        response
    }
}

/// Whether every segment that must be an ID can be one; other segments, such as `{id_or_email}`, can be any text.
fn has_ids(pattern: &str, path: &str) -> bool {
    let is_id = |text: &str| Uuid::try_parse(&percent_decode_str(text).decode_utf8_lossy()).is_ok();
    segments(pattern).zip(segments(path)).all(|(name, given)| !name.ends_with("_id}") || is_id(given))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::routes::ROUTES;
    use crate::wire::pattern_matches;

    fn all() -> impl Iterator<Item = &'static Route> {
        ROUTES.tables.iter().flat_map(|table| table.routes)
    }

    fn found(path: &str) -> Option<&'static str> {
        ROUTES.find_entry(path).map(|found| found.routes[0].path)
    }

    /// The pattern that matches a path: if several match, the one whose first differing segment is literal.
    fn expected(path: &str) -> Option<&'static str> {
        let is_folder = |pattern: &&str| {
            !pattern.contains("{folder}")
                || segments(path).nth(1).is_some_and(|name| ["messages", "received"].contains(&name))
        };
        let matching =
            all().map(|route| route.path).filter(|pattern| pattern_matches(pattern, path)).filter(is_folder);
        matching.min_by_key(|pattern| {
            segments(pattern).map(|segment| segment.starts_with('{')).collect::<Vec<_>>()
        })
    }

    /// Segments of every pattern, parameter values, and invalid ones.
    fn segment() -> impl Strategy<Value = &'static str> {
        let literal: Vec<_> =
            all().flat_map(|route| segments(route.path)).chain(["", "x", "%2F", "{", "emails "]).collect();
        prop::sample::select(literal)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn lookup_finds_the_most_literal_matching_pattern(
            segments in prop::collection::vec(segment(), 1..7), end in prop::sample::select(vec!["", "/", "//"]),
        ) {
            let path = format!("/{}{end}", segments.join("/"));
            prop_assume!(!path.starts_with("//"));
            prop_assert_eq!(found(&path), expected(&path), "{}", path);
        }
    }

    #[test]
    fn empty_segments_match_no_parameter() {
        let mut parameters = 0;
        for route in all() {
            for parameter in segments(route.path).filter(|segment| segment.starts_with('{')) {
                parameters += 1;
                let path = route.path.replace(parameter, "");
                assert_eq!(found(&path), expected(&path), "{path}");
            }
        }
        assert!(parameters > 100, "{parameters}");
    }

    #[test]
    fn every_route_is_found_by_its_own_pattern_only() {
        for route in all() {
            let path = route.path.replace("{folder}", "messages");
            let at = ROUTES.find_entry(&path).unwrap_or_else(|| panic!("{path}"));
            assert!(at.routes.iter().any(|one| one.method == route.method), "{} {path}", route.method);
            assert_eq!(at.routes[0].path, route.path, "{path}");
        }
    }

    #[test]
    fn no_route_is_declared_twice() {
        let mut known = std::collections::BTreeSet::new();
        for route in all() {
            assert!(known.insert((route.method.as_str(), route.path)), "{} {}", route.method, route.path);
        }
    }
}
