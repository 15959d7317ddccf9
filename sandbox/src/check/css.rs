//! Finds the at-rules, selectors, declarations and comments of a style sheet.
//!
//! This is a scanner, not a parser: it splits a style sheet into statements according to CSS Syntax 3 (strings, comments, brackets), in one pass and
//! without recursion. The established parser, `cssparser`, has a license that `deny.toml` doesn't allow.

/// A part of a style sheet, without its comments.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item<'a> {
    /// The name in lower case, and the text before the block or the semicolon.
    AtRule(&'a str, &'a str),
    Selector(&'a str),
    /// A style rule nested in another rule.
    Nested,
    /// The property in lower case (custom properties unchanged), and the value.
    Declaration(&'a str, &'a str),
    Comment,
}

/// The content of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Rules,
    Declarations,
    Keyframes,
}

/// Calls `on` with every item of a style sheet and its offset.
pub(super) fn scan_stylesheet(css: &str, on: &mut impl FnMut(usize, Item<'_>)) {
    scan(css, Block::Rules, on);
}

/// Calls `on` with every item of a `style` attribute.
pub(super) fn scan_declarations(css: &str, on: &mut impl FnMut(usize, Item<'_>)) {
    scan(css, Block::Declarations, on);
}

fn scan(css: &str, outermost: Block, on: &mut impl FnMut(usize, Item<'_>)) {
    let bytes = css.as_bytes();
    let mut blocks = vec![outermost];
    let mut statement = Statement::default();
    // The open brackets inside a statement.
    let mut open = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &css[at..];
        let block = blocks.last().copied().unwrap_or(outermost);
        // The length of the token, and whether it is a part of the statement.
        let (length, is_part) = match bytes[at] {
            b'/' if rest.starts_with("/*") => {
                on(at, Item::Comment);
                statement.push(at, " ");
                (rest[2..].find("*/").map_or(rest.len(), |end| end + 4), false)
            }
            b'<' if block == Block::Rules && rest.starts_with("<!--") => (4, false),
            b'-' if block == Block::Rules && rest.starts_with("-->") => (3, false),
            b';' if open == 0 => {
                statement.end_statement(block, on);
                (1, false)
            }
            b'{' if open == 0 => {
                blocks.push(statement.open_block(block, on));
                (1, false)
            }
            // Also closes open brackets: browsers would ignore the rest, but its findings matter.
            b'}' => {
                open = 0;
                statement.end_statement(block, on);
                if blocks.len() > 1 {
                    blocks.pop();
                }
                (1, false)
            }
            quote @ (b'"' | b'\'') => (string_len(rest.as_bytes(), quote), true),
            b'\\' => (1 + rest[1..].chars().next().map_or(0, char::len_utf8), true),
            // The content of `url(…)` isn't CSS; it may contain semicolons and quotes.
            b'(' if open == 0 && statement.ends_with_url() && !is_quoted_url(&rest[1..]) => {
                (rest.find(')').map_or(rest.len(), |end| end + 1), true)
            }
            b'(' | b'[' => {
                open += 1;
                (1, true)
            }
            b')' | b']' => {
                open = open.saturating_sub(1);
                (1, true)
            }
            _ => {
                let length = rest.bytes().take_while(|byte| !SPECIAL.contains(byte)).count().max(1);
                let end = (length..=rest.len()).find(|end| rest.is_char_boundary(*end));
                (end.unwrap_or(rest.len()), true)
            }
        };
        if is_part {
            statement.push(at, &rest[..length]);
        }
        at += length;
    }
    statement.end_statement(blocks.last().copied().unwrap_or(outermost), on);
}

const SPECIAL: &[u8] = b"/\"'\\<-([)];{}";

/// The current statement's text, and its start.
#[derive(Default)]
struct Statement {
    text: String,
    start: usize,
}

impl Statement {
    fn push(&mut self, at: usize, text: &str) {
        if !self.text.is_empty() {
            self.text.push_str(text);
            return;
        }
        let trimmed = text.trim_start();
        self.start = at + text.len() - trimmed.len();
        self.text.push_str(trimmed);
    }

    fn ends_with_url(&self) -> bool {
        let end = self.text.len().saturating_sub(3);
        self.text.get(end..).is_some_and(|end| end.eq_ignore_ascii_case("url"))
    }

    /// Ends a declaration, or an at-rule without a block.
    fn end_statement(&mut self, block: Block, on: &mut impl FnMut(usize, Item<'_>)) {
        let text = self.text.trim();
        if text.starts_with('@') {
            at_rule(self.start, text, on);
        } else if block == Block::Declarations
            && let Some((property, value)) = text.split_once(':')
        {
            let property = property.trim();
            let is_name =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || !byte.is_ascii();
            if !property.is_empty() && property.bytes().all(is_name) {
                let lower = property.to_ascii_lowercase();
                let property = if property.starts_with("--") { property } else { &lower };
                on(self.start, Item::Declaration(property, value.trim()));
            }
        }
        self.text.clear();
    }

    /// Processes the text before a block. Returns the kind of block.
    fn open_block(&mut self, outer: Block, on: &mut impl FnMut(usize, Item<'_>)) -> Block {
        let text = self.text.trim();
        let block = if text.starts_with('@') {
            match &*at_rule(self.start, text, on) {
                "media" | "supports" | "layer" | "container" | "document" | "scope" | "starting-style" => {
                    outer
                }
                name if name.ends_with("keyframes") => Block::Keyframes,
                _ => Block::Declarations,
            }
        } else {
            if outer == Block::Declarations {
                on(self.start, Item::Nested);
            }
            if outer != Block::Keyframes && !text.is_empty() {
                on(self.start, Item::Selector(text));
            }
            Block::Declarations
        };
        self.text.clear();
        block
    }
}

/// Reports an at-rule, and returns its name.
fn at_rule(start: usize, text: &str, on: &mut impl FnMut(usize, Item<'_>)) -> String {
    let rest = &text[1..];
    let end = rest.find(|char: char| !char.is_ascii_alphanumeric() && char != '-').unwrap_or(rest.len());
    let name = rest[..end].to_ascii_lowercase();
    on(start, Item::AtRule(&name, rest[end..].trim()));
    name
}

/// Returns the length of a string including its quotes. A line end terminates a string without a closing quote.
fn string_len(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 1,
            b'\n' => return at,
            byte if byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn is_quoted_url(rest: &str) -> bool {
    rest.trim_start_matches([' ', '\t', '\n']).starts_with(['"', '\''])
}

/// A token of a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Function(&'a str),
    Word(&'a str),
    Unit(&'a str),
}

/// Calls `on` with the functions, words and units of a value, in source order.
pub(super) fn scan_tokens<'a>(value: &'a str, on: &mut impl FnMut(Token<'a>)) {
    let bytes = value.as_bytes();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || !byte.is_ascii();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let word = rest.iter().take_while(|byte| is_name(byte)).count();
        let signed = usize::from(matches!(rest[0], b'-' | b'+' | b'.'));
        let number = rest[signed..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        at += match rest[0] {
            quote @ (b'"' | b'\'') => string_len(rest, quote),
            b'#' => 1 + rest[1..].iter().take_while(|byte| is_name(byte)).count(),
            _ if number > 0 => {
                let start = signed + number;
                let unit = rest[start..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                let unit = if unit == 0 { usize::from(rest.get(start) == Some(&b'%')) } else { unit };
                if unit > 0
                    && let Some(name) = value.get(at + start..at + start + unit)
                {
                    on(Token::Unit(name));
                }
                start + unit
            }
            _ if word > 0 => {
                let Some(name) = value.get(at..at + word) else { return };
                if rest.get(word) == Some(&b'(') {
                    on(Token::Function(name));
                    if name.eq_ignore_ascii_case("url")
                        && !rest[word + 1..].trim_ascii_start().starts_with(b"\"")
                    {
                        rest.iter().position(|byte| *byte == b')').map_or(rest.len(), |end| end + 1)
                    } else {
                        word + 1
                    }
                } else {
                    // A minus sign isn't a word.
                    if name != "-" {
                        on(Token::Word(name));
                    }
                    word
                }
            }
            _ => 1,
        };
    }
}

/// A part of a selector.
pub(super) enum Simple<'a> {
    /// A simple selector or a combinator, named as on caniemail.com.
    Selector(&'static str),
    PseudoClass(&'a str),
    PseudoElement(&'a str),
}

/// Calls `on` with the parts of a selector list, including those inside `:not(…)` and similar, but not the arguments of `:nth-child(…)` and similar.
pub(super) fn scan_selectors<'a>(text: &'a str, on: &mut impl FnMut(Simple<'a>)) {
    let bytes = text.as_bytes();
    let is_name =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'\\') || !byte.is_ascii();
    let name = |from: usize| bytes[from..].iter().take_while(|byte| is_name(byte)).count();
    // The length up to and including this byte.
    let until = |from: usize, end: u8| {
        let rest = &bytes[from..];
        rest.iter().position(|byte| *byte == end).map_or(rest.len(), |end| end + 1)
    };
    let (mut at, mut classes, mut compound, mut space) = (0, 0, false, false);
    while at < bytes.len() {
        let byte = bytes[at];
        if byte.is_ascii_whitespace() {
            space = compound;
            at += 1;
            continue;
        }
        if matches!(byte, b'>' | b'+' | b'~' | b',' | b')') {
            match byte {
                b'>' => on(Simple::Selector("child")),
                b'+' => on(Simple::Selector("adjacent-sibling")),
                b'~' => on(Simple::Selector("general-sibling")),
                b',' => on(Simple::Selector("grouping")),
                _ => {}
            }
            (classes, compound, space) = (0, byte == b')', false);
            at += 1;
            continue;
        }
        if std::mem::take(&mut space) {
            on(Simple::Selector("descendant"));
            classes = 0;
        }
        compound = true;
        at += match byte {
            b'.' => {
                classes += 1;
                on(if classes == 2 { Simple::Selector("chaining") } else { Simple::Selector("class") });
                1 + name(at + 1)
            }
            b'#' => {
                on(Simple::Selector("id"));
                1 + name(at + 1)
            }
            b'*' => {
                on(Simple::Selector("universal"));
                1
            }
            b'&' => {
                on(Simple::Selector("nesting"));
                1
            }
            b'[' => {
                on(Simple::Selector("attribute"));
                until(at, b']')
            }
            b':' => {
                let colons = 1 + usize::from(bytes.get(at + 1) == Some(&b':'));
                let length = name(at + colons);
                let Some(pseudo) = text.get(at + colons..at + colons + length) else { return };
                let old = ["before", "after", "first-line", "first-letter"];
                let is_old = old.iter().any(|old| pseudo.eq_ignore_ascii_case(old));
                on(if colons == 2 || is_old {
                    Simple::PseudoElement(pseudo)
                } else {
                    Simple::PseudoClass(pseudo)
                });
                let end = at + colons + length;
                let nests =
                    ["not", "is", "where", "has"].iter().any(|name| pseudo.eq_ignore_ascii_case(name));
                colons
                    + length
                    + match bytes.get(end) {
                        Some(b'(') if nests => {
                            (classes, compound) = (0, false);
                            1
                        }
                        Some(b'(') => until(end, b')'),
                        _ => 0,
                    }
            }
            _ => match name(at) {
                0 => 1,
                length => {
                    on(Simple::Selector("type"));
                    length
                }
            },
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Scan = fn(&str, &mut dyn FnMut(usize, Item<'_>));

    fn items(css: &str, scan: Scan) -> Vec<String> {
        let mut items = Vec::new();
        scan(css, &mut |at, item| {
            items.push(match item {
                Item::AtRule(name, prelude) => format!("{at} @{name} {prelude}"),
                Item::Selector(text) => format!("{at} {text}"),
                Item::Nested => format!("{at} nested"),
                Item::Declaration(property, value) => format!("{at} {property}={value}"),
                Item::Comment => format!("{at} comment"),
            });
        });
        items
    }

    fn of_sheet(css: &str) -> Vec<String> {
        items(css, |css, mut on| scan_stylesheet(css, &mut on))
    }

    fn of_attribute(css: &str) -> Vec<String> {
        items(css, |css, mut on| scan_declarations(css, &mut on))
    }

    #[test]
    fn style_sheets_are_split_into_statements() {
        for (css, found) in [
            ("", &[][..]),
            ("p{color:red}", &["0 p", "2 color=red"]),
            ("<!-- p { Color : RED ; } -->", &["5 p", "9 color=RED"]),
            ("@import url(a;b.css); p{}", &["0 @import url(a;b.css)", "22 p"]),
            (
                "@media (max-width:1px){a>b{x:y}}c{}",
                &["0 @media (max-width:1px)", "23 a>b", "27 x=y", "32 c"],
            ),
            (
                "@font-face{src:url(data:font/x;base64,YQ==)}",
                &["0 @font-face ", "11 src=url(data:font/x;base64,YQ==)"],
            ),
            ("@-webkit-keyframes x{50%{top:0}}", &["0 @-webkit-keyframes x", "25 top=0"]),
            ("p/*;}*/{x:/* : */y}", &["1 comment", "0 p", "10 comment", "8 x=y"]),
            ("p{x:'}';y:\"\\\";\"}", &["0 p", "2 x='}'", "8 y=\"\\\";\""]),
            ("p{x:calc((1px + 2%) * 3);y:z", &["0 p", "2 x=calc((1px + 2%) * 3)", "25 y=z"]),
            ("p{&:hover{x:y} z:w}", &["0 p", "2 nested", "2 &:hover", "10 x=y", "15 z=w"]),
            ("p{--A_b:{x:y}}", &["0 p", "2 nested", "2 --A_b:", "9 x=y"]),
            ("}}p{x:y}", &["2 p", "4 x=y"]),
            ("p{x:(y}q{z:w}", &["0 p", "2 x=(y", "7 q", "9 z=w"]),
            ("/* unclosed p{x:y}", &["0 comment"]),
        ] {
            assert_eq!(of_sheet(css), found, "{css}");
        }
        for (css, found) in [
            ("color:red", &["0 color=red"][..]),
            (" a : b ;; c:d!important; nonsense; 1é:2", &["1 a=b", "10 c=d!important", "35 1é=2"]),
            ("--Own:x;filter:progid:y(z=1)", &["0 --Own=x", "8 filter=progid:y(z=1)"]),
            ("background:url(a;b) 'c;d'", &["0 background=url(a;b) 'c;d'"]),
            ("*zoom:1;x", &[]),
        ] {
            assert_eq!(of_attribute(css), found, "{css}");
        }
    }

    #[test]
    fn values_consist_of_functions_words_and_units() {
        let found = |value| {
            let mut all = Vec::new();
            scan_tokens(value, &mut |token| all.push(format!("{token:?}")));
            all.join(" ")
        };
        assert_eq!(found("calc(100% - 1.5rem)"), r#"Function("calc") Unit("%") Unit("rem")"#);
        assert_eq!(found("-2px .5EM +3vh 4 #1em 1e3"), r#"Unit("px") Unit("EM") Unit("vh") Unit("e")"#);
        assert_eq!(found("\"1px rem\" red!important"), r#"Word("red") Word("important")"#);
        assert_eq!(found("url(a 2vh b) Flex é"), r#"Function("url") Word("Flex") Word("é")"#);
        assert_eq!(found("url(\"x)y\") z"), r#"Function("url") Word("z")"#);
        assert_eq!(
            found("min-content fit-content(2vw)"),
            r#"Word("min-content") Function("fit-content") Unit("vw")"#
        );
    }

    #[test]
    fn selectors_consist_of_simple_ones_and_combinators() {
        let found = |text| {
            let mut all = Vec::new();
            scan_selectors(text, &mut |one| {
                all.push(match one {
                    Simple::Selector(name) => name.to_owned(),
                    Simple::PseudoClass(name) => format!(":{name}"),
                    Simple::PseudoElement(name) => format!("::{name}"),
                });
            });
            all.join(" ")
        };
        for (text, parts) in [
            ("a.b , #c", "type class grouping id"),
            ("a  b > c+d ~ e", "type descendant type child type adjacent-sibling type general-sibling type"),
            (".a.b .c", "class chaining descendant class"),
            ("*[x='a b']", "universal attribute"),
            ("a:hover::before:after", "type :hover ::before ::after"),
            ("li:nth-child(2n + 1) b", "type :nth-child descendant type"),
            ("a:not(.x > i):is(b)", "type :not class child type :is type"),
            ("&.é", "nesting class"),
        ] {
            assert_eq!(found(text), parts, "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_css_is_scanned_without_panics(css in "[a-c@:;{}()\\[\\]'\"/*\\\\<!>~+.,#&%0-9 é𝄞\n-]{0,80}") {
            let mut values = Vec::new();
            for item in [of_sheet(&css), of_attribute(&css)].concat() {
                prop_assert!(item.split(' ').next().unwrap().parse::<usize>().unwrap() <= css.len());
                values.push(item);
            }
            for value in values {
                scan_tokens(&value, &mut |_| {});
                scan_selectors(&value, &mut |_| {});
            }
        }
    }
}
