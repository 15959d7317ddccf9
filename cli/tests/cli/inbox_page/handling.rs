//! Unread emails, selection, deletion and notifications on the page.

use std::time::{Duration, Instant};

use idempost_drivers::TIMEOUT;
use idempost_needs::needs;
use idempost_reference_server::Settings;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{InboxPage, email};

impl InboxPage {
    /// Waits until exactly these subjects are unread, from the top.
    async fn waits_for_unread(&self, subjects: &[&str]) {
        self.waits_for_texts(".row.unread .subject", subjects).await;
    }

    /// Waits until the sandbox has exactly these emails, newest first.
    async fn waits_for_stored(&self, subjects: &[&str]) {
        let until = Instant::now() + TIMEOUT;
        loop {
            let stored = self.ask("GET", "/_/messages", &Value::Null);
            let stored = stored["data"].as_array().unwrap();
            let stored: Vec<_> = stored.iter().map(|mail| mail["subject"].as_str().unwrap()).collect();
            if stored == subjects {
                return;
            }
            assert!(Instant::now() < until, "{stored:?}, expected {subjects:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Lets the test decide when ten seconds are over: `window.later` contains the callbacks that wait for that.
    async fn stops_ten_seconds(&self) {
        self.eval(
            "(() => {
               const real = window.start = window.setTimeout;
               window.later = [];
               window.setTimeout = (act, after, ...more) => (after === 10_000 ? window.later.push(act) : real(act, after, ...more));
               return true;
             })()",
        )
        .await;
    }

    /// Clicks a button of a dialog, once it is open.
    pub(super) async fn confirm(&self, question: &str) {
        self.says("#confirm h2", question).await;
        self.click("[data-confirm]").await;
    }
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mail_is_unread_until_a_person_opens_it() {
    let page = InboxPage::new().await;
    for subject in ["one", "two", "three"] {
        page.send(&email(subject));
    }
    page.look().await;
    page.waits_for_unread(&["three", "two", "one"]).await;
    page.says(".tray[data-tray=sent] .unread span", "3").await;
    page.holds("document.querySelector('.tray .unread').textContent === '3 unread'").await;
    page.holds("document.title.startsWith('(3) ')").await;
    let weight = "getComputedStyle(document.querySelector('.row .who')).fontWeight";
    assert_eq!(page.eval(weight).await, "700");
    assert_eq!(page.eval("document.querySelector('.row .state').textContent").await, "unread, ");

    page.click(".row[data-id]").await;
    page.says(".mail h1", "three").await;
    page.waits_for_unread(&["two", "one"]).await;
    page.says(".tray[data-tray=sent] .unread span", "2").await;
    assert_ne!(page.eval(weight).await, "700");
    // To the next unread email, and back with the button.
    page.keys(['n']).await;
    page.says(".mail h1", "two").await;
    page.waits_for_unread(&["one"]).await;
    page.says("[data-act=mark]", "Mark unread").await;
    page.click("[data-act=mark]").await;
    page.waits_for_unread(&["two", "one"]).await;
    page.keys(['m']).await;
    page.waits_for_unread(&["one"]).await;
    page.click("[data-bulk=read]").await;
    page.waits_for_unread(&[]).await;
    page.holds("document.title.startsWith('Inbox')").await;

    // Another program marks emails as read, and the page shows it.
    page.ask("PATCH", "/_/messages?subject=t", &json!({"unread": true}));
    page.waits_for_unread(&["three", "two"]).await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_mail_is_deleted_without_a_question_and_the_next_one_opens() {
    let page = InboxPage::new().await;
    for subject in ["one", "two", "three", "<b>\u{202e}four"] {
        page.send(&email(subject));
    }
    page.look().await;
    page.waits_for_subjects(&["<b>U+202Efour", "three", "two", "one"]).await;
    page.click(".row[data-id]").await;
    page.click("[data-act=delete]").await;
    page.says(".toast span", "Deleted: <b>four").await;
    page.says(".mail h1", "three").await;
    page.waits_for_subjects(&["three", "two", "one"]).await;
    page.keys(['\u{E017}']).await;
    page.says(".mail h1", "two").await;
    page.waits_for_subjects(&["two", "one"]).await;
    page.says(".tray[data-tray=sent] .count", "2").await;
    // Another program deletes the open email.
    page.ask("DELETE", "/_/messages?subject=two", &Value::Null);
    page.waits_for_subjects(&["one"]).await;
    page.holds("document.querySelector('#detail').textContent.includes('This email was deleted.')").await;
    page.keys(['\u{E00C}', 'j', '#']).await;
    page.waits_for_subjects(&[]).await;
    for left in [2, 1, 0] {
        page.click("[data-act=now]").await;
        page.holds(&format!("document.querySelectorAll('[data-act=now]').length === {left}")).await;
    }
    page.waits_for_stored(&[]).await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn selected_and_found_mails_are_deleted_after_a_question() {
    let page = InboxPage::new().await;
    let names: Vec<_> = (0..8).map(|number| format!("mail {number}")).collect();
    for subject in &names {
        page.send(&email(subject));
    }
    page.look().await;
    page.holds("document.querySelectorAll('.rows .pick').length === 8").await;
    // A range: the second to the fourth email.
    page.eval(
        "(() => {
           const boxes = [...document.querySelectorAll('.rows .pick')];
           boxes[1].click();
           boxes[3].dispatchEvent(new MouseEvent('click', { shiftKey: true, bubbles: true, cancelable: true }));
           return true;
         })()",
    )
    .await;
    page.says(".bulk .soft", "3 selected").await;
    page.click("[data-bulk=read]").await;
    page.waits_for_unread(&["mail 7", "mail 3", "mail 2", "mail 1", "mail 0"]).await;
    page.click("[data-bulk=delete]").await;
    page.says("#confirm h2", "Delete 3 selected mails?").await;
    page.keys(['\u{E00C}']).await;
    page.holds("!document.getElementById('confirm').open && document.querySelectorAll('.row').length === 8")
        .await;
    page.click("[data-bulk=delete]").await;
    page.confirm("Delete 3 selected mails?").await;
    page.waits_for_subjects(&["mail 7", "mail 3", "mail 2", "mail 1", "mail 0"]).await;

    // Using the keyboard.
    page.eval("(document.querySelector('.row').focus(), true)").await;
    page.keys(['x', 'j', 'x']).await;
    page.says(".bulk .soft", "2 selected").await;
    page.keys(['#']).await;
    page.confirm("Delete 2 selected mails?").await;
    page.waits_for_subjects(&["mail 2", "mail 1", "mail 0"]).await;

    // The emails that a search finds.
    page.find("input[type=search]").await.send_keys("1").await.unwrap();
    page.waits_for_subjects(&["mail 1"]).await;
    page.click("[data-bulk=delete]").await;
    page.confirm("Delete all mails that match the search?").await;
    page.holds("document.querySelector('.note').textContent.includes('No emails match.')").await;
    page.click(".note button").await;
    page.waits_for_subjects(&["mail 2", "mail 0"]).await;
    page.click("[data-bulk=delete]").await;
    page.confirm("Delete all sent mails?").await;
    page.waits_for_subjects(&[]).await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undone_deletion_restores_a_mail_below_the_first_page_of_the_list() {
    let page = InboxPage::new().await;
    for number in 1..=60 {
        page.send(&email(&number.to_string()));
    }
    page.look().await;
    let scrolled = "(document.querySelector('.scroll').scrollTop = 1e6, true)";
    let rows = "document.querySelectorAll('.row[data-id]').length";
    page.holds(&format!("{scrolled} && {rows} === 60")).await;
    page.stops_ten_seconds().await;
    let row = "li:nth-child(58) .row[data-id]";
    page.click(row).await;
    page.says(".mail h1", "3").await;
    page.click("[data-act=delete]").await;
    page.holds(&format!("{rows} === 59")).await;
    page.click("[data-act=undo]").await;
    page.says(&format!("{row} .subject"), "3").await;
    page.holds(&format!("{rows} === 60")).await;
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_is_undone_or_final_after_ten_seconds() {
    let page = InboxPage::new().await;
    for subject in ["one", "two", "three"] {
        page.send(&email(subject));
    }
    page.look().await;
    page.waits_for_subjects(&["three", "two", "one"]).await;
    page.stops_ten_seconds().await;

    // One email, which opens again.
    page.click(".row[data-id]").await;
    page.says(".mail h1", "three").await;
    page.click("[data-act=delete]").await;
    page.says(".mail h1", "two").await;
    page.says(".tray[data-tray=sent] .count", "2").await;
    page.waits_for_stored(&["three", "two", "one"]).await;
    page.click("[data-act=undo]").await;
    page.waits_for_subjects(&["three", "two", "one"]).await;
    page.says(".mail h1", "three").await;
    page.says(".tray[data-tray=sent] .count", "3").await;

    // All of them, using the key. An email that arrives in the meantime isn't included.
    page.says("[data-bulk=delete]", "Delete all…").await;
    page.click("[data-bulk=delete]").await;
    page.confirm("Delete all sent mails?").await;
    page.waits_for_subjects(&[]).await;
    page.send(&email("four"));
    page.waits_for_subjects(&["four"]).await;
    page.keys(['z']).await;
    page.waits_for_subjects(&["four", "three", "two", "one"]).await;
    page.holds("document.querySelectorAll('[data-act=undo]').length === 0").await;

    page.click("[data-bulk=delete]").await;
    page.confirm("Delete all sent mails?").await;
    page.waits_for_subjects(&[]).await;
    page.send(&email("five"));
    page.waits_for_subjects(&["five"]).await;
    page.waits_for_stored(&["five", "four", "three", "two", "one"]).await;
    // The count is right even before the deletion is forgotten.
    page.eval(
        "(window.setTimeout = (act, after, ...more) => after !== 500 && start(act, after, ...more), true)",
    )
    .await;
    page.eval("(window.later.at(-1)(), true)").await;
    page.waits_for_stored(&["five"]).await;
    page.waits_for_subjects(&["five"]).await;
    page.says(".tray[data-tray=sent] .count", "1").await;

    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_is_final_when_the_page_is_left() {
    let page = InboxPage::new().await;
    page.send(&email("one"));
    page.look().await;
    page.click(".row[data-id]").await;
    page.click("[data-act=delete]").await;
    page.waits_for_subjects(&[]).await;
    page.waits_for_stored(&["one"]).await;
    page.driver().goto("about:blank").await.unwrap();
    page.waits_for_stored(&[]).await;
    page.browser.stop().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn received_mails_are_read_and_deleted_on_the_page_too() {
    let page = InboxPage::with(Settings { beta: true, ..Settings::default() }).await;
    for subject in ["in one", "in two"] {
        page.post(
            "/_/received",
            &json!({"from": "a@example.com", "to": "b@acme.test", "subject": subject, "text": "x"}),
        );
    }
    page.look().await;
    page.click(".tray[data-tray=received]").await;
    page.waits_for_unread(&["in two", "in one"]).await;
    page.click(".row[data-id]").await;
    page.says(".mail h1", "in two").await;
    page.waits_for_unread(&["in one"]).await;
    page.click("[data-act=delete]").await;
    page.says(".mail h1", "in one").await;
    page.waits_for_subjects(&["in one"]).await;
    page.click(".tray[data-tray=unsent]").await;
    page.holds("document.querySelector('.note').textContent.includes('No scheduled')").await;
    assert_eq!(page.eval("document.querySelectorAll('.pick, .bulk').length").await, 0);
    page.end().await;
}

#[needs("chromium", "chromedriver")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_are_shown_after_the_user_asked_for_them_and_only_in_the_background() {
    let page = InboxPage::new().await;
    page.command(
        "Page.addScriptToEvaluateOnNewDocument",
        json!({"source": "
            window.shown = [], window.asked = 0, window.inFront = false;
            document.hasFocus = () => window.inFront;
            window.Notification = class {
              static permission = 'default';
              static async requestPermission() { window.asked += 1; return (Notification.permission = 'granted'); }
              constructor(title, options) { window.shown.push([title, options.body]); }
            };"}),
    )
    .await;
    page.look().await;
    page.send(&email("Before"));
    page.waits_for_subjects(&["Before"]).await;
    assert_eq!(page.eval("[window.asked, window.shown.length]").await, json!([0, 0]), "off by default");

    page.click("#notify[aria-pressed=false]").await;
    page.find("#notify[aria-pressed=true]").await;
    page.send(&email("<img src=x onerror=alert(1)>\u{202e}gnp.exe"));
    page.holds("window.shown.length === 1").await;
    assert_eq!(page.eval("window.shown[0]").await, json!(["<img src=x onerror=alert(1)>gnp.exe", "To Ada"]));
    page.eval("(window.inFront = true)").await;
    page.send(&email("In front"));
    page.holds("document.querySelectorAll('.row').length === 3").await;
    assert_eq!(page.eval("window.shown.length").await, 1);

    page.click("#notify").await;
    page.find("#notify[aria-pressed=false]").await;
    page.eval("(window.inFront = false, true)").await;
    page.send(&email("After"));
    page.holds("document.querySelectorAll('.row').length === 4").await;
    assert_eq!(page.eval("[window.asked, window.shown.length]").await, json!([1, 1]));
    page.end().await;
}
