//! The document of a mail must stay inert: nothing in it may make a browser connect or navigate. Its policy blocks the rest.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};
use url::Url;

/// Elements that make browsers connect although the policy blocks what they show, and animations, which can set the target of a link.
const REMOVED: [&[u8]; 12] = [
    b"link",
    b"meta",
    b"base",
    b"iframe",
    b"frame",
    b"frameset",
    b"object",
    b"embed",
    b"fencedframe",
    b"portal",
    b"animate",
    b"set",
];
/// Where the document is.
const HERE: &str = "http://sandbox.test/_/messages/1/html";

/// Checks a document, whatever state a browser tokenizes it in: how it treats `<script>`, `<style>` or `<title>` depends on what encloses
/// them. `own` is the beginning that the sandbox writes.
pub(crate) fn check(document: &str, own: &str) {
    let (before, rest) = document.split_once(own).expect("the document has the sandbox's own beginning");
    for switches in [true, false] {
        for text in [before, rest] {
            let mut emitter = DefaultEmitter::default();
            emitter.naively_switch_states(switches);
            for token in Tokenizer::new_with_emitter(text, emitter) {
                let Ok(token) = token;
                if let Token::StartTag(tag) = token {
                    check_tag(&tag);
                }
            }
        }
    }
}

fn check_tag(tag: &StartTag<()>) {
    let name = String::from_utf8_lossy(&tag.name);
    assert!(!REMOVED.contains(&&**tag.name), "<{name}> is left in the document");
    for attribute in [&b"href"[..], b"xlink:href"] {
        // A browser takes the first of two attributes with the same name, and so does the tokenizer.
        let Some(target) = tag.attributes.get(attribute) else { continue };
        let target = String::from_utf8_lossy(target);
        let here = Url::parse(HERE).expect("the URL is valid");
        // Text without a scheme or host stays in the sandbox, and inline content in the document.
        let leads = here
            .join(&target)
            .is_ok_and(|url| url.host_str() != here.host_str() && !["data", "cid"].contains(&url.scheme()));
        assert!(!leads, "<{name} href={target:?}> is left in the document");
    }
}
