//! Segments: groups of contacts, which broadcasts go to.

use http::Method;
use serde::{Deserialize, Serialize};

use super::{Deleted, Reference, contacts::ContactSummary};
use crate::{
    call::{Call, Operation},
    client::{Client, Item, List},
    problem::Validator,
    types::{SegmentId, Timestamp},
};

/// One segment (`SPEC.md`, Segment and audience).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Segment {
    /// The segment's id. A broadcast goes to it: [`NewBroadcast::new`](crate::NewBroadcast::new).
    pub id: SegmentId,
    /// What its makers call it.
    #[serde(default)]
    pub name: Option<String>,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
}

impl Item for Segment {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// The operations on segments: [`Client::segments`].
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// let readers = client.segments().create("Readers").await?.id;
/// client.segments().rename(&readers, "Readers of the weekly").await?;
/// println!("{:?}", client.segments().get(&readers).await?.name);
/// client.segments().delete(readers).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Segments<'a> {
    client: &'a Client,
}

impl Client {
    /// Segments: groups of contacts.
    pub fn segments(&self) -> Segments<'_> {
        Segments { client: self }
    }
}

impl Segments<'_> {
    /// Creates a segment without members: `POST /segments`. Two segments may have the same name. The answer names it and
    /// doesn't tell when it was made.
    ///
    /// It is not tried again when its outcome is unknown: look for it with [`list`](Self::list).
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the name is empty, before anything is sent.
    pub fn create(&self, name: impl Into<String>) -> Call<Segment> {
        let named = Named { name: name.into() };
        let operation =
            Operation::new("segments.create", Method::POST, "/segments").validated(&named).with_json(&named);
        Call::new(&self.client.core, operation)
    }

    /// The segments, newest first: `GET /segments`, all of them on one page unless a limit is given.
    pub fn list(&self) -> List<Segment> {
        List::new(self.client, Operation::get("segments.list", "/segments"))
    }

    /// One segment: `GET /segments/{segment_id}`.
    pub fn get(&self, id: impl Into<SegmentId>) -> Call<Segment> {
        Call::new(&self.client.core, on("segments.get", Method::GET, &id.into(), ""))
    }

    /// Gives a segment another name: `PATCH /segments/{segment_id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the name is empty, before anything is sent.
    pub fn rename(&self, id: impl Into<SegmentId>, name: impl Into<String>) -> Call<Reference<SegmentId>> {
        let named = Named { name: name.into() };
        let operation =
            on("segments.rename", Method::PATCH, &id.into(), "").validated(&named).with_json(&named);
        Call::new(&self.client.core, operation)
    }

    /// Deletes a segment: `DELETE /segments/{segment_id}`. Its contacts stay. The service answers the same for one that does not exist.
    pub fn delete(&self, id: impl Into<SegmentId>) -> Call<Deleted<SegmentId>> {
        Call::new(&self.client.core, on("segments.delete", Method::DELETE, &id.into(), ""))
    }

    /// The contacts in a segment, newest first: `GET /segments/{segment_id}/contacts`, all of them on one page unless a limit is given.
    pub fn contacts(&self, id: impl Into<SegmentId>) -> List<ContactSummary> {
        List::new(self.client, on("segments.contacts", Method::GET, &id.into(), "/contacts"))
    }
}

#[derive(Serialize)]
struct Named {
    name: String,
}

impl Named {
    fn validate(&self, v: &mut Validator) {
        v.required("name", &self.name);
    }
}

validate!(private Named);

fn on(name: &'static str, method: Method, id: &SegmentId, after: &'static str) -> Operation {
    Operation::on(name, method, "/segments/", id.as_str(), after)
}
