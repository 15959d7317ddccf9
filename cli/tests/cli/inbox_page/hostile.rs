//! Malicious emails: nothing in them runs, loads or breaks the page.

use std::fmt::Write as _;
use std::time::Duration;

use idempost_conformance::peer::{Act, Peer};
use idempost_drivers::thirtyfour::By;
use idempost_needs::needs;
use serde_json::json;
use tokio::time::sleep;

use super::{InboxPage, KEY, email};

/// A server that counts connections: each one counts, regardless of the request.
async fn canary() -> Peer {
    Peer::acting([Act::HangUp]).await
}

/// Each tries something different. `CANARY` stands for a URL that counts visits.
pub(super) const ATTACKS: &[&str] = &[
    "<script>document.title = 'owned'; top.document.title = 'owned'; fetch('CANARY/script')</script><script src=CANARY/src></script>",
    "<img src=x onerror=\"top.document.title='owned';fetch('CANARY/onerror')\"><body onload=\"top.document.title='owned'\"><svg onload=\"top.document.title='owned'\">",
    "<img src=CANARY/img><img srcset='CANARY/srcset 1x'><picture><source srcset=CANARY/source><img></picture><input type=image src=CANARY/input><video poster=CANARY/poster src=CANARY/video></video><audio src=CANARY/audio autoplay></audio>",
    "<link rel=stylesheet href=CANARY/css><link rel=preconnect href=CANARY><link rel=dns-prefetch href=CANARY><link rel=prefetch href=CANARY/prefetch><link rel=preload as=image href=CANARY/preload><link rel=modulepreload href=CANARY/module><LINK/rel=preconnect href=CANARY><link rel=icon href=CANARY/icon>",
    "<meta http-equiv=refresh content='0;url=CANARY/refresh'><meta http-equiv=x-dns-prefetch-control content=on><base href=CANARY/><img src=relative><a href=relative>x</a>",
    "<style>@import 'CANARY/import'; @font-face{font-family:f;src:url(CANARY/font)} body{background:url(CANARY/background);font-family:f;cursor:url(CANARY/cursor),auto} a[href^='h']{background-image:url(CANARY/selector)} ::before{content:url(CANARY/content)} li{list-style-image:url(CANARY/list)}</style><ul><li>x</ul><a href=http://x>x</a><div style='background:url(CANARY/inline)'>x</div>",
    "<iframe src=CANARY/frame></iframe><iframe srcdoc=\"<script>top.document.title='owned'</script><img src=CANARY/srcdoc>\"></iframe><object data=CANARY/object></object><embed src=CANARY/embed><frameset><frame src=CANARY/frameset></frameset>",
    "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink'><script>top.document.title='owned'</script><image href=CANARY/svg-image xlink:href=CANARY/xlink /><use href=CANARY/use#x /><foreignObject><img src=CANARY/foreign></foreignObject><animate attributeName=href to=javascript:top.document.title='owned' /></svg>",
    "<form action=CANARY/form method=post><input autofocus onfocus=\"top.document.title='owned'\"><button>Go</button></form><details open ontoggle=\"top.document.title='owned'\">x</details><a href=CANARY/ping ping=CANARY/ping>x</a>",
    "<table background=CANARY/table><td background=CANARY/td>x</table><math href=javascript:top.document.title='owned'><mtext>x</mtext></math><noscript><img src=CANARY/noscript></noscript><template><img src=CANARY/template></template>",
    "</title></textarea></style></script><!--><img src=CANARY/comment>--><script>top.document.title='owned'</script><plaintext>",
];

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_in_a_mail_runs_and_nothing_is_loaded() {
    let page = InboxPage::new().await;
    let canary = canary().await;
    for (number, attack) in ATTACKS.iter().enumerate() {
        let mut mail = email(&format!(
            "Attack {number} <script>document.title='owned'</script><img src={}/subject>",
            canary.base_url()
        ));
        mail["html"] = attack.replace("CANARY", &canary.base_url()).into();
        page.send(&mail);
    }
    page.look().await;
    page.click(".row").await;
    for number in (0..ATTACKS.len()).rev() {
        page.holds(&format!(
            "document.querySelector('.mail h1').textContent.startsWith('Attack {number} <script>')"
        ))
        .await;
        page.find(".stage iframe").await;
        // The frame is drawn; it would have loaded its resources by now.
        page.driver().enter_frame(0).await.unwrap();
        page.driver().find(By::Css("body, frameset")).await.unwrap();
        page.driver().enter_default_frame().await.unwrap();
        sleep(Duration::from_millis(150)).await;
        assert_eq!(canary.connections(), 0, "attack {number} came through: {}", ATTACKS[number]);
        let title = page.eval("document.title.replace(/^[(][0-9]+[)] /, '')").await;
        assert_eq!(title, json!("Inbox · idempost sandbox"));
        page.keys(['j']).await;
    }
    // The document alone, outside of the page's frame, is just as harmless.
    for mail in page.server.service().mails(KEY) {
        page.driver()
            .goto(format!("{}/_/messages/{}/html?key={KEY}", page.server.base_url(), mail.id))
            .await
            .unwrap();
        sleep(Duration::from_millis(60)).await;
        assert_eq!(canary.connections(), 0, "{}", mail.html.as_deref().unwrap_or_default());
        assert_ne!(page.driver().title().await.unwrap(), "owned");
    }
    // Any request would have reached the canary.
    let _ = page.driver().goto(format!("{}/", canary.base_url())).await;
    assert!(canary.connections() > 0);
    page.browser.stop().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_shown_and_cannot_be_followed() {
    let page = InboxPage::new().await;
    let canary = canary().await;
    let links = ["_self", "_top", "_blank", "_parent", ""].map(|target| {
        format!("<p><a target='{target}' id='to{target}' href='{0}/link'>To {target}</a> <a target='{target}' href='javascript:top.document.title=1'>Script</a></p>", canary.base_url())
    });
    let mut mail = email("Links");
    mail["html"] = links.concat().into();
    page.opens(&mail).await;
    for link in 0..10 {
        page.find(".stage iframe").await;
        page.driver().enter_frame(0).await.unwrap();
        let links = page.driver().find_all(By::Css("a")).await.unwrap();
        links[link].click().await.unwrap();
        page.driver().enter_default_frame().await.unwrap();
        sleep(Duration::from_millis(100)).await;
        assert_eq!(canary.connections(), 0, "link {link} was followed");
        assert_eq!(page.driver().windows().await.unwrap().len(), 1);
        let title = page.eval("document.title.replace(/^[(][0-9]+[)] /, '')").await;
        assert_eq!(title, json!("Inbox · idempost sandbox"));
        page.says(".mail h1", "Links").await;
    }
    page.click(".panelbar [aria-expanded]").await;
    page.holds(&format!(
        "document.querySelector('.links').textContent.includes({})",
        json!(format!("{}/link", canary.base_url()))
    ))
    .await;
    page.holds("document.querySelectorAll('.links .bad').length === 5").await;
    assert_eq!(canary.connections(), 0);
    page.browser.stop().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codes_and_links_of_a_mail_are_text_that_leads_nowhere() {
    let page = InboxPage::new().await;
    let canary = canary().await;
    let long = format!("{}/{}", canary.base_url(), "long".repeat(50_000));
    let mut mail = email("Links");
    mail["text"] = format!(
        "Your code is 482 913\n\n{0}/one\n\njavascript:top.document.title='owned'\n\n\
         {0}/\u{202e}cod.exe\n\n{0}/<img/src={0}/img>\n\n{long}\n",
        canary.base_url()
    )
    .into();
    page.opens(&mail).await;
    page.says(".onetime code", "482913").await;
    page.holds("document.querySelector('.onetime .copy') !== null").await;
    let one = json!(format!("{}/one", canary.base_url()));
    page.holds(&format!("document.querySelector('.links code').textContent === {one}")).await;
    // None of its elements lead anywhere, and none of its text became markup.
    let inert = "!document.querySelector('.links a, .links img, .links [href], .links [src]')";
    page.holds(inert).await;
    page.holds("!document.querySelector('.links').textContent.includes('javascript:')").await;
    page.holds(
        "[...document.querySelectorAll('.links code')].every((code) => code.textContent.length <= 2000)",
    )
    .await;
    page.holds("!document.querySelector('.links').textContent.includes('\u{202e}')").await;
    // Neither the page nor the row is wider than the window.
    page.holds("document.documentElement.scrollWidth <= innerWidth").await;
    page.click(".links code").await;
    sleep(Duration::from_millis(150)).await;
    assert_eq!(canary.connections(), 0);
    assert_eq!(page.eval("document.title").await, json!("Inbox · idempost sandbox"));

    let mut html = email("HTML");
    html["html"] = format!(
        "<p>Your code is <b>7731</b></p><a href=\"javascript:top.document.title='owned'\">\u{202e}Verify</a>\
         <a href={}/two>Two</a>",
        canary.base_url()
    )
    .into();
    page.send(&html);
    page.waits_for_subjects(&["HTML", "Links"]).await;
    page.click(".row").await;
    page.says(".onetime code", "7731").await;
    page.click("#tab-html").await;
    page.click(".panelbar [aria-expanded]").await;
    page.holds("document.querySelectorAll('.links li').length === 2 && document.querySelectorAll('.links .bad').length === 1").await;
    page.holds("!document.querySelector('.links a') && document.querySelectorAll('.links').length === 1")
        .await;
    assert_eq!(canary.connections(), 0);
    page.browser.stop().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_with_invisible_characters_can_t_mislead_or_break_the_page() {
    let page = InboxPage::new().await;
    let mut parts = String::new();
    for depth in 0..100 {
        let _ = write!(
            parts,
            "Content-Type: multipart/mixed; boundary=b{depth}

--b{depth}
"
        );
    }
    let raw = format!(
        "From: =?utf-8?q?=E2=80=AEevil=00=1B[31m?= <mallory@example.com>\r\nTo: <{}>\r\n\
         Subject: =?utf-8?q?Invoice_=E2=80=AEgpj.exe=E2=81=A6_=EF=BB=BF=08?=\r\nX-Odd: a\x0cb\x1b[2J <b>\r\nMIME-Version: 1.0\r\n{parts}Content-Type: text/plain\r\n\r\nDeep\r\n",
        "x".repeat(5_000)
    );
    page.server.service().receive(KEY, &["ada@example.com"], raw.into_bytes()).unwrap();
    let named = "From: a@example.com\r\nSubject: File\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nHi\r\n\
        --b\r\nContent-Type: text/html; name=\"=?utf-8?q?=E2=80=AEfdp.html?=\"\r\nContent-Disposition: attachment\r\n\r\n<script>1</script>\r\n--b--\r\n";
    page.server.service().receive(KEY, &["ada@example.com"], named.as_bytes().to_vec()).unwrap();
    page.look().await;
    page.click(".tray[data-tray=received]").await;
    page.holds("document.querySelectorAll('.row').length === 2").await;
    page.click("li:nth-child(2) .row").await;
    page.holds(
        "[...document.querySelectorAll('.mail h1 .unseen')].map((one) => one.textContent).includes('U+202E')",
    )
    .await;
    page.holds("!/[\\u202e\\u2066\\ufeff\\u0008\\u0000\\u001b]/.test(document.body.textContent)").await;
    page.holds("document.querySelector('.mail h1 bdi') !== null").await;
    for tab in ["text", "source", "headers", "files", "timeline"] {
        page.click(&format!(".tab[data-tab={tab}]")).await;
        page.holds("!document.querySelector('.panel [aria-busy]') && !document.querySelector('.panel .bad:not(.event)')").await;
        page.holds(
            "!/[\\u202e\\u2066\\u0008\\u0000\\u001b]/.test(document.querySelector('.panel').textContent)",
        )
        .await;
        // The layout doesn't overflow.
        page.holds("document.documentElement.scrollWidth <= innerWidth").await;
    }
    page.click("li:nth-child(1) .row").await;
    page.click(".tab[data-tab=files]").await;
    page.holds("document.querySelector('.files .unseen')?.textContent === 'U+202E'").await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn megabytes_of_html_are_shown_only_on_request() {
    let page = InboxPage::new().await;
    let mut large = email("Large");
    large["html"] = "<div><b>x</b> y </div>".repeat(3_000_000 / 22).into();
    large["text"] = "line of text\n".repeat(240_000).into();
    page.send(&large);
    page.send(&email("Small"));
    page.look().await;
    page.click("li:nth-child(2) .row").await;
    page.holds("document.querySelector('.stage')?.textContent.includes('3.0 MB of HTML')").await;
    page.click(".tab[data-tab=text]").await;
    page.holds("document.querySelector('.cut')?.textContent.includes('This is the beginning')").await;
    page.click(".tab[data-tab=source]").await;
    page.holds("document.querySelector('.panel pre')?.textContent.includes('MIME-Version')").await;
    page.click(".tab[data-tab=html]").await;
    page.click(".stage button").await;
    page.find(".stage iframe").await;
    // The page itself stays responsive.
    page.click("li:nth-child(1) .row").await;
    page.says(".mail h1", "Small").await;
    page.end().await;
}
