//! Everyday use of the page.

use std::sync::Arc;

use idempost_needs::needs;
use idempost_reference_server::{Settings, mount};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::{InboxPage, KEY, email};
use crate::support::Idempost;

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_inbox_shows_how_to_send_and_a_mail_appears_once_it_is_accepted() {
    let page = InboxPage::new().await;
    page.look().await;
    let how = page.find(".welcome").await.text().await.unwrap();
    assert!(
        how.contains(&format!("export IDEMPOST_BASE_URL={} IDEMPOST_API_KEY={KEY}", page.server.base_url())),
        "{how}"
    );
    assert!(
        how.contains("idempost emails send --from")
            && how.contains(&format!("curl {}/emails", page.server.base_url())),
        "{how}"
    );

    // Sent by a program, shown here.
    page.send(&email("From a program"));
    page.waits_for_subjects(&["From a program"]).await;
    page.says(".tray[data-tray=sent] .count", "1").await;

    // By the page's own clock: the delay between the response of POST /emails and the moment the email appears in the list.
    let measured = page
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
    assert!(middle < 1_000.0, "half of the mails were later than {middle} ms: {late:?}");
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_that_arrives_while_the_list_loads_stays_in_the_list() {
    let page = InboxPage::new().await;
    page.look().await;
    // Its content predates the email.
    page.delay_list().await;
    page.eval("document.querySelector('input[type=search]').dispatchEvent(new Event('input'))").await;
    page.holds("window.release !== undefined").await;
    page.send(&email("Meanwhile"));
    page.says(".tray[data-tray=sent] .count", "1").await;
    page.eval("(window.release(), true)").await;
    page.holds("window.drawn").await;
    let rows =
        page.eval("[...document.querySelectorAll('.row .subject')].map((one) => one.textContent)").await;
    assert_eq!(rows, json!(["Meanwhile"]));
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mails_are_searched_filtered_opened_and_made_to_bounce() {
    let page = InboxPage::new().await;
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
        page.send(&one);
    }
    page.look().await;
    page.waits_for_subjects(&["Invoice 18", "Welcome", "Invoice 17"]).await;
    page.find("input[type=search]").await.send_keys("invoice bob").await.unwrap();
    page.waits_for_subjects(&["Invoice 18"]).await;
    // The search also filters new emails.
    page.send(&email("Not this one"));
    page.says(".tray[data-tray=sent] .count", "4").await;
    page.waits_for_subjects(&["Invoice 18"]).await;
    page.find("input[type=search]").await.clear().await.unwrap();
    page.eval("(document.querySelector('input[type=search]').dispatchEvent(new Event('input')), true)").await;
    page.click("[aria-label=Filters]").await;
    // A tag's name is enough.
    page.find("input[name=tag]").await.send_keys("kind").await.unwrap();
    page.waits_for_subjects(&["Invoice 18", "Welcome", "Invoice 17"]).await;
    page.find("input[name=tag]").await.send_keys("=billing").await.unwrap();
    page.find("input[name=to]").await.send_keys("ada").await.unwrap();
    page.waits_for_subjects(&["Invoice 17"]).await;

    page.click(".row").await;
    page.says(".mail h1", "Invoice 17").await;
    page.says(".mail header .event", "delivered").await;
    for (tab, text) in [
        ("text", "It works"),
        ("source", "MIME-Version: 1.0"),
        ("headers", "Message-ID"),
        ("files", "terms.txt"),
        ("check", "link_placeholder"),
        ("request", "\"subject\": \"Invoice 17\""),
        ("timeline", "delivered"),
    ] {
        page.click(&format!(".tab[data-tab={tab}]")).await;
        page.holds(&format!(
            "document.querySelector('.panel[data-tab={tab}]')?.textContent.toUpperCase().includes({})",
            json!(text.to_uppercase())
        ))
        .await;
    }
    let request = page.eval("(document.querySelector('[data-tab=request]').click(), true)").await;
    assert_eq!(request, json!(true));
    page.holds("document.querySelector('.panel').textContent.includes('Bearer [hidden]')").await;
    page.click(".tab[data-tab=timeline]").await;

    // An action changes the event: in the header, in the list, in the timeline, and for the API.
    page.click("[data-act=bounced]").await;
    page.says(".mail header .event", "bounced").await;
    page.says(".row .event", "bounced").await;
    page.holds("document.querySelector('.timeline').textContent.includes('bounced')").await;
    page.click("[data-act=clicked]").await;
    page.says(".mail header .event", "clicked").await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mistake_in_a_search_is_explained_below_the_field_and_leaves_the_list() {
    let page = InboxPage::new().await;
    for subject in ["Your code", "Code of conduct", "Invoice"] {
        page.send(&email(subject));
    }
    page.look().await;
    page.find("input[type=search]").await.send_keys("code").await.unwrap();
    page.waits_for_subjects(&["Code of conduct", "Your code"]).await;
    page.find("input[type=search]").await.send_keys(" -\"of con").await.unwrap();
    page.says(".problem", "`query`, character 7: the quote isn't closed; close it with `\"`.").await;
    page.waits_for_subjects(&["Code of conduct", "Your code"]).await;
    page.holds("document.querySelector('input[type=search]').getAttribute('aria-invalid') === 'true'").await;
    // New emails still appear, filtered by the search before the mistake.
    page.send(&email("code 3"));
    page.send(&email("Other"));
    page.waits_for_subjects(&["code 3", "Code of conduct", "Your code"]).await;
    page.find(".problem").await;
    page.find("input[type=search]").await.send_keys("duct\"").await.unwrap();
    page.waits_for_subjects(&["code 3", "Your code"]).await;
    page.holds("document.querySelector('.problem').hidden").await;
    page.click("[title='Search language']").await;
    page.holds("document.querySelector('#search-help').open && document.querySelector('#search-help').textContent.includes('has:attachment')").await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_reachable_by_keyboard() {
    let page = InboxPage::new().await;
    for subject in ["one", "two", "three"] {
        page.send(&email(subject));
    }
    page.look().await;
    page.waits_for_subjects(&["three", "two", "one"]).await;
    page.keys("jj".chars()).await;
    page.holds("document.activeElement.querySelector('.subject')?.textContent === 'two'").await;
    page.keys(['\u{E007}']).await;
    page.says(".mail h1", "two").await;
    // While an email is open, the next one is opened.
    page.keys(['j']).await;
    page.says(".mail h1", "one").await;
    page.keys(['k', 'k']).await;
    page.says(".mail h1", "three").await;
    page.keys(['3']).await;
    page.holds("document.querySelector('.tab[data-tab=source]').getAttribute('aria-selected') === 'true'")
        .await;
    page.keys(['\u{E00C}']).await;
    page.holds("document.body.dataset.open === 'list' && document.activeElement.matches('.row')").await;
    page.keys(['/']).await;
    page.holds("document.activeElement.matches('input[type=search]')").await;
    page.keys("two".chars()).await;
    page.waits_for_subjects(&["two"]).await;
    page.keys(['\u{E00C}']).await;
    page.waits_for_subjects(&["three", "two", "one"]).await;
    page.keys(['\u{E00C}', '?']).await;
    page.holds("document.getElementById('help').open").await;
    page.keys(['\u{E00C}']).await;
    page.holds("!document.getElementById('help').open").await;
    page.keys(['g', 'r']).await;
    page.holds("location.hash === '#/requests' && document.querySelectorAll('.row').length === 3").await;
    page.keys(['g', 't']).await;
    page.holds("location.hash === '#/templates'").await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_the_clock_templates_and_requests_are_accessible() {
    let page = InboxPage::new().await;
    let template = json!({"name": "Order", "alias": "order", "subject": "Order {{{ORDER}}}", "html": "<p>{{{ORDER}}}</p>", "variables": [{"key": "ORDER", "type": "string"}]});
    page.post("/templates", &template);
    let mut later = email("Later");
    later["scheduled_at"] = "in 2 days".into();
    page.send(&later);
    page.look().await;

    // The next send fails; the one after it doesn't. The page states in advance what the client will receive.
    page.click("#open-faults").await;
    page.click("#faults .first").await;
    page.says("#fault-count", "1").await;
    page.says("#faults .gets", "500 application_error").await;
    page.click("#faults option[value=RCPT]").await;
    page.holds("!document.querySelector('#fault-what option[value=truncate]')").await;
    page.click("#faults option[value='550']").await;
    page.click("#faults .first").await;
    page.says("#faults li:last-child .gets", "550 5.1.1 No such mailbox").await;
    page.says("#faults li:last-child code", "SMTP RCPT").await;
    page.click("#faults li:last-child button").await;
    page.says("#fault-count", "1").await;
    page.click("#faults .close").await;
    assert_eq!(page.post("/emails", &email("x"))["statusCode"], 500);
    page.holds("document.getElementById('fault-count').hidden").await;

    // The clock is advanced, and due events happen.
    page.click("#open-clock").await;
    page.click("[data-by='7d']").await;
    page.waits_for_subjects(&["Later"]).await;
    page.click("#clock .close").await;

    page.click("nav [data-view=templates]").await;
    page.click(".row").await;
    page.says(".template .warn", "A send has to bring: ORDER").await;
    page.find(".values input").await.send_keys("A 17").await.unwrap();
    page.says(".rendered .meta dd", "Order A 17").await;

    page.click("nav [data-view=requests]").await;
    page.click(".row").await;
    page.says(".mail h1", "POST /emails").await;
    page.says(".mail header .event", "500").await;
    page.holds(r"/^\d+(\.\d)? (µs|ms)$/.test(document.querySelector('.mail .took').textContent)").await;
    page.holds("document.querySelectorAll('.row .took').length === document.querySelectorAll('.row').length")
        .await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_of_a_fault_adds_the_rule_of_the_form() {
    let page = InboxPage::new().await;
    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", page.server.base_url());
    page.look().await;
    page.click("#open-faults").await;
    page.says("#faults p code", "idempost sandbox fail 'POST /emails' --status 500").await;
    for (which, what, times) in [
        ("send", "503", 1),
        ("any", "429", 3),
        ("batch", "slow", 2),
        ("get", "truncate", 1),
        ("END-OF-DATA", "550", 4),
        ("CONNECT", "drop", 1),
    ] {
        page.click(&format!("#fault-which option[value='{which}']")).await;
        page.click(&format!("#fault-what option[value='{what}']")).await;
        let input = page.find("#fault-times").await;
        input.clear().await.unwrap();
        input.send_keys(times.to_string()).await.unwrap();
        page.click("#faults .first").await;
        page.says("#fault-count", "1").await;
        let command = page.find("#faults p code").await.text().await.unwrap();
        let rule = || {
            let mut rules = page.ask("GET", "/_/faults", &Value::Null);
            assert_eq!(rules["data"].as_array().map(Vec::len), Some(1), "{command}: {rules}");
            rules["data"][0].as_object_mut().unwrap().remove("id");
            page.ask("DELETE", "/_/faults", &Value::Null);
            rules["data"][0].take()
        };
        let by_form = rule();

        let command = command.replacen("idempost", env!("CARGO_BIN_EXE_idempost"), 1);
        tokio::task::block_in_place(|| idempost.shell(&command).ok());
        assert_eq!(rule(), by_form, "{command}");
    }
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undecodable_location_is_an_unknown_mail() {
    let page = InboxPage::new().await;
    page.send(&email("Here"));
    page.look().await;
    page.eval("(location.hash = '#/sent/%', true)").await;
    page.says("#detail .idle p", "This email no longer exists.").await;
    page.click(".row").await;
    page.says(".mail h1", "Here").await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_fault_states_the_client_s_response_as_text() {
    let page = InboxPage::new().await;
    let hostile = "<img src=x onerror='window.pwned=1'>";
    for rule in [
        json!({"action": "rate_limit", "retry_after": 1}),
        json!({"action": "answer", "status": 418, "name": hostile}),
        json!({"action": "lose"}),
        json!({"action": "truncate", "bytes": 20}),
        json!({"action": "slow", "delay_ms": 5000}),
    ] {
        page.post("/_/faults", &rule);
    }
    page.look().await;
    page.says("#fault-count", "5").await;
    page.click("#open-faults").await;
    let stated = [
        "429 rate_limit_exceeded, retry-after: 1",
        &format!("418 {hostile}"),
        "no response: request handled, then connection closed",
        "the service's own response, cut off after 20 bytes of the body",
        "the service's own response, 5000 ms late",
    ];
    page.waits_for_texts("#faults .gets", &stated).await;
    assert_eq!(page.eval("window.pwned === undefined && !document.querySelector('#faults img')").await, true);
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mails_from_a_connection_outage_appear_afterwards() {
    let page = InboxPage::new().await;
    let service = idempost_sandbox::service(Settings::default());
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let send = |subject: &str| super::send(&service, KEY, &email(subject));
    send("Before");
    let (stop, stopped) = oneshot::channel::<()>();
    let first = tokio::spawn(mount::http::serve(listener, Arc::clone(&service), async {
        let _ = stopped.await;
    }));
    page.driver().goto(format!("http://{address}/_/")).await.unwrap();
    page.waits_for_subjects(&["Before"]).await;
    stop.send(()).unwrap();
    first.await.unwrap().unwrap();
    page.find("#live[data-state=off]").await;
    send("Meanwhile");
    let listener = TcpListener::bind(address).await.unwrap();
    tokio::spawn(mount::http::serve(listener, Arc::clone(&service), std::future::pending()));
    page.find("#live[data-state=on]").await;
    page.waits_for_subjects(&["Meanwhile", "Before"]).await;
    send("After");
    page.waits_for_subjects(&["After", "Meanwhile", "Before"]).await;
    page.browser.stop().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phone_shows_one_column_at_a_time() {
    let page = InboxPage::new().await;
    page.send(&email("Small"));
    let metrics = json!({"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": true});
    page.command("Emulation.setDeviceMetricsOverride", metrics).await;
    page.look().await;
    page.click(".row").await;
    page.says(".mail h1", "Small").await;
    page.holds("getComputedStyle(document.getElementById('list')).display === 'none'").await;
    page.click(".back").await;
    page.holds("getComputedStyle(document.getElementById('detail')).display === 'none'").await;
    page.find(".row").await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_has_an_accessible_name_and_contrast_and_the_dark_theme_is_stored() {
    let page = InboxPage::new().await;
    page.opens(&email("Named")).await;
    page.find(".tab[aria-selected=true]").await;
    // According to the browser's accessibility tree.
    let tree = page.driver().cdp().send_raw("Accessibility.getFullAXTree", json!({})).await.unwrap();
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
        || async { page.driver().execute(include_str!("contrast.js"), vec![]).await.unwrap().json().clone() };
    let back = "getComputedStyle(document.body).backgroundColor";
    let light = page.eval(back).await;
    assert_eq!(faint().await, json!([]));
    page.click("#theme").await;
    let dark = page.eval(back).await;
    assert_ne!(light, dark);
    assert_eq!(faint().await, json!([]));
    page.look().await;
    assert_eq!(page.eval(back).await, dark);
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_mails_are_loaded_page_by_page() {
    let page = InboxPage::new().await;
    for number in 0..3_000 {
        page.send(&email(&format!("Mail {number}")));
    }
    page.look().await;
    page.says(".tray[data-tray=sent] .count", "3,000").await;
    page.holds("document.querySelectorAll('.row').length === 50").await;
    page.eval("(document.querySelector('.scroll').scrollTop = 1e6, true)").await;
    page.holds("document.querySelectorAll('.row').length >= 100").await;
    // The scroll position is kept when emails arrive.
    let place = "[...document.querySelectorAll('.row')].find((row) => row.getBoundingClientRect().top > 200).dataset.id";
    let before = page.eval(place).await;
    page.send(&email("Newest"));
    page.holds("document.querySelector('.row .subject').textContent === 'Newest'").await;
    // The browser restores the position with the next frame.
    page.holds(&format!("{place} === {before}")).await;
    page.find("input[type=search]").await.send_keys("mail 1234").await.unwrap();
    page.waits_for_subjects(&["Mail 1234"]).await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_account_is_opened_without_exposing_its_key() {
    let page = InboxPage::new().await;
    let key = "re_4Tz9realKEYofSomebody";
    super::send(page.server.service(), key, &email("For another account"));
    page.look().await;
    page.says(".welcome .accounts bdi", "re_4Tz…").await;
    page.click(".welcome .accounts a").await;
    page.waits_for_subjects(&["For another account"]).await;
    page.says("#key", "re_4Tz…").await;
    page.click(".row").await;
    page.find(".tab").await;
    let seen = page.eval("location.href + document.documentElement.outerHTML").await;
    assert!(!seen.as_str().unwrap().contains(key), "{seen}");

    // The page acts as this account: deleting all its data returns to the start page.
    page.click("#open-keys").await;
    page.says("#keys .accounts [aria-current=page] bdi", "re_4Tz…").await;
    page.click("#keys summary").await;
    page.click("#keys button.danger:last-of-type").await;
    page.confirm("Delete everything?").await;
    page.says("#key", KEY).await;
    assert!(page.server.service().mails(key).is_empty());
    let shown = page.find(".welcome").await.text().await.unwrap();
    assert!(shown.contains("Send a sample mail"), "{shown}");
    page.end().await;
}

/// The text of each row's state, from the top.
const STATES: &str = "JSON.stringify([...document.querySelectorAll('.row .event')].map((one) => one.textContent.replace(/ for .*/, ' for …')))";

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unsent_email_is_listed_with_its_state_and_becomes_a_mail_when_sent() {
    let page = InboxPage::new().await;
    let hostile = "<img src=x onerror='window.pwned=1'>\u{202e}";
    page.look().await;
    page.click(".tray[data-tray=unsent]").await;
    page.holds("document.querySelectorAll('.row').length === 0").await;

    // They appear once accepted.
    let mut later = email(hostile);
    later["scheduled_at"] = "in 2 days".into();
    later["html"] = "<p>later</p><script>window.pwned = 1</script>".into();
    let waiting = page.send(&later);
    let canceled = page.send(&later);
    page.post(&format!("/emails/{canceled}/cancel"), &json!({}));
    let mut optional = email("Optional");
    optional["topic_id"] =
        page.post("/topics", &json!({"name": "News", "default_subscription": "opt_out"}))["id"].clone();
    page.send(&optional);
    let states = json!(["failed: recipients_opted_out", "canceled", "scheduled for …"]).to_string();
    page.holds(&format!("{STATES} === {}", json!(states))).await;
    page.says(".tray[data-tray=unsent] .count", "3").await;
    page.click(".tray[data-tray=sent]").await;
    page.says(".note a", "3 unsent").await;
    page.click(".note a").await;
    page.holds("document.querySelectorAll('.row').length === 3").await;

    // Their timeline gives the reason, and their content stays text.
    page.click(".row").await;
    page.click(".tab[data-tab=timeline]").await;
    page.says(".timeline li:last-child strong", "failed: recipients_opted_out").await;
    page.click(&format!(".row[data-id='{waiting}']")).await;
    page.click(".tab[data-tab=request]").await;
    page.says(".panel h1", "POST /emails").await;
    page.holds("document.querySelectorAll('.tab').length === 5").await;
    page.click(".tab[data-tab=timeline]").await;
    page.says(".timeline li:last-child strong", "scheduled").await;

    // A new time is shown immediately, and the search covers unsent emails too.
    page.find("input[type=search]").await.send_keys("optional").await.unwrap();
    page.waits_for_subjects(&["Optional"]).await;
    page.keys(['\u{E00C}']).await;
    page.holds("document.querySelectorAll('.row').length === 3").await;

    // When it is sent, it leaves the list, and the open view shows the sent email.
    page.post("/_/clock", &json!({"advance": "3 days"}));
    let states = json!(["failed: recipients_opted_out", "canceled"]).to_string();
    page.holds("location.hash.startsWith('#/sent/')").await;
    page.says(".mail header .event", "delivered").await;
    page.holds("document.querySelectorAll('.tab').length === 8").await;
    page.says(".tray[data-tray=sent] .count", "1").await;
    page.click(".tray[data-tray=unsent]").await;
    page.holds(&format!("{STATES} === {}", json!(states))).await;
    assert_eq!(
        page.eval("window.pwned === undefined && !document.querySelector('#list img, header img[src=x]')")
            .await,
        true
    );
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_received_mail_has_the_results_of_the_checks_of_its_sender() {
    let page = InboxPage::new().await;
    let mail = json!({"from": "eve@example.com", "to": "support@acme.test", "subject": "Help", "text": "x"});
    page.post("/_/received?spf=pass&dkim=processing_failed", &mail);
    page.look().await;
    page.click(".tray[data-tray=received]").await;
    page.click("#list .row").await;
    page.holds(
        "[...document.querySelectorAll('.meta .event')].map((one) => `${one.className}: ${one.textContent}`).join()
         === 'event good: SPF pass,event bad: DKIM processing failed,event calm: DMARC unknown'",
    )
    .await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_check_of_a_mail_is_text_in_groups_and_its_features_open_by_the_keyboard() {
    let page = InboxPage::new().await;
    let mut mail = email("Hi {{name}}");
    let attack = "<img src=x onerror=\"document.title='owned'\">{{<b onload=1>}}";
    mail["html"] = format!(
        "<html lang=en><p style='gap:1px;margin:0'>{}</p>{attack}<a href='http://localhost/<script>'>x</a></html>",
        "{{first}} ".repeat(7)
    )
    .into();
    page.opens(&mail).await;
    page.click(".tab[data-tab=check]").await;
    page.says(".check section[aria-label=Errors] .count.bad", "2").await;
    // One finding with its first positions; the others expand.
    let first = ".check section[aria-label=Errors] li:has(.event)";
    page.says(&format!("{first} .event"), "placeholder").await;
    page.holds(&format!(
        "document.querySelector({first:?}).querySelectorAll(':scope > .places > li').length === 3"
    ))
    .await;
    page.holds(&format!("document.querySelector({first:?}).textContent.includes('5 more places')")).await;
    page.holds("[...document.querySelectorAll('.places code')].some((one) => one.textContent.startsWith('<img src=x onerror'))").await;
    page.holds("document.querySelectorAll('.check img, .check script, .check b[onload]').length === 0 && document.title !== 'owned'").await;
    // A feature, using the keyboard.
    page.holds("document.querySelector('.features summary').textContent.startsWith('gap')").await;
    page.eval("(document.querySelector('.features summary').focus(), true)").await;
    page.keys(['\u{e007}']).await;
    page.find(".features .clients").await;
    page.holds("[...document.querySelectorAll('.clients tr')].some((row) => /Outlook.*no .*Windows/.test(row.textContent))").await;
    page.holds("document.querySelector('.features .shares rect.yes').getBoundingClientRect().width > 5")
        .await;
    page.end().await;
}
