//! `--attach PATH;name=…;type=…;cid=…`: parameters are split off from the right, so a path may contain `;`.

use std::ops::Range;

/// The parsed value of one `--attach`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttachSpec<'a> {
    /// The path, the URL, or `-`.
    pub(crate) target: &'a str,
    /// `;name=`: the name shown to the recipient.
    pub(crate) name: Option<Parameter<'a>>,
    /// `;type=`: the media type.
    pub(crate) content_type: Option<Parameter<'a>>,
    /// `;cid=`: the content ID for references in the HTML.
    pub(crate) content_id: Option<Parameter<'a>>,
}

/// A parameter's value and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameter<'a> {
    /// The text.
    pub(crate) value: &'a str,
    /// Its bytes.
    pub(crate) at: Range<usize>,
}

impl<'a> AttachSpec<'a> {
    /// Parses a value; anything that isn't a parameter belongs to the path.
    ///
    /// A media type may have parameters: in `a.txt;type=text/plain; charset=utf-8`, everything after `type=` is its value.
    pub(crate) fn read(text: &'a str) -> Self {
        let mut spec = Self { target: text, name: None, content_type: None, content_id: None };
        // The end of the value being examined.
        let mut end = text.len();
        let mut search = text.len();
        while let Some(at) = text[..search].rfind(';') {
            let part = &text[at + 1..end];
            let slot = match part.split_once('=') {
                Some(("name", _)) if search == end => &mut spec.name,
                Some(("cid", _)) if search == end => &mut spec.content_id,
                Some(("type", _)) => &mut spec.content_type,
                // Not a parameter, but possibly part of a media type further left.
                _ => {
                    search = at;
                    continue;
                }
            };
            if slot.is_some() {
                break;
            }
            let start = at + 1 + part.find('=').map_or(0, |equals| equals + 1);
            *slot = Some(Parameter { value: &text[start..end], at: start..end });
            spec.target = &text[..at];
            end = at;
            search = at;
        }
        spec
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (&str, Option<&str>, Option<&str>, Option<&str>) {
        let spec = AttachSpec::read(text);
        let value = |part: Option<Parameter<'_>>| part.map(|part| &text[part.at]);
        (spec.target, value(spec.name), value(spec.content_type), value(spec.content_id))
    }

    #[test]
    fn parameters_come_in_any_order() {
        assert_eq!(read("report.pdf"), ("report.pdf", None, None, None));
        assert_eq!(read("a.png;cid=logo"), ("a.png", None, None, Some("logo")));
        assert_eq!(
            read("a.png;cid=logo;type=image/png;name=x.png"),
            ("a.png", Some("x.png"), Some("image/png"), Some("logo"))
        );
        assert_eq!(read("-;name=report.csv"), ("-", Some("report.csv"), None, None));
    }

    #[test]
    fn a_path_may_contain_parameter_syntax() {
        assert_eq!(read("a;b.txt"), ("a;b.txt", None, None, None));
        assert_eq!(read("a;b.txt;name=c.txt"), ("a;b.txt", Some("c.txt"), None, None));
        assert_eq!(read("a;size=3"), ("a;size=3", None, None, None));
        assert_eq!(read("a;name=b;c"), ("a;name=b;c", None, None, None));
        assert_eq!(read("a;name=b;name=c"), ("a;name=b", Some("c"), None, None), "the rightmost one counts");
    }

    #[test]
    fn a_media_type_keeps_its_own_parameters() {
        assert_eq!(
            read("a.txt;type=text/plain; charset=utf-8"),
            ("a.txt", None, Some("text/plain; charset=utf-8"), None)
        );
        assert_eq!(
            read("a.txt;type=text/plain;charset=utf-8;name=b.txt"),
            ("a.txt", Some("b.txt"), Some("text/plain;charset=utf-8"), None)
        );
    }
}
