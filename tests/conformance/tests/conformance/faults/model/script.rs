//! The network as a transport: no sockets, and time that passes by itself while everything waits.

use std::future::pending;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use idempost::transport::{
    BoxFuture, RequestDelivery, ResponseBody, Transport, TransportError, TransportErrorKind, TransportRequest,
};

use super::{
    event::{Act, Response},
    service::{Service, Signal},
};

pub(super) const BASE_URL: &str = "http://127.0.0.1:9";
pub(super) const TOKEN_ENDPOINT: &str = "http://127.0.0.1:9/oauth/token";

#[derive(Clone)]
pub(super) struct Script(pub(super) Service);

impl Transport for Script {
    fn send(
        &self,
        request: TransportRequest,
    ) -> BoxFuture<'_, Result<http::Response<ResponseBody>, TransportError>> {
        Box::pin(async move {
            let service = &self.0;
            if request.url.as_str() == TOKEN_ENDPOINT {
                let tokens = r#"{"access_token":"at_2","refresh_token":"rt_2","token_type":"Bearer","expires_in":86400}"#;
                return Ok(http::Response::new(ResponseBody::from(tokens)));
            }
            let met = service.next();
            let act = met.event.act;
            let failed = |delivery, kind| Err(TransportError::new(delivery, kind));
            let unsent = |kind| failed(RequestDelivery::NotSent, kind);
            request.report_connecting();
            match act {
                Act::Refuse => return unsent(TransportErrorKind::Connect),
                Act::Untrusted => return unsent(TransportErrorKind::Tls),
                Act::Unconnected => {
                    service.signal(Signal::Silent);
                    return pending().await;
                }
                _ => {}
            }
            let body: Vec<Bytes> = request.body.stream().try_collect().await.unwrap();
            let size = body.iter().map(Bytes::len).sum::<usize>();
            let received = if act == Act::CutRequest { size / 2 } else { size };
            request.report_uploaded(received.try_into().unwrap());
            let key = request.headers.get("idempotency-key");
            service.receive(met, key.map(|key| key.to_str().unwrap().to_owned()), received);
            let lost = || TransportError::new(RequestDelivery::Unknown, TransportErrorKind::Closed);
            let half = |response: Response| stream::iter([Ok(Bytes::from(response.half()))]);
            match act {
                Act::Respond(response) => Ok(head(response, ResponseBody::from(response.body))),
                Act::CutBody(response) => {
                    let end = stream::iter([Err(lost())]);
                    Ok(head(response, ResponseBody::stream(half(response).chain(end))))
                }
                Act::StallBody(response) => {
                    service.signal(Signal::Silent);
                    Ok(head(response, ResponseBody::stream(half(response).chain(stream::pending()))))
                }
                Act::Stall => {
                    service.signal(Signal::Silent);
                    pending().await
                }
                _ => Err(lost()),
            }
        })
    }
}

fn head(response: Response, body: ResponseBody) -> http::Response<ResponseBody> {
    let mut head = http::Response::builder().status(response.status);
    head = head.header(CONTENT_TYPE, response.content_type());
    if let Some(seconds) = response.retry_after {
        head = head.header(RETRY_AFTER, seconds);
    }
    head.body(body).unwrap()
}
