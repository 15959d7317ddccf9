//! What is wrong with the shape of a document makes some rules fail too. Those would only repeat it.

use posthaste::Problem;

/// The problems of the rules that don't follow from those of the shape. `at` is the place of the email: `""`, or `/3` in a batch.
pub(crate) fn independent(
    at: &str,
    shape: &[Problem],
    rules: impl IntoIterator<Item = Problem>,
) -> Vec<Problem> {
    let inner = |problem: &Problem| problem.path.strip_prefix(at).map(str::to_owned);
    let shape: Vec<String> = shape.iter().filter_map(inner).collect();
    let unreadable = shape.iter().any(String::is_empty);
    let body_is_told =
        shape.iter().any(|path| ["/html", "/text", "/template"].iter().any(|field| path.starts_with(field)));
    let told = |problem: &Problem| {
        let Some(path) = inner(problem) else { return false };
        let lacks_body = path.is_empty() && problem.code == "required";
        unreadable || (lacks_body && body_is_told) || shape.iter().any(|shape| within(&path, shape))
    };
    rules.into_iter().filter(|problem| !told(problem)).collect()
}

/// Whether `path` is the place that `shape` is about, or inside of it.
fn within(path: &str, shape: &str) -> bool {
    path.strip_prefix(shape).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(paths: &[(&str, &'static str)]) -> Vec<Problem> {
        paths.iter().map(|(path, code)| Problem::new(*path, code, "rule")).collect()
    }

    fn left(at: &str, shape: &[(&str, &'static str)], rules: &[(&str, &'static str)]) -> Vec<String> {
        independent(at, &problems(shape), problems(rules)).into_iter().map(|problem| problem.path).collect()
    }

    #[test]
    fn a_rule_that_only_repeats_the_shape_is_left_out() {
        let rules = [("/from", "required"), ("/to/0", "address"), ("", "required")];
        assert_eq!(left("", &[("/from", "type")], &rules), ["/to/0", ""]);
        assert_eq!(left("", &[("/html", "type")], &rules), ["/from", "/to/0"]);
        assert_eq!(left("", &[("/subjct", "unknown")], &rules), ["/from", "/to/0", ""]);
        assert!(left("", &[("", "type")], &rules).is_empty(), "what is no object has no fields");
    }

    #[test]
    fn what_is_inside_of_an_unreadable_item_is_left_out_and_its_neighbours_are_not() {
        let rules = [("/tags/1/name", "empty"), ("/tags/10/name", "charset"), ("/tags/2/name", "charset")];
        assert_eq!(left("", &[("/tags/1", "type")], &rules), ["/tags/10/name", "/tags/2/name"]);
    }

    #[test]
    fn an_email_of_a_batch_is_judged_alone() {
        let rules = [("/3/from", "required"), ("/30/from", "required"), ("/3", "required")];
        assert_eq!(left("/3", &[("/3/text", "type")], &rules[..1]), ["/3/from"]);
        assert_eq!(left("/3", &[("/3/text", "type")], &rules[2..]), [""; 0]);
    }
}
