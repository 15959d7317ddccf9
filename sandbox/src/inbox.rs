//! The inbox page and its data: captured and received emails as JSON, their checks and changes.
//!
//! These routes aren't part of the service: they are neither rate limited nor logged, and scripted faults don't apply to them. As everywhere, an API
//! key in `Authorization` selects a tenant; so does its account ID. Read-only routes also accept `?key=`, since frames, downloads and event streams
//! can't send a header. The pages of shared emails need no key.
//!
//! | file | contents |
//! |---|---|
//! | `routes` | the route table |
//! | `page`, `page/` | the page itself: static files, which request everything else |
//! | `view` | accounts, and lists without a separate file |
//! | `live` | server-sent events |
//! | `mail`, `mail/…` | the details of an email; its HTML as an isolated document, and the remote images in it |
//! | `images`, `remote` | loads an email's remote images on request |
//! | `search` | the search language of these lists |
//! | `messages`, `received`, `export` | lists of emails, and receiving |
//! | `mailpit` | the API of Mailpit under `/api/v1` |
//! | `openapi` | the contracts of the service and of these routes |
//! | `mutations` | marking emails as read, and deletion |
//! | `wait` | responses that wait for an email |
//! | `check` | the check of an email, and of its links on request |
//! | `unsent` | scheduled, queued, failed and canceled emails |
//! | `requests`, `timeline`, `templates` | the request of an email, its events, previews of templates |
//! | `shared` | the pages of shared emails |
//! | `release` | releases an email to a real server |

mod check;
mod export;
mod images;
mod live;
mod mail;
pub(crate) mod mailpit;
mod messages;
mod mutations;
mod openapi;
mod page;
mod received;
mod release;
mod remote;
mod requests;
pub(crate) mod routes;
mod search;
mod shared;
mod templates;
mod timeline;
mod unsent;
mod view;
mod wait;

use std::sync::{Arc, Mutex};

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use url::form_urlencoded;

use self::search::{Search, Searchable};
use idempost_reference_server::lock::lock;
use idempost_reference_server::route::{AccountCall, Call};
use idempost_reference_server::state::event_bus::BusEvent;
use idempost_reference_server::state::mails::Folder;
use idempost_reference_server::store::mails::{Mails, StoredMail};
use idempost_reference_server::wire::declared::{Input, Kind};
use idempost_reference_server::wire::paging::{self, Mode, Page, Window};
use idempost_reference_server::wire::problem::Problem;

/// Returns the folder in a mail's path.
fn folder(call: &Call<'_>) -> Folder {
    if call.parameter(0) == "messages" { Folder::Sent } else { Folder::Received }
}

/// The parameter of a list that newer mails are requested with, renamed for clients that use it.
const AFTER_ID: &[Input] = &[Input::new("after_id", Kind::Id, "The same as `before`")];

/// Reads the page that a request selects, mode A. `after_id` corresponds to `before`, renamed for clients that request newer mails.
fn window(call: &Call<'_>) -> Result<Window, Problem> {
    let parameters = call.parameters();
    let own = parameters.of(paging::PARAMETERS).map(|(input, value)| (input.name, value));
    let pairs = own.chain(parameters.of(AFTER_ID).map(|(_, value)| ("before", value)));
    let parameters = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    Window::read(Some(&parameters), Mode::A)
}

/// Returns one page of the matching mails. A search runs without the lock of the mails and stops when the client disconnects.
fn matching_page<T: StoredMail + Searchable>(
    call: &AccountCall<'_>,
    mails: &Mutex<Mails<T>>,
    window: &Window,
) -> Result<Page<Arc<T>>, Problem> {
    let (search, canceled) = (Search::read(call)?, call.cancellation());
    if search.is_empty() {
        return window.show(&**lock(mails));
    }
    let walk = window.walk(&**lock(mails))?;
    let mut matcher = search.matcher(&call.tenant);
    let page = walk.page_where(|mail| canceled.is_canceled() || matcher.matches(&**mail));
    canceled.check().map(|()| page)
}

/// Returns the number of mails, and how many are unread.
fn count<T: StoredMail>(mails: &Mutex<Mails<T>>) -> (usize, usize) {
    let mails = lock(mails);
    (mails.len(), mails.unread())
}

/// Waits for an event, then takes others that are available, `max` in all. Returns them, and whether events were missed; `None` after the last one.
async fn next_events(events: &mut Receiver<BusEvent>, max: usize) -> Option<(Vec<BusEvent>, bool)> {
    let (mut batch, mut missed) = (Vec::new(), false);
    match events.recv().await {
        Ok(event) => batch.push(event),
        Err(RecvError::Lagged(_)) => missed = true,
        Err(RecvError::Closed) => return None,
    }
    while batch.len() < max {
        match events.try_recv() {
            Ok(event) => batch.push(event),
            Err(TryRecvError::Lagged(_)) => missed = true,
            Err(TryRecvError::Empty | TryRecvError::Closed) => break,
        }
    }
    Some((batch, missed))
}
