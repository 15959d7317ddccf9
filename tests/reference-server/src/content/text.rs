//! Derives the text body from an HTML body.

use crate::content::visible::Visible;

/// Lays out HTML as text, which is never longer than the HTML.
pub fn derive(html: &str) -> String {
    let text = Visible::layout(html, true);
    if text.len() <= html.len() {
        return text;
    }
    let mut text = Visible::layout(html, false);
    // A few character references are shorter than their characters.
    text.truncate(text.floor_char_boundary(html.len()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu_time::cpu_time;

    #[test]
    fn text_shows_what_the_layout_of_html_shows() {
        for (html, text) in [
            ("<h1>Hi Ada</h1><p>One\n two<br>three</p>", "Hi Ada\n\nOne two\nthree"),
            (
                "<p>Read <a href='https://a.test/x?a=1&amp;b=2'>this <b>page</b> </a>now.",
                "Read this page (https://a.test/x?a=1&b=2) now.",
            ),
            (
                "<a href='https://a.test/'>https://a.test/</a>, <a href=mailto:b@a.test>b@a.test</a>",
                "https://a.test/, b@a.test",
            ),
            ("<a href='#top'>Up</a> <a name=top>Top</a> <a href=' JavaScript:x()'>No</a>", "Up Top No"),
            ("<a href=https://a.test/><img src=x alt='Our shop'></a>", "Our shop (https://a.test/)"),
            ("<a href=https://a.test/><img src=x></a>", "https://a.test/"),
            (
                "<ul><li>One<li><p>Two<ol start=3><li>a</li><li>b</li></ol></ul>after",
                "* One\n* Two\n  3. a\n  4. b\n\nafter",
            ),
            ("<blockquote>a<br>b<blockquote>c</blockquote></blockquote>d", "> a\n> b\n\n> > c\n\nd"),
            (
                "<table><tr><td>Total</td><td>5 €</td></tr><tr><td>Tax</td><td>1 €</td></tr></table>",
                "Total\t5 €\nTax\t1 €",
            ),
            ("<pre>a  b\n  c</pre>", "a  b\n  c"),
            ("<div style='color:red; Display : none'>Preview<p>x</p></div><p>Hi</p>", "Hi"),
            ("<head><title>t</title><style>p{}</style></head><script>1</script><template>2</template>3", "3"),
            ("👩\u{200d}💻 &shy;x &lt;p&gt; &nbsp;&copy;", "👩\u{200d}💻 \u{ad}x <p> ©"),
            ("", ""),
        ] {
            assert_eq!(derive(html), text, "{html}");
        }
    }

    #[test]
    fn text_is_never_longer_than_its_html() {
        for html in
            ["<ul>".repeat(20) + &"<li>x".repeat(100), "<blockquote>".repeat(3) + &"<br>x".repeat(100)]
        {
            assert!(derive(&html).len() <= html.len(), "{html}");
        }
    }

    #[test]
    fn cost_is_linear_in_the_size_of_the_html() {
        for piece in [
            "<div class=x>",
            "</p>",
            "<b></i>",
            " a=b",
            "<a href='https://a.test/'>x</a>",
            "<a href=x>",
            "<ul><li>",
            "<blockquote>x<br>",
            "<p style='",
            "&amp",
            "<pre>\n",
        ] {
            let cost = |times| {
                let html = format!("<p{}>", piece.repeat(times));
                cpu_time(|| drop(derive(&html)))
            };
            // Noise can hide a linear cost in one attempt; a superlinear cost shows in all.
            assert!((0..20).any(|_| cost(20_000) <= cost(5_000) * 7), "{piece}");
        }
    }
}
