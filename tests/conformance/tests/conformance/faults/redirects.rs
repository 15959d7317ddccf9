use idempost::{Error, error::ApiErrorKind};
use idempost_conformance::peer::{Act, Peer};

use super::send;

#[tokio::test]
async fn no_redirect_is_followed() {
    // AUTH-09, B-15
    let trap = Peer::acting([Act::accepted()]).await;
    for status in [301, 302, 303, 307, 308] {
        let (elsewhere, path) = (trap.base_url(), format!("{}/emails", trap.base_url()));
        for location in
            [Some(elsewhere.as_str()), Some(&path), Some("ftp://x"), Some("::"), Some("/emails"), None]
        {
            let headers: Vec<_> = location.into_iter().map(|location| ("location", location)).collect();
            let peer = Peer::acting([Act::answer(status, &headers, "")]).await;
            let error = send(&peer).await.unwrap_err();
            let Error::Api(refusal) = &error else { panic!("{error:?}") };
            assert_eq!((refusal.status.as_u16(), refusal.kind()), (status, ApiErrorKind::Redirect));
            assert_eq!(peer.requests().len(), 1, "{status} to {location:?}");
        }
    }
    assert_eq!(trap.connections(), 0, "the redirect was followed");
}
