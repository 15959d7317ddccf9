//! The route tables as tries of path segments, so that the cost of a lookup depends on the path, not on the size of the tables.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use matchit::Router;

use crate::routes::{OPEN_ROUTES, OpenRoute, ROUTES, Route};

/// The routes of every path, in the order of the table. Literal segments take precedence over parameters.
static PATHS: LazyLock<Router<Vec<&'static Route>>> =
    LazyLock::new(|| by_path(ROUTES.iter().map(|route| (route.path, route))));

/// The same for routes that need no credential.
static OPEN_PATHS: LazyLock<Router<Vec<&'static OpenRoute>>> =
    LazyLock::new(|| by_path(OPEN_ROUTES.iter().map(|route| (route.path, route))));

/// The routes of a path. `None` if no pattern matches.
pub(super) fn at(path: &str) -> Option<&'static [&'static Route]> {
    look(&PATHS, path)
}

/// The routes of a path that need no credential. `None` if no pattern matches.
pub(super) fn open_at(path: &str) -> Option<&'static [&'static OpenRoute]> {
    look(&OPEN_PATHS, path)
}

fn look<R>(paths: &'static Router<Vec<&'static R>>, path: &str) -> Option<&'static [&'static R]> {
    // A trailing slash is accepted.
    let path = path.strip_suffix('/').unwrap_or(path);
    let found = paths.at(path).ok()?;
    // `matchit` accepts an empty parameter inside a path (`/webhooks//events`).
    found.params.iter().all(|(_, value)| !value.is_empty()).then_some(&**found.value)
}

fn by_path<R>(routes: impl Iterator<Item = (&'static str, &'static R)>) -> Router<Vec<&'static R>> {
    let mut grouped = BTreeMap::<_, Vec<_>>::new();
    for (path, route) in routes {
        grouped.entry(path).or_default().push(route);
    }
    let mut paths = Router::new();
    for (path, routes) in grouped {
        paths.insert(path, routes).expect("the patterns of the table don't conflict");
    }
    paths
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::pattern::pattern_matches;

    /// Segments of every pattern, parameter values, and invalid ones.
    fn segment() -> impl Strategy<Value = &'static str> {
        let literal: Vec<_> = ROUTES
            .iter()
            .flat_map(|route| route.path.split('/').skip(1))
            .chain(["", "x", "%2F", "{", "emails "])
            .collect();
        prop::sample::select(literal)
    }

    /// The first pattern of the table that matches a path.
    fn first(path: &str) -> Option<&'static str> {
        ROUTES.iter().map(|route| route.path).find(|pattern| pattern_matches(pattern, path))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn lookup_finds_the_first_matching_pattern(
            segments in prop::collection::vec(segment(), 0..7), end in prop::sample::select(vec!["", "/", "//"]),
        ) {
            let path = format!("/{}{end}", segments.join("/"));
            prop_assert_eq!(at(&path).map(|routes| routes[0].path), first(&path), "{}", path);
        }
    }

    #[test]
    fn empty_segments_match_no_parameter() {
        for route in ROUTES {
            for parameter in route.path.split('/').filter(|segment| segment.starts_with('{')) {
                let path = route.path.replace(parameter, "");
                assert_eq!(at(&path).map(|routes| routes[0].path), first(&path), "{path}");
            }
        }
    }

    #[test]
    fn every_route_is_found_by_its_own_pattern_only() {
        for route in ROUTES {
            let found = at(route.path).unwrap_or_default();
            assert!(found.iter().any(|one| one.method == route.method), "{} {}", route.method, route.path);
            assert!(found.iter().all(|one| one.path == route.path), "{}", route.path);
        }
        for route in OPEN_ROUTES {
            assert!(open_at(route.path).is_some_and(|found| found[0].path == route.path), "{}", route.path);
        }
    }
}
