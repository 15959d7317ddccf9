//! Audiences: the former name of segments. Their routes still work and will be removed (`SPEC.md`, Versioning).

use super::segments::Segment;
use crate::{
    call::Operation,
    client::{Client, List},
};

/// The operation on audiences: [`Client::audiences`].
///
/// ```
/// # #![expect(deprecated)]
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// // Until the application knows segments:
/// let audiences = client.audiences().list().await?;
/// println!("{} audiences", audiences.data.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Audiences<'a> {
    client: &'a Client,
}

impl Client {
    /// Audiences, the deprecated former name of segments.
    pub fn audiences(&self) -> Audiences<'_> {
        Audiences { client: self }
    }
}

impl Audiences<'_> {
    /// The segments under their former name: `GET /audiences`. It shows the same records, with the same ids, as
    /// [`Segments::list`](super::segments::Segments::list).
    #[deprecated(note = "audiences are called segments now: use `client.segments().list()`")]
    pub fn list(&self) -> List<Segment> {
        List::new(self.client, Operation::get("audiences.list", "/audiences"))
    }
}
