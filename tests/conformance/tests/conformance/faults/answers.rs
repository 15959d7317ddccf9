use idempost::{Error, Outcome, error::Recovery};
use idempost_conformance::peer::{Act, Peer, answer};

use super::{client, email, keys, send};

#[tokio::test]
async fn an_unreadable_success_is_fetched_once_more_and_then_reported() {
    // B-05
    for (body, outcome) in [
        ("", Outcome::Unknown),
        ("null", Outcome::Unknown),
        ("[]", Outcome::Unknown),
        ("\"x\"", Outcome::Unknown),
        ("<html>Bad gateway</html>", Outcome::Unknown),
        ("{}", Outcome::Unknown),
        ("{\"status\":\"ok\"}", Outcome::Unknown),
        ("{\"id\":", Outcome::Accepted),
        ("{\"id\":\"1\"} trailing", Outcome::Accepted),
    ] {
        let peer = Peer::acting([Act::json(200, body)]).await;
        let error = send(&peer).await.unwrap_err();
        let Error::Decode(unreadable) = &error else { panic!("{body:?}: {error:?}") };
        assert_eq!((unreadable.status.as_u16(), error.outcome()), (200, outcome), "{body:?}");
        assert_eq!(peer.requests().len(), 2, "{body:?}");
        assert_eq!(error.idempotency_key().unwrap().as_str(), keys(&peer)[1]);
        assert_eq!(unreadable.sample, body);
    }
}

#[tokio::test]
async fn an_unreadable_acceptance_may_be_readable_when_fetched_again() {
    // B-05
    let peer = Peer::acting([Act::json(200, "{"), Act::accepted()]).await;
    assert_eq!(send(&peer).await.unwrap().id.as_str(), "4ef9a417-02e9-4d39-ad75-9611e0fcc33c");
    assert_eq!(keys(&peer)[0], keys(&peer)[1]);
}

#[tokio::test]
async fn an_accepted_email_with_a_cut_off_response_has_its_id_or_a_way_to_it() {
    // B-05
    for (body, id) in [
        (r#"{"object":"email","id":"49a3999c","cre"#, Some("49a3999c")),
        (r#"{"id":"49a3999c""#, Some("49a3999c")),
        (r#"{"id":"49a39"#, None),
        ("{", None),
        (r#"{"id":7,"x"#, None),
    ] {
        let whole = Act::json(200, body);
        let Act::Answer(mut bytes) = Act::json(200, &format!("{body}{}", " ".repeat(9))) else {
            unreachable!()
        };
        bytes.truncate(bytes.len() - 9);
        // A complete response with an incomplete body, and one whose connection was closed.
        for cut in [whole, Act::AnswerAndClose(bytes)] {
            let peer = Peer::acting([cut]).await;
            let error = send(&peer).await.unwrap_err();
            let Error::Decode(unread) = &error else { panic!("{body}: {error:?}") };
            assert_eq!(
                (error.outcome(), error.recovery(), unread.id()),
                (Outcome::Accepted, Recovery::Never, id)
            );
            assert!(
                error.to_string().starts_with("the service accepted the request (status 200)"),
                "{error}"
            );
            let next = id.unwrap_or("a call with the same idempotency key returns it");
            assert!(error.to_string().contains(next), "{error}");
        }
    }
}

#[tokio::test]
async fn the_sample_of_an_unreadable_response_is_short_and_terminal_safe() {
    // B-05
    let body = format!("\u{1b}[2J{}", "x".repeat(5_000));
    let peer = Peer::acting([Act::json(200, &body)]).await;
    let Error::Decode(unreadable) = send(&peer).await.unwrap_err() else { panic!("readable") };
    assert!(unreadable.sample.len() < 600, "{}", unreadable.sample.len());
    assert!(!unreadable.sample.contains('\u{1b}'));
}

#[tokio::test]
async fn every_2xx_with_a_body_is_a_success() {
    // B-06
    for status in [200, 201, 202, 203] {
        let peer = Peer::acting([Act::json(status, r#"{"id":"1"}"#)]).await;
        assert_eq!(send(&peer).await.unwrap().id.as_str(), "1", "{status}");
    }
    let peer = Peer::acting([Act::Answer(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())]).await;
    let error = send(&peer).await.unwrap_err();
    assert_eq!((error.status().unwrap().as_u16(), error.outcome()), (204, Outcome::Unknown));
}

#[tokio::test]
async fn informational_responses_are_skipped() {
    // B-16
    for before in ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"] {
        let mut bytes = before.as_bytes().to_vec();
        bytes.extend(answer(200, &[], br#"{"id":"1"}"#));
        let peer = Peer::acting([Act::Answer(bytes)]).await;
        assert_eq!(send(&peer).await.unwrap().id.as_str(), "1");
    }
    let switching = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n".to_vec();
    let peer = Peer::acting([Act::AnswerAndClose(switching)]).await;
    assert!(send(&peer).await.is_err());
}

#[tokio::test]
async fn ids_are_opaque_strings() {
    // GEN-19, EMAIL-65
    for id in ["17", "not-a-uuid", "é/ü", "4EF9A417-02E9-4D39-AD75-9611E0FCC33C"] {
        let peer = Peer::acting([Act::json(200, &format!(r#"{{"id":"{id}"}}"#))]).await;
        assert_eq!(send(&peer).await.unwrap().id.as_str(), id);
    }
}

#[tokio::test]
async fn an_id_becomes_one_path_segment() {
    // GEN-31, A-33
    let peer = Peer::acting([Act::refused(404, "not_found")]).await;
    let client = client(&peer.base_url());
    for (id, segment) in [
        ("a/b", "a%2Fb"),
        ("a@b", "a@b"),
        ("a+b", "a+b"),
        ("a b", "a%20b"),
        ("a?b#c", "a%3Fb%23c"),
        ("a%2Fb", "a%252Fb"),
        ("é", "%C3%A9"),
    ] {
        let _ = client.emails().get(id).await;
        let target = peer.requests().last().unwrap().target().to_owned();
        let decoded = target.replace("%40", "@").replace("%2B", "+");
        assert_eq!(decoded, format!("/emails/{segment}"));
    }
    let before = peer.requests().len();
    for id in ["", ".", ".."] {
        let error = client.emails().get(id).await.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{id:?}: {error:?}");
    }
    assert_eq!(peer.requests().len(), before, "nothing was sent");
}

#[tokio::test]
async fn paths_are_appended_to_a_base_url_with_a_prefix() {
    // GEN-12, GEN-30, A-47
    for (suffix, target) in
        [("", "/emails"), ("/", "/emails"), ("/v9/mail", "/v9/mail/emails"), ("/v9/", "/v9/emails")]
    {
        let peer = Peer::acting([Act::accepted()]).await;
        client(&format!("{}{suffix}", peer.base_url())).emails().send(&email()).await.unwrap();
        assert_eq!(peer.requests()[0].target(), target, "{suffix:?}");
    }
}

#[tokio::test]
async fn cookies_are_never_kept() {
    // B-26
    let cookie = Act::answer(200, &[("set-cookie", "session=1; Path=/")], r#"{"id":"1"}"#);
    let peer = Peer::acting([cookie]).await;
    let client = client(&peer.base_url());
    for _ in 0..2 {
        client.emails().send(&email()).await.unwrap();
    }
    assert_eq!(peer.requests()[1].header("cookie"), None);
}
