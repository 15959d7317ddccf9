//! Audiences: the former name of segments. Their routes still work but are deprecated (`docs/specification.md`, Versioning).

use crate::{client::List, resources::shared::Segment};

operations! {
    /// The operation on audiences: [`Client::audiences`](crate::Client::audiences).
    ///
    /// ```
    /// # #![expect(deprecated)]
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// // Until the application uses segments:
    /// let audiences = client.audiences().list().await?;
    /// println!("{} audiences", audiences.data.len());
    /// # Ok(())
    /// # }
    /// ```
    pub struct Audiences;

    /// Returns the operation on audiences, the deprecated former name of segments.
    accessor audiences;

    /// Lists segments under their former name: `GET /audiences`. It returns the same records, with the same IDs, as
    /// [`Segments::list`](crate::resources::segments::Segments::list).
    #[deprecated(note = "audiences are called segments now: use `client.segments().list()`")]
    fn list() -> List<Segment> = GET["/audiences"];
}
