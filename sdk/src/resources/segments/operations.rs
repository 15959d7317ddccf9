//! The operations on segments.

use super::metrics::{SegmentMetrics, SegmentMetricsQuery};
use crate::{
    call::Call,
    client::List,
    resources::shared::{ContactSummary, Deleted, Reference, Segment},
    types::{SegmentId, fields::Named},
};

operations! {
    /// The operations on segments: [`Client::segments`](crate::Client::segments).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// let readers = client.segments().create("Readers").await?.id;
    /// client.segments().rename(&readers, "Readers of the weekly").await?;
    /// println!("{:?}", client.segments().get(&readers).await?.name);
    /// client.segments().delete(readers).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub struct Segments;

    /// Returns the operations on segments.
    accessor segments;

    /// Lists segments, newest first: `GET /segments`. Awaited without a page size, it returns all of them.
    fn list() -> List<Segment> = GET["/segments"];

    /// Gets a segment: `GET /segments/{segment_id}`.
    fn get(id: SegmentId) -> Call<Segment> = GET["/segments/" id];

    /// Deletes a segment: `DELETE /segments/{segment_id}`. Its contacts are kept. Deleting a nonexistent segment returns the same response.
    fn delete(id: SegmentId) -> Call<Deleted<SegmentId>> = DELETE["/segments/" id];

    /// Lists the contacts of a segment, newest first: `GET /segments/{segment_id}/contacts`. Awaited without a page size, it returns all of them.
    fn contacts(id: SegmentId) -> List<ContactSummary> = GET["/segments/" id "/contacts"];

    /// Creates an empty segment: `POST /segments`. Names needn't be unique. The response contains the ID and name, but not the creation time.
    ///
    /// The client doesn't retry it if its outcome is unknown: check with [`list`](Self::list) whether the segment exists.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the name is empty, before anything is sent.
    fn create(name: String) with input (Named { name }) -> Call<Segment> = POST["/segments"];

    /// Counts contacts, in total and by segment: `GET /segments/metrics`.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// let metrics = client.segments().metrics(&idempost::segments::SegmentMetricsQuery::new().by_segment()).await?;
    /// for segment in metrics.data {
    ///     println!("{:?}: {:?} of {:?} are subscribed", segment.name, segment.subscribers, segment.all_contacts);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the query contains too many segments, before anything is sent.
    fn metrics() with query (query: &SegmentMetricsQuery) -> Call<SegmentMetrics> = GET["/segments/metrics"];

    /// Renames a segment: `PATCH /segments/{segment_id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the name is empty, before anything is sent.
    fn rename(id: SegmentId, name: String) with input (Named { name }) -> Call<Reference<SegmentId>>
        = PATCH["/segments/" id];
}
