//! What somebody does with the page on a working day.

use std::sync::Arc;

use posthaste_needs::needs;
use posthaste_reference_server::{Service, Settings, mount};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::{Desk, KEY, email};

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_inbox_says_how_to_send_and_a_mail_is_seen_as_soon_as_it_is_accepted() {
    let desk = Desk::new().await;
    desk.look().await;
    let how = desk.find(".welcome").await.text().await.unwrap();
    assert!(
        how.contains(&format!(
            "export POSTHASTE_BASE_URL={} POSTHASTE_API_KEY={KEY}",
            desk.server.base_url()
        )),
        "{how}"
    );
    assert!(
        how.contains("posthaste emails send --from")
            && how.contains(&format!("curl {}/emails", desk.server.base_url())),
        "{how}"
    );

    // Sent by a program, seen here.
    desk.send(&email("From a program"));
    desk.waits_for_subjects(&["From a program"]).await;
    desk.says(".tray[data-tray=sent] .count", "1").await;

    // By the page's own clock: how long after the answer of POST /emails a mail is in the list.
    let measured = desk
        .driver()
        .execute_async(
            "const done = arguments[0], late = [];
             const once = (subject) => new Promise((seen) => {
               const look = () => [...document.querySelectorAll('.row .subject')].some((one) => one.textContent === subject) && (watch.disconnect(), seen(performance.now()));
               const watch = new MutationObserver(look);
               watch.observe(document.getElementById('list'), { childList: true, subtree: true });
             });
             (async () => {
               for (let turn = 0; turn < 20; turn += 1) {
                 const subject = `Measured ${turn}`, seen = once(subject);
                 await fetch('/emails', { method: 'POST', headers: { authorization: 'Bearer sb_local' },
                   body: JSON.stringify({ from: 'hi@acme.test', to: 'ada@example.com', subject, text: 'x' }) });
                 const accepted = performance.now();
                 late.push(Math.max(0, await seen - accepted));
                 await new Promise((go) => setTimeout(go, 30));
               }
               done(late.sort((one, other) => one - other));
             })();",
            vec![],
        )
        .await
        .unwrap();
    let late: Vec<f64> = serde_json::from_value(measured.json().clone()).unwrap();
    let middle = late[late.len() / 2];
    report(&late);
    assert!(middle < 200.0, "half of the mails were later than {middle} ms: {late:?}");
    desk.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_that_arrives_while_the_list_is_loaded_stays_in_the_list() {
    let desk = Desk::new().await;
    desk.look().await;
    // Holds the next list back, as it was before the mail, until `release` is called; `drawn` says that the page has had it.
    desk.eval(
        "(() => {
           const real = window.fetch;
           window.fetch = async (path, options) => {
             const answer = await real(path, options);
             if (!String(path).startsWith('/_/messages?')) return answer;
             window.fetch = real;
             const body = await answer.text();
             await new Promise((go) => { window.release = go; });
             setTimeout(() => requestAnimationFrame(() => { window.drawn = true; }));
             return new Response(body, answer);
           };
           document.querySelector('input[type=search]').dispatchEvent(new Event('input'));
           return true;
         })()",
    )
    .await;
    desk.holds("window.release !== undefined").await;
    desk.send(&email("Meanwhile"));
    desk.says(".tray[data-tray=sent] .count", "1").await;
    desk.eval("(window.release(), true)").await;
    desk.holds("window.drawn").await;
    let rows =
        desk.eval("[...document.querySelectorAll('.row .subject')].map((one) => one.textContent)").await;
    assert_eq!(rows, json!(["Meanwhile"]));
    desk.end().await;
}

#[expect(clippy::print_stderr, reason = "a figure for whoever runs the test with --nocapture")]
fn report(late: &[f64]) {
    eprintln!(
        "seen after the answer, in ms: median {:.1}, worst {:.1}",
        late[late.len() / 2],
        late[late.len() - 1]
    );
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mails_are_searched_filtered_opened_and_made_to_bounce() {
    let desk = Desk::new().await;
    for (subject, to, tag) in [
        ("Invoice 17", "ada@example.com", "billing"),
        ("Welcome", "bob@example.org", "welcome"),
        ("Invoice 18", "bob@example.org", "billing"),
    ] {
        let mut one = email(subject);
        one["to"] = to.into();
        one["tags"] = json!([{"name": "kind", "value": tag}]);
        one["html"] = format!("<h1>{subject}</h1><a href='https://acme.test/pay'>Pay</a>").into();
        one["attachments"] = json!([{"filename": "terms.txt", "content": "YWJj"}]);
        desk.send(&one);
    }
    desk.look().await;
    desk.waits_for_subjects(&["Invoice 18", "Welcome", "Invoice 17"]).await;
    desk.find("input[type=search]").await.send_keys("invoice bob").await.unwrap();
    desk.waits_for_subjects(&["Invoice 18"]).await;
    // What comes in is held to the search as well.
    desk.send(&email("Not this one"));
    desk.says(".tray[data-tray=sent] .count", "4").await;
    desk.waits_for_subjects(&["Invoice 18"]).await;
    desk.find("input[type=search]").await.clear().await.unwrap();
    desk.eval("(document.querySelector('input[type=search]').dispatchEvent(new Event('input')), true)").await;
    desk.click("[aria-label=Filters]").await;
    desk.find("input[name=tag]").await.send_keys("kind=billing").await.unwrap();
    desk.find("input[name=to]").await.send_keys("ada").await.unwrap();
    desk.waits_for_subjects(&["Invoice 17"]).await;

    desk.click(".row").await;
    desk.says(".mail h1", "Invoice 17").await;
    desk.says(".mail header .event", "delivered").await;
    for (tab, text) in [
        ("text", "It works"),
        ("source", "MIME-Version: 1.0"),
        ("headers", "Message-ID"),
        ("files", "terms.txt"),
        ("request", "\"subject\": \"Invoice 17\""),
        ("timeline", "delivered"),
    ] {
        desk.click(&format!(".tab[data-tab={tab}]")).await;
        desk.holds(&format!(
            "document.querySelector('.panel[data-tab={tab}]')?.textContent.toUpperCase().includes({})",
            json!(text.to_uppercase())
        ))
        .await;
    }
    let request = desk.eval("(document.querySelector('[data-tab=request]').click(), true)").await;
    assert_eq!(request, json!(true));
    desk.holds("document.querySelector('.panel').textContent.includes('Bearer [hidden]')").await;
    desk.click(".tab[data-tab=timeline]").await;

    // An action changes the event: in the head, in the list, in the timeline, and for the API.
    desk.click("[data-act=bounced]").await;
    desk.says(".mail header .event", "bounced").await;
    desk.says(".row .event", "bounced").await;
    desk.holds("document.querySelector('.timeline').textContent.includes('bounced')").await;
    desk.click("[data-act=clicked]").await;
    desk.says(".mail header .event", "clicked").await;
    desk.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_keyboard_goes_everywhere() {
    let desk = Desk::new().await;
    for subject in ["one", "two", "three"] {
        desk.send(&email(subject));
    }
    desk.look().await;
    desk.waits_for_subjects(&["three", "two", "one"]).await;
    desk.keys("jj".chars()).await;
    desk.holds("document.activeElement.querySelector('.subject')?.textContent === 'two'").await;
    desk.keys(['\u{E007}']).await;
    desk.says(".mail h1", "two").await;
    // While one is open, the next is opened.
    desk.keys(['j']).await;
    desk.says(".mail h1", "one").await;
    desk.keys(['k', 'k']).await;
    desk.says(".mail h1", "three").await;
    desk.keys(['3']).await;
    desk.holds("document.querySelector('.tab[data-tab=source]').getAttribute('aria-selected') === 'true'")
        .await;
    desk.keys(['\u{E00C}']).await;
    desk.holds("document.body.dataset.open === 'list' && document.activeElement.matches('.row')").await;
    desk.keys(['/']).await;
    desk.holds("document.activeElement.matches('input[type=search]')").await;
    desk.keys("two".chars()).await;
    desk.waits_for_subjects(&["two"]).await;
    desk.keys(['\u{E00C}']).await;
    desk.waits_for_subjects(&["three", "two", "one"]).await;
    desk.keys(['\u{E00C}', '?']).await;
    desk.holds("document.getElementById('help').open").await;
    desk.keys(['\u{E00C}']).await;
    desk.holds("!document.getElementById('help').open").await;
    desk.keys(['g', 'r']).await;
    desk.holds("location.hash === '#/requests' && document.querySelectorAll('.row').length === 3").await;
    desk.keys(['g', 't']).await;
    desk.holds("location.hash === '#/templates'").await;
    desk.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_the_clock_templates_and_requests_are_at_hand() {
    let desk = Desk::new().await;
    let template = json!({"name": "Order", "alias": "order", "subject": "Order {{{ORDER}}}", "html": "<p>{{{ORDER}}}</p>", "variables": [{"key": "ORDER", "type": "string"}]});
    desk.post("/templates", &template);
    let mut later = email("Later");
    later["scheduled_at"] = "in 2 days".into();
    desk.send(&later);
    desk.look().await;

    // The next send fails; the one after it does not. What its client will get is stated before.
    desk.click("#open-faults").await;
    desk.click("#faults .first").await;
    desk.says("#fault-count", "1").await;
    desk.says("#faults .gets", "500 application_error").await;
    desk.click("#faults .close").await;
    assert_eq!(desk.post("/emails", &email("x"))["statusCode"], 500);
    desk.holds("document.getElementById('fault-count').hidden").await;

    // Time is moved, and what falls due happens.
    desk.click("#open-clock").await;
    desk.click("[data-by='7d']").await;
    desk.waits_for_subjects(&["Later"]).await;
    desk.click("#clock .close").await;

    desk.click("nav [data-view=templates]").await;
    desk.click(".row").await;
    desk.says(".template .warn", "A send has to bring: ORDER").await;
    desk.find(".values input").await.send_keys("A 17").await.unwrap();
    desk.says(".rendered .meta dd", "Order A 17").await;

    desk.click("nav [data-view=requests]").await;
    desk.click(".row").await;
    desk.says(".mail h1", "POST /emails").await;
    desk.says(".mail header .event", "500").await;
    desk.holds(r"/^\d+(\.\d)? (µs|ms)$/.test(document.querySelector('.mail .took').textContent)").await;
    desk.holds("document.querySelectorAll('.row .took').length === document.querySelectorAll('.row').length")
        .await;
    desk.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_fault_states_what_the_client_will_get_as_text() {
    let desk = Desk::new().await;
    let hostile = "<img src=x onerror='window.pwned=1'>";
    for rule in [
        json!({"action": "rate_limit", "retry_after": 1}),
        json!({"action": "answer", "status": 418, "name": hostile}),
        json!({"action": "lose"}),
        json!({"action": "truncate", "bytes": 20}),
        json!({"action": "slow", "delay_ms": 5000}),
    ] {
        desk.post("/_/faults", &rule);
    }
    desk.look().await;
    desk.says("#fault-count", "5").await;
    desk.click("#open-faults").await;
    let stated = [
        "429 rate_limit_exceeded, retry-after: 1",
        &format!("418 {hostile}"),
        "no response: request handled, then connection closed",
        "the service's own response, cut off after 20 bytes of the body",
        "the service's own response, 5000 ms late",
    ];
    let stated = json!(stated);
    desk.holds(&format!(
        "JSON.stringify([...document.querySelectorAll('#faults .gets')].map((one) => one.textContent)) === {}",
        json!(stated.to_string())
    ))
    .await;
    assert_eq!(desk.eval("window.pwned === undefined && !document.querySelector('#faults img')").await, true);
    desk.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_came_while_the_connection_was_lost_is_there_afterwards() {
    let desk = Desk::new().await;
    let service = Service::new(Settings::default());
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let send = |subject: &str| {
        let request = http::Request::post("/emails").header("authorization", format!("Bearer {KEY}"));
        let answer = service.handle(request.body(email(subject).to_string().into()).unwrap());
        assert_eq!(answer.status(), 200);
    };
    send("Before");
    let (stop, stopped) = oneshot::channel::<()>();
    let first = tokio::spawn(mount::http::serve(listener, Arc::clone(&service), async {
        let _ = stopped.await;
    }));
    desk.driver().goto(format!("http://{address}/_/")).await.unwrap();
    desk.waits_for_subjects(&["Before"]).await;
    stop.send(()).unwrap();
    first.await.unwrap().unwrap();
    desk.find("#live[data-state=off]").await;
    send("Meanwhile");
    let listener = TcpListener::bind(address).await.unwrap();
    tokio::spawn(mount::http::serve(listener, Arc::clone(&service), std::future::pending()));
    desk.find("#live[data-state=on]").await;
    desk.waits_for_subjects(&["Meanwhile", "Before"]).await;
    send("After");
    desk.waits_for_subjects(&["After", "Meanwhile", "Before"]).await;
    desk.browser.stop().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_on_a_telephone_sees_one_thing_at_a_time() {
    let desk = Desk::new().await;
    desk.send(&email("Small"));
    let metrics = json!({"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": true});
    desk.command("Emulation.setDeviceMetricsOverride", metrics).await;
    desk.look().await;
    let fits = "document.documentElement.scrollWidth <= innerWidth";
    desk.holds(fits).await;
    desk.click(".row").await;
    desk.says(".mail h1", "Small").await;
    desk.holds("getComputedStyle(document.getElementById('list')).display === 'none'").await;
    for tab in ["source", "headers", "request", "timeline"] {
        desk.click(&format!(".tab[data-tab={tab}]")).await;
        desk.holds(fits).await;
    }
    desk.click(".back").await;
    desk.holds("getComputedStyle(document.getElementById('detail')).display === 'none'").await;
    desk.find(".row").await;
    desk.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_has_a_name_and_can_be_read_and_dark_is_remembered() {
    let desk = Desk::new().await;
    desk.send(&email("Named"));
    desk.look().await;
    desk.click(".row").await;
    desk.find(".tab[aria-selected=true]").await;
    // By the browser's own tree of accessibility.
    let tree = desk.driver().cdp().send_raw("Accessibility.getFullAXTree", json!({})).await.unwrap();
    let mut used = 0;
    for node in tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] != true) {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        if ["button", "link", "textbox", "searchbox", "combobox", "tab", "dialog"].contains(&role) {
            used += 1;
            assert_ne!(
                node["name"]["value"].as_str().unwrap_or_default().trim(),
                "",
                "a {role} without a name: {node}"
            );
        }
    }
    assert!(used > 20, "{used}");
    let faint =
        || async { desk.driver().execute(include_str!("contrast.js"), vec![]).await.unwrap().json().clone() };
    let back = "getComputedStyle(document.body).backgroundColor";
    let light = desk.eval(back).await;
    assert_eq!(faint().await, json!([]));
    desk.click("#theme").await;
    let dark = desk.eval(back).await;
    assert_ne!(light, dark);
    assert_eq!(faint().await, json!([]));
    desk.look().await;
    assert_eq!(desk.eval(back).await, dark);
    desk.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_mails_are_a_page_at_a_time() {
    let desk = Desk::new().await;
    for number in 0..10_000 {
        desk.send(&email(&format!("Mail {number}")));
    }
    desk.look().await;
    desk.says(".tray[data-tray=sent] .count", "10,000").await;
    desk.holds("document.querySelectorAll('.row').length === 50").await;
    desk.eval("(document.querySelector('.scroll').scrollTop = 1e6, true)").await;
    desk.holds("document.querySelectorAll('.row').length >= 100").await;
    // Who reads further down keeps the place, whatever comes in.
    let place = "[...document.querySelectorAll('.row')].find((row) => row.getBoundingClientRect().top > 200).dataset.id";
    let before = desk.eval(place).await;
    desk.send(&email("Newest"));
    desk.holds("document.querySelector('.row .subject').textContent === 'Newest'").await;
    // The browser puts the place right when it draws next.
    desk.holds(&format!("{place} === {before}")).await;
    desk.find("input[type=search]").await.send_keys("mail 4321").await.unwrap();
    desk.waits_for_subjects(&["Mail 4321"]).await;
    desk.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_account_is_opened_without_its_key_on_the_page() {
    let desk = Desk::new().await;
    let key = "re_4Tz9realKEYofSomebody";
    let request = http::Request::post("/emails").header("authorization", format!("Bearer {key}"));
    let request = request.body(bytes::Bytes::from(email("For another account").to_string())).unwrap();
    assert_eq!(desk.server.service().handle(request).status(), 200);
    desk.look().await;
    desk.says(".welcome .accounts bdi", "re_4Tz…").await;
    desk.click(".welcome .accounts a").await;
    desk.waits_for_subjects(&["For another account"]).await;
    desk.says("#key", "re_4Tz…").await;
    desk.click(".row").await;
    desk.find(".tab").await;
    let seen = desk.eval("location.href + document.documentElement.outerHTML").await;
    assert!(!seen.as_str().unwrap().contains(key), "{seen}");

    // What the page does as this account: it forgets it all, and ends where everything begins.
    desk.click("#open-keys").await;
    desk.says("#keys .accounts [aria-current=page] bdi", "re_4Tz…").await;
    desk.click("#keys summary").await;
    desk.click("#keys button.danger:last-of-type").await;
    desk.says("#key", KEY).await;
    assert!(desk.server.service().mails(key).is_empty());
    let shown = desk.find(".welcome").await.text().await.unwrap();
    assert!(shown.contains("Send a sample mail"), "{shown}");
    desk.end().await;
}

/// The text of each row's state, from the top.
const STATES: &str = "JSON.stringify([...document.querySelectorAll('.row .event')].map((one) => one.textContent.replace(/ for .*/, ' for …')))";

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unsent_email_is_listed_with_its_state_and_turns_into_the_mail_when_it_leaves() {
    let desk = Desk::new().await;
    let hostile = "<img src=x onerror='window.pwned=1'>\u{202e}";
    desk.look().await;
    desk.click(".tray[data-tray=unsent]").await;
    desk.holds("document.querySelectorAll('.row').length === 0").await;

    // They appear as soon as they are accepted.
    let mut later = email(hostile);
    later["scheduled_at"] = "in 2 days".into();
    later["html"] = "<p>later</p><script>window.pwned = 1</script>".into();
    let waiting = desk.send(&later);
    let canceled = desk.send(&later);
    desk.post(&format!("/emails/{canceled}/cancel"), &json!({}));
    let mut optional = email("Optional");
    optional["topic_id"] =
        desk.post("/topics", &json!({"name": "News", "default_subscription": "opt_out"}))["id"].clone();
    desk.send(&optional);
    let states = json!(["failed: recipients_opted_out", "canceled", "scheduled for …"]).to_string();
    desk.holds(&format!("{STATES} === {}", json!(states))).await;
    desk.says(".tray[data-tray=unsent] .count", "3").await;
    desk.click(".tray[data-tray=sent]").await;
    desk.says(".note a", "3 unsent").await;
    desk.click(".note a").await;
    desk.holds("document.querySelectorAll('.row').length === 3").await;

    // Their timeline says why, and what they hold stays text.
    desk.click(".row").await;
    desk.click(".tab[data-tab=timeline]").await;
    desk.says(".timeline li:last-child strong", "failed: recipients_opted_out").await;
    desk.click(&format!(".row[data-id='{waiting}']")).await;
    desk.click(".tab[data-tab=request]").await;
    desk.says(".panel h1", "POST /emails").await;
    desk.holds("document.querySelectorAll('.tab').length === 4").await;
    desk.click(".tab[data-tab=timeline]").await;
    desk.says(".timeline li:last-child strong", "scheduled").await;

    // Another time is shown as soon as it is given, and a search finds what it finds among mails.
    desk.find("input[type=search]").await.send_keys("optional").await.unwrap();
    desk.waits_for_subjects(&["Optional"]).await;
    desk.keys(['\u{E00C}']).await;
    desk.holds("document.querySelectorAll('.row').length === 3").await;

    // It leaves: the list loses it, and what is open turns into the mail.
    desk.post("/_/clock", &json!({"advance": "3 days"}));
    let states = json!(["failed: recipients_opted_out", "canceled"]).to_string();
    desk.holds("location.hash.startsWith('#/sent/')").await;
    desk.says(".mail header .event", "delivered").await;
    desk.holds("document.querySelectorAll('.tab').length === 7").await;
    desk.says(".tray[data-tray=sent] .count", "1").await;
    desk.click(".tray[data-tray=unsent]").await;
    desk.holds(&format!("{STATES} === {}", json!(states))).await;
    assert_eq!(
        desk.eval("window.pwned === undefined && !document.querySelector('#list img, header img[src=x]')")
            .await,
        true
    );
    desk.end().await;
}
