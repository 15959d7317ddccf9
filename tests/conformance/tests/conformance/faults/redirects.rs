use idempost::{Error, error::ApiErrorKind};
use idempost_conformance::peer::{Act, Peer};

use super::send;

#[tokio::test]
async fn no_redirect_is_followed() {
    // AUTH-09, B-15
    let trap = Peer::acting([Act::accepted()]).await;
    for status in [301, 302, 303, 307, 308] {
        for location in
            [trap.base_url(), format!("{}/emails", trap.base_url()), "ftp://x".into(), "::".into()]
        {
            let peer = Peer::acting([Act::answer(status, &[("location", &location)], "")]).await;
            let error = send(&peer).await.unwrap_err();
            let Error::Api(refusal) = &error else { panic!("{error:?}") };
            assert_eq!((refusal.status.as_u16(), refusal.kind()), (status, ApiErrorKind::Redirect));
            assert_eq!(peer.requests().len(), 1, "{status} to {location}");
        }
    }
    assert_eq!(trap.connections(), 0, "the redirect was followed");
}

#[tokio::test]
async fn a_redirect_to_itself_or_without_target_is_an_error() {
    // B-15
    for headers in [vec![("location", "/emails")], vec![]] {
        let peer = Peer::acting([Act::answer(302, &headers, "")]).await;
        assert!(send(&peer).await.is_err());
        assert_eq!(peer.requests().len(), 1);
    }
}
