//! How emails are shown: remote images on request, widths, colors, and files.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use idempost_conformance::peer::{Act, Arrived, Peer, answer};
use idempost_drivers::TIMEOUT;
use idempost_needs::needs;
use idempost_reference_server::Settings;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::hostile::ATTACKS;
use super::{InboxPage, email};

/// An image of 40 × 20 pixels.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAACgAAAAUCAIAAABwJOjsAAAAJElEQVR42mMQSzUZEMQwavGoxaMWj1o8avGoxaMWj1o8ciwGABnrIv+6dWYZAAAAAElFTkSuQmCC";
/// The user agent of the sandbox's requests; the browser's is different.
pub(super) const SANDBOX: &str = "idempost-sandbox/";

/// A server that responds with an image, or redirects.
pub(super) struct ImageServer(Peer);

impl ImageServer {
    pub(super) async fn start() -> Self {
        let image = STANDARD.decode(PNG).unwrap();
        let serve = move |_, request: &Arrived| {
            let (close, kind) = (("connection", "close"), ("content-type", "image/png"));
            Act::AnswerAndClose(match request.target().strip_prefix("/redirect?") {
                Some(target) => answer(302, &[close, ("location", target)], &[]),
                None => answer(200, &[close, kind], &image),
            })
        };
        Self(Peer::start(serve).await)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.0.address()
    }

    pub(super) fn url(&self, path: &str) -> String {
        self.0.base_url() + path
    }

    /// The paths and user agents of all requests so far.
    pub(super) fn requests(&self) -> Vec<(String, String)> {
        let agent = |request: &Arrived| request.header("user-agent").unwrap_or_default().to_owned();
        self.0.requests().iter().map(|request| (request.target().to_owned(), agent(request))).collect()
    }
}

impl InboxPage {
    pub(super) async fn that_may_load_from(server: &ImageServer) -> Self {
        Self::with(Settings { remote_servers: vec![server.address()], ..Settings::default() }).await
    }

    /// Evaluates an expression in the email's frame.
    async fn in_frame(&self, expression: &str) -> Value {
        self.find(".viewport iframe").await.enter_frame().await.unwrap();
        let value = self.eval(expression).await;
        self.driver().enter_default_frame().await.unwrap();
        value
    }

    /// Waits until this holds in the email's frame.
    async fn holds_in_frame(&self, condition: &str) {
        let until = Instant::now() + TIMEOUT;
        let tried = format!("(() => {{ try {{ return {condition}; }} catch {{ return false; }} }})()");
        while self.in_frame(&tried).await != true {
            assert!(Instant::now() < until, "timed out waiting for {condition} in the frame");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn remote_images_are_loaded_after_a_click_by_the_sandbox_and_for_one_mail() {
    let (server, canary) = (ImageServer::start().await, ImageServer::start().await);
    let page = InboxPage::that_may_load_from(&server).await;
    let html = format!(
        "<img id=a src='{}'><picture><source srcset='{} 2x'><img id=b src='{}'></picture><p id=c style=\"background-image:url('{}')\">x</p><img src='{}'><img src='{}'>",
        server.url("/a?x=1&amp;y=2"),
        server.url("/b2"),
        server.url("/b"),
        server.url("/c"),
        canary.url("/d"),
        server.url(&format!("/redirect?{}", canary.url("/e"))),
    );
    for subject in ["Other", "Mail"] {
        let mut mail = email(subject);
        mail["html"] = html.clone().into();
        page.send(&mail);
    }
    page.look().await;
    page.click("li:nth-child(1) .row").await;
    page.holds("document.querySelector('.remote')?.textContent.includes('6 remote images from 127.0.0.1')")
        .await;
    page.holds_in_frame("document.images.length === 4 && document.images[0].naturalWidth === 0").await;
    sleep(Duration::from_millis(300)).await;
    assert_eq!(server.requests(), []);

    page.click("[data-act=images]").await;
    page.holds("document.querySelector('.remote')?.textContent.includes('4 of 6 remote images loaded')")
        .await;
    page.holds_in_frame("[...document.images].map((one) => one.naturalWidth).join() === '40,20,0,0'").await;
    page.holds_in_frame(
        "getComputedStyle(document.getElementById('c')).backgroundImage.startsWith('url(\"data:image/png')",
    )
    .await;
    page.click(".remote summary").await;
    page.holds("[...document.querySelectorAll('.remote li')].filter((one) => one.textContent.includes(\"the address isn't public\")).length === 2").await;
    assert_eq!(canary.requests(), []);
    let requests = server.requests();
    assert_eq!(requests.len(), 5, "{requests:?}");
    assert!(requests.iter().all(|(_, agent)| agent.starts_with(SANDBOX)), "{requests:?}");
    assert!(requests.iter().any(|(path, _)| path == "/a?x=1&y=2"), "{requests:?}");

    // Another email with the same images isn't affected, and the first one still shows its own.
    page.click("li:nth-child(2) .row").await;
    page.says(".mail h1", "Other").await;
    page.holds("document.querySelector('.remote')?.textContent.includes('6 remote images from')").await;
    page.holds_in_frame("document.images[0].naturalWidth === 0").await;
    page.click("li:nth-child(1) .row").await;
    page.says(".mail h1", "Mail").await;
    page.holds_in_frame("document.images[0].naturalWidth === 40").await;
    assert_eq!(server.requests().len(), 5);
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malicious_mails_stay_inert_with_their_images_loaded() {
    let server = ImageServer::start().await;
    let page = InboxPage::that_may_load_from(&server).await;
    let more = [
        "<img src='CANARY/\u{202e}gnp.<script>'><img src=\"http://127.0.0.1:1/<img src=x onerror=top.document.title=1>\">",
        "<style>@import url(CANARY/import);@font-face{font-family:f;src:url(CANARY/font)}b{background:url(CANARY/a);font-family:f}</style><b>x</b><link rel=stylesheet href=CANARY/css>",
        "<img src=CANARY/a onload=\"top.document.title='owned'\"><svg><image href=CANARY/svg /></svg><iframe src=CANARY/frame><img src=CANARY/in></iframe><video poster=CANARY/poster src=CANARY/video autoplay></video>",
    ];
    for (number, attack) in ATTACKS.iter().chain(&more).enumerate() {
        let mut mail = email(&format!("Attack {number}"));
        mail["html"] = format!("<img src=CANARY/first>{attack}").replace("CANARY", &server.url("")).into();
        page.send(&mail);
    }
    page.look().await;
    page.click(".row").await;
    for number in (0..ATTACKS.len() + more.len()).rev() {
        page.says(".mail h1", &format!("Attack {number}")).await;
        page.click("[data-act=images]").await;
        page.holds("document.querySelector('.remote')?.textContent.includes(' loaded')").await;
        page.holds_in_frame("document.readyState === 'complete'").await;
        sleep(Duration::from_millis(150)).await;
        page.holds("!/[\\u202e\\u2066]/.test(document.querySelector('.remote').textContent) && !document.querySelector('.remote img')").await;
        page.click("[data-colors=inverted]").await;
        page.holds_in_frame("document.readyState === 'complete'").await;
        page.click("[data-colors=dark]").await;
        page.holds("document.title.endsWith('Inbox · idempost sandbox')").await;
        let others: Vec<_> =
            server.requests().into_iter().filter(|(_, agent)| !agent.starts_with(SANDBOX)).collect();
        assert_eq!(others, [], "attack {number} made the browser send a request");
        page.keys(['j']).await;
    }
    // Neither styles nor fonts nor frames are images.
    let odd = [
        "/import", "/font", "/css", "/frame", "/in", "/video", "/script", "/src", "/srcdoc", "/object",
        "/embed", "/ping", "/subject",
    ];
    let requested = server.requests();
    assert!(requested.iter().all(|(path, _)| !odd.contains(&path.as_str())), "{requested:?}");
    assert!(requested.len() > ATTACKS.len());
    page.browser.stop().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn width_and_colors_are_those_of_the_mail_and_kept_for_the_next_one() {
    let page = InboxPage::new().await;
    for subject in ["Second", "First"] {
        let mut mail = email(subject);
        mail["html"] = format!(
            "<!doctype html><meta name=color-scheme content='light dark'><style>p{{color:#123456}}@media (prefers-color-scheme: dark){{p{{color:#abcdef}}}}</style>\
             <p id=p>Hi</p><img src='data:image/png;base64,{PNG}'>"
        )
        .into();
        page.send(&mail);
    }
    page.look().await;
    page.click(".row").await;
    let dark = "matchMedia('(prefers-color-scheme: dark)').matches";
    page.holds_in_frame(&format!(
        "!{dark} && getComputedStyle(document.getElementById('p')).color === 'rgb(18, 52, 86)'"
    ))
    .await;
    assert_eq!(page.eval("document.querySelector('.remote').hidden").await, true);
    for width in [320, 375, 600, 768, 1024, 1440] {
        page.click(&format!("[data-width='{width}']")).await;
        page.holds_in_frame(&format!("innerWidth === {width}")).await;
        page.holds(&format!(
            "document.querySelector('[data-width=\"{width}\"]').getAttribute('aria-pressed') === 'true'"
        ))
        .await;
        // It isn't wider than the pane.
        page.holds("document.querySelector('.viewport iframe').getBoundingClientRect().right <= innerWidth && document.documentElement.scrollWidth <= innerWidth").await;
    }
    page.holds("/^[4-9]\\d %$/.test(document.querySelector('.widths [role=status]').textContent)").await;

    // Custom widths: by number, with the arrow keys, and by dragging.
    let input = page.find(".widths input").await;
    input.clear().await.unwrap();
    input.send_keys("500").await.unwrap();
    page.keys(['\u{E007}']).await;
    page.holds_in_frame("innerWidth === 500").await;
    page.eval("(document.querySelector('.handle').focus(), true)").await;
    page.keys(['\u{E012}', '\u{E012}', '\u{E014}']).await;
    page.holds_in_frame("innerWidth === 490").await;
    page.holds("document.querySelector('.handle').getAttribute('aria-valuenow') === '490'").await;
    let handle = page.find(".handle").await;
    page.driver()
        .action_chain()
        .click_and_hold_element(&handle)
        .move_by_offset(-50, 0)
        .release()
        .perform()
        .await
        .unwrap();
    page.holds("document.querySelector('.viewport iframe').clientWidth < 450").await;
    page.click("[data-width='375']").await;

    // The email's own dark styles, regardless of the page's theme.
    page.click("[data-colors=dark]").await;
    page.holds_in_frame(&format!(
        "{dark} && getComputedStyle(document.getElementById('p')).color === 'rgb(171, 205, 239)'"
    ))
    .await;
    page.click("#theme").await;
    page.holds_in_frame(dark).await;
    page.click("[data-colors=light]").await;
    page.holds_in_frame(&format!("!{dark}")).await;
    page.click("[data-colors=inverted]").await;
    let inverted = "getComputedStyle(document.documentElement).filter === 'invert(1) hue-rotate(180deg)' && getComputedStyle(document.images[0]).filter === 'invert(1) hue-rotate(180deg)'";
    page.holds_in_frame(&format!("!{dark} && {inverted}")).await;

    page.keys(['j']).await;
    page.says(".mail h1", "Second").await;
    page.holds_in_frame(&format!("innerWidth === 375 && {inverted}")).await;
    page.click("[data-width=fit]").await;
    page.holds("document.querySelector('.viewport').clientWidth > 600").await;
    page.end().await;
}

fn pdf(open_action: &str) -> Vec<u8> {
    let objects = [
        &format!("<< /Type /Catalog /Pages 2 0 R /OpenAction {open_action} >>"),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 300] >>",
    ];
    let (mut text, mut table) = ("%PDF-1.7\n".to_owned(), "0000000000 65535 f \n".to_owned());
    for (number, object) in objects.iter().enumerate() {
        writeln!(table, "{:010} 00000 n ", text.len()).unwrap();
        writeln!(text, "{} 0 obj\n{object}\nendobj", number + 1).unwrap();
    }
    let start = text.len();
    format!("{text}xref\n0 4\n{table}trailer << /Size 4 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n")
        .into_bytes()
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn images_and_pdf_attachments_are_shown_and_others_only_downloaded() {
    let page = InboxPage::new().await;
    let canary = ImageServer::start().await;
    let target = canary.url("/pdf");
    let attached =
        |name: &str, content: &[u8]| json!({"filename": name, "content": STANDARD.encode(content)});
    let mut mail = email("Files");
    mail["attachments"] = json!([
        attached("logo.png", &STANDARD.decode(PNG).unwrap()),
        attached("broken.png", b"no image"),
        attached(
            "vector.svg",
            b"<svg xmlns='http://www.w3.org/2000/svg'><script>top.document.title='owned'</script></svg>"
        ),
        attached("page.html", b"<script>top.document.title='owned'</script>"),
        attached("uri.pdf", &pdf(&format!("<< /S /URI /URI ({target}) >>"))),
        attached(
            "script.pdf",
            &pdf(&format!(
                "<< /S /JavaScript /JS (app.launchURL\\('{target}', true\\); this.getURL\\('{target}'\\); this.submitForm\\('{target}'\\);) >>"
            ))
        ),
        attached("fake.pdf", b"<script>top.document.title='owned'</script>"),
    ]);
    page.opens(&mail).await;
    page.click(".tab[data-tab=files]").await;
    page.holds(
        "[...document.querySelectorAll('.files img')].map((one) => one.naturalWidth).join() === '40,0'",
    )
    .await;
    page.holds("document.querySelectorAll('.files img')[1].parentElement.hidden").await;
    assert_eq!(page.eval("document.querySelectorAll('.files a[download]').length").await, json!(7));
    assert_eq!(page.eval("document.querySelectorAll('.files li button').length").await, json!(3));
    for nth in [5, 6, 7] {
        page.click(&format!(".files li:nth-child({nth}) button")).await;
        page.find(&format!(".files li:nth-child({nth}) iframe")).await;
    }
    sleep(Duration::from_secs(2)).await;
    assert_eq!(canary.requests(), []);
    page.holds("document.title.endsWith('Inbox · idempost sandbox')").await;
    // Chromium's viewer has taken the document's place; an error isn't a PDF.
    for (nth, kind) in [(5, "application/pdf"), (7, "application/json")] {
        let until = Instant::now() + TIMEOUT;
        loop {
            page.find(&format!(".files li:nth-child({nth}) iframe")).await.enter_frame().await.unwrap();
            let found = page
                .driver()
                .execute("return document.contentType", vec![])
                .await
                .map(|value| value.json().clone());
            page.driver().enter_default_frame().await.unwrap();
            // Scripts must not reach the viewer's document.
            let is_viewer = found.is_err() && kind == "application/pdf";
            if is_viewer || found.as_ref().is_ok_and(|found| found == kind) {
                break;
            }
            assert!(Instant::now() < until, "{kind}: {found:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }
    page.eval("(document.querySelector('.files li:nth-child(5) button').click(), true)").await;
    page.holds("!document.querySelector('.files li:nth-child(5) iframe')").await;
    page.browser.stop().await;
}
