//! Positions in lists, to continue a listing in another process.

use serde::{Deserialize, Serialize};

/// A position in a list, after the items that a stream has yielded: [`Paginator::position`](super::Paginator::position). It can be stored as JSON;
/// [`List::resume`](super::List::resume) continues from it.
///
/// ```no_run
/// # async fn example(client: &idempost::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use futures_util::TryStreamExt as _;
/// use idempost::page::ListPosition;
///
/// let stored: Option<ListPosition> = match std::fs::read("position.json") {
///     Ok(json) => serde_json::from_slice(&json)?,
///     Err(_) => None,
/// };
/// let mut emails = client.emails().list().resume(stored).stream();
/// while let Some(email) = emails.try_next().await? {
///     println!("{}", email.subject);
///     std::fs::write("position.json", serde_json::to_vec(&emails.position())?)?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// It contains the URL of the list with its filters, the direction, and the ID of the last item. The service rejects the ID if the item has been
/// deleted since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListPosition {
    /// The URL of the list, with its filters.
    pub(super) list: String,
    #[serde(flatten)]
    pub(super) cursor: Cursor,
}

/// The start of a page. The service rejects a request with both (`docs/specification.md`, Common list parameters).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Cursor {
    After(String),
    Before(String),
}

impl Cursor {
    pub(super) fn is_newer(&self) -> bool {
        matches!(self, Self::Before(_))
    }

    /// Moves a stream's cursor past an item that it yields; without a cursor, a stream starts at the newest item. An item without an ID leaves the
    /// cursor unchanged.
    pub(super) fn advance(cursor: &mut Option<Self>, id: Option<&str>) {
        let Some(id) = id.filter(|id| !id.is_empty()) else { return };
        match cursor {
            // Reuses the memory: this runs for each item.
            Some(Self::After(known) | Self::Before(known)) => {
                known.clear();
                known.push_str(id);
            }
            None => *cursor = Some(Self::After(id.to_owned())),
        }
    }

    pub(super) fn direction(&self) -> &'static str {
        if self.is_newer() { "newer" } else { "older" }
    }
}
