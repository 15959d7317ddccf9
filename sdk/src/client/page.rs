//! Lists: awaited for one page, or streamed for all items.
//!
//! Items are listed newest first. `after` pages toward older items, `before` toward newer ones, and `has_more` refers to the requested direction.
//! (The specification doesn't define the order.)

mod position;

use std::{
    borrow::Cow,
    collections::{HashSet, VecDeque},
    fmt,
    future::{Future, IntoFuture},
    hash::{BuildHasher as _, RandomState},
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, Visitor},
};

use self::position::Cursor;
pub use self::position::ListPosition;
use super::handle::Client;
use crate::{
    call::{Call, Operation, RetryPolicy},
    error::{Error, PagingError, Result},
    problem::{Problem, limits},
};

/// An item of a list, whose ID is the cursor of the next page.
pub trait Item: DeserializeOwned + Send + Unpin + 'static {
    /// Returns the item's ID, which serves as a cursor.
    fn cursor(&self) -> Option<&str>;
}

impl Item for serde_json::Value {
    fn cursor(&self) -> Option<&str> {
        self.get("id")?.as_str()
    }
}

/// One page of a list.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items, newest first.
    pub data: Vec<T>,
    /// Whether more items follow in the requested direction. According to the specification, every list response has this field. If a service omits
    /// it, more items are assumed to follow a full page: a page with as many items as requested, or 20 if the request has no
    /// [`page_size`](List::page_size).
    pub has_more: bool,
    /// Whether the response contains `has_more`.
    #[serde(skip)]
    announces_more: bool,
}

/// Implemented by hand: a derived implementation would also accept `[]` as a page.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Page<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PageVisitor(PhantomData))
    }
}

struct PageVisitor<T>(PhantomData<T>);

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Field {
    Data,
    HasMore,
    #[serde(other)]
    Other,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for PageVisitor<T> {
    type Value = Page<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list with `data` and `has_more`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Page<T>, A::Error> {
        let (mut data, mut has_more) = (None, None);
        while let Some(field) = map.next_key()? {
            match field {
                Field::Data => data = Some(map.next_value()?),
                Field::HasMore => has_more = map.next_value()?,
                Field::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let (announces_more, has_more) = (has_more.is_some(), has_more.unwrap_or_default());
        data.map(|data| Page { data, has_more, announces_more })
            .ok_or_else(|| A::Error::missing_field("data"))
    }
}

impl<T> Page<T> {
    /// If the response has no `has_more`, assumes that more items follow a full page, so that part of a list is never mistaken for the whole.
    fn with_inferred_more(mut self, page_size: Option<u8>) -> Self {
        let full = usize::from(page_size.unwrap_or(limits::PAGE_SIZE_DEFAULT));
        self.has_more |= !self.announces_more && self.data.len() == full;
        self
    }
}

impl<T: Item> Page<T> {
    /// Returns the cursor for [`List::after`]: the next page, with older items.
    pub fn next_cursor(&self) -> Option<&str> {
        self.data.last()?.cursor()
    }

    /// Returns the cursor for [`List::before`]: the previous page, with newer items.
    pub fn previous_cursor(&self) -> Option<&str> {
        self.data.first()?.cursor()
    }
}

/// A lazy list request: `.await` it for one page, or [`stream`](Self::stream) it for all items.
///
/// ```
/// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
/// use futures_util::TryStreamExt;
///
/// let newest = client.emails().list().page_size(10).await?;
/// println!("{} emails, more: {}", newest.data.len(), newest.has_more);
///
/// let mut all = client.emails().list().stream();
/// while let Some(email) = all.try_next().await? {
///     println!("{} {}", email.id, email.subject);
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "a list does nothing until it is awaited or streamed"]
pub struct List<T> {
    client: Client,
    operation: Operation,
    page_size: Option<u8>,
    cursor: Option<Cursor>,
    /// The list that the resumed position belongs to.
    resumed: Option<String>,
    item: PhantomData<fn() -> T>,
}

impl<T: Item> List<T> {
    pub(crate) fn new(client: &Client, operation: Operation) -> Self {
        Self {
            client: client.clone(),
            operation,
            page_size: None,
            cursor: None,
            resumed: None,
            item: PhantomData,
        }
    }

    /// Adds a query parameter that filters this list.
    pub(crate) fn with_query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.operation = self.operation.with_query(name, value);
        self
    }

    setters! {
        /// Sets the maximum number of items per page, 1 to 100. Default when awaited: the service's default, which is 20 or, for some lists, all items.
        /// Default when streamed: 100.
        page_size(u8);
    }

    /// Starts after this item, toward older ones, and excludes it. Replaces [`before`](Self::before).
    pub fn after(mut self, id: impl AsRef<str>) -> Self {
        self.cursor = Some(Cursor::After(id.as_ref().to_owned()));
        self
    }

    /// Starts before this item, toward newer ones, and excludes it. Replaces [`after`](Self::after).
    pub fn before(mut self, id: impl AsRef<str>) -> Self {
        self.cursor = Some(Cursor::Before(id.as_ref().to_owned()));
        self
    }

    /// Continues after the items that another stream of the same list has yielded, in the same direction, even in another process; `None` changes
    /// nothing. Replaces [`after`](Self::after) and [`before`](Self::before).
    ///
    /// The call fails with [`Error::Invalid`], and nothing is sent, if the position belongs to another list, base URL or set of filters, or if
    /// `after` or `before` was set for the other direction.
    pub fn resume(mut self, position: impl Into<Option<ListPosition>>) -> Self {
        let Some(ListPosition { list, cursor }) = position.into() else { return self };
        if let Some(given) = self.cursor.as_ref().filter(|given| given.is_newer() != cursor.is_newer()) {
            let (from, to) = (cursor.direction(), given.direction());
            let rule =
                format!("a position in a list toward {from} items can't continue a list toward {to} items");
            self.operation.faults.push(Problem::new("", "position", rule));
        }
        (self.cursor, self.resumed) = (Some(cursor), Some(list));
        self
    }

    /// Returns the URL of the list with its filters, sorted so that their order doesn't matter.
    fn url(&self) -> String {
        let mut operation = self.operation.clone();
        operation.query.sort();
        format!("{}{}", self.client.base_url().as_str().trim_end_matches('/'), operation.path_and_query())
    }

    setters! {
        /// Sets the timeout of each page request, including its retries.
        timeout(Duration) => operation.timeout;
        /// Sets the retry policy of each page request.
        retry(RetryPolicy) => operation.retry;
    }

    /// Returns the same list with its items as JSON, including unknown fields.
    pub fn as_json(self) -> List<serde_json::Value> {
        List {
            client: self.client,
            operation: self.operation,
            page_size: self.page_size,
            cursor: self.cursor,
            resumed: self.resumed,
            item: PhantomData,
        }
    }

    /// Returns the call that requests one page, for setting other options. In the page that it returns, a missing `has_more` counts as false.
    pub fn call(&self) -> Call<Page<T>> {
        let mut operation = self.operation.clone();
        if let Some(limit) = self.page_size {
            if !(1..=limits::PAGE_SIZE_MAX).contains(&limit) {
                let problem =
                    Problem::new("/limit", "range", "`limit` must be between 1 and 100").with_value(limit);
                operation.problems = Some(problem.into());
            }
            operation.query.push((Cow::Borrowed("limit"), limit.to_string()));
        }
        let other = self.resumed.as_ref().map(|list| (list, self.url())).filter(|(list, url)| *list != url);
        if let Some((list, url)) = other {
            let rule = format!("a position in {list} can't continue the list {url}");
            operation.faults.push(Problem::new("", "position", rule));
        }
        match &self.cursor {
            Some(Cursor::After(id)) => operation.query.push((Cow::Borrowed("after"), id.clone())),
            Some(Cursor::Before(id)) => operation.query.push((Cow::Borrowed("before"), id.clone())),
            None => {}
        }
        Call::new(&self.client.core, operation)
    }

    /// Returns all items, page by page, as one stream. It requests pages of 100 items unless [`page_size`](Self::page_size) is set, and requests a
    /// page only when all items of the previous page have been yielded. The service rejects that request if the last item of the previous page has
    /// been deleted since: to delete the items of a list, collect a [page](Self::pages) first.
    ///
    /// With [`before`](Self::before), the stream continues toward newer items, starting with the oldest of them.
    ///
    /// An error ends the stream. All items before it have been yielded; to continue without a gap, [`resume`](Self::resume) from the
    /// [position](Paginator::position).
    pub fn stream(self) -> Paginator<T> {
        Paginator { position: self.cursor.clone(), pages: self.pages(), items: VecDeque::new() }
    }

    /// Returns all pages as a stream.
    pub fn pages(mut self) -> Pages<T> {
        self.page_size = Some(self.page_size.unwrap_or(limits::PAGE_SIZE_MAX));
        let (url, position) = (self.url(), self.cursor.clone());
        Pages { list: Some(self), request: None, seen: RecentCursors::default(), url, position }
    }
}

/// Implemented by hand: a list can be cloned even if its items can't.
impl<T> Clone for List<T> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            operation: self.operation.clone(),
            page_size: self.page_size,
            cursor: self.cursor.clone(),
            resumed: self.resumed.clone(),
            item: PhantomData,
        }
    }
}

impl<T: Item> IntoFuture for List<T> {
    type Output = Result<Page<T>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<Page<T>>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let (call, page_size) = (self.call(), self.page_size);
        Box::pin(async move { Ok(call.await?.with_inferred_more(page_size)) })
    }
}

partial_debug! {
    /// `Debug` prints only the operation's name.
    List<T> { operation = [operation.name] }
}

/// A page request in flight.
type PageRequest<T> = Pin<Box<dyn Future<Output = Result<Page<T>>> + Send>>;

/// The pages of a list, as a stream.
#[must_use = "a stream does nothing until it is polled"]
pub struct Pages<T> {
    /// The next page to request; `None` after the last page or an error.
    list: Option<List<T>>,
    request: Option<PageRequest<T>>,
    /// The cursors of the pages so far.
    seen: RecentCursors,
    /// The URL of the list with its filters.
    url: String,
    /// The position after the last page.
    position: Option<Cursor>,
}

impl<T> Pages<T> {
    /// Returns the position after the last page yielded, from which [`List::resume`] continues; `None` at the beginning of the list.
    pub fn position(&self) -> Option<ListPosition> {
        self.position_at(self.position.as_ref())
    }

    fn position_at(&self, cursor: Option<&Cursor>) -> Option<ListPosition> {
        cursor.map(|cursor| ListPosition { list: self.url.clone(), cursor: cursor.clone() })
    }
}

impl<T: Item> Pages<T> {
    /// Returns the list that continues after this page, if there is more.
    fn follow(
        seen: &mut RecentCursors,
        list: List<T>,
        page: &Page<T>,
    ) -> Result<Option<List<T>>, PagingError> {
        if !page.has_more {
            return Ok(None);
        }
        let newer = list.cursor.as_ref().is_some_and(Cursor::is_newer);
        let edge = if newer { page.data.first() } else { page.data.last() };
        let edge = edge.ok_or(PagingError::EmptyPage)?.cursor().ok_or(PagingError::NoId)?.to_owned();
        let next = if newer { Cursor::Before(edge.clone()) } else { Cursor::After(edge.clone()) };
        if list.cursor.as_ref() == Some(&next) || !seen.insert(&edge) {
            return Err(PagingError::Repeated(edge));
        }
        Ok(Some(List { cursor: Some(next), ..list }))
    }
}

/// The cursors of the last 10,000 pages, so that a list whose pages repeat ends with an error. Longer cycles aren't detected, to limit memory.
#[derive(Default)]
struct RecentCursors {
    hasher: RandomState,
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

impl RecentCursors {
    const MAX: usize = 10_000;

    /// Returns whether the cursor is new.
    fn insert(&mut self, cursor: &str) -> bool {
        let hash = self.hasher.hash_one(cursor);
        if !self.known.insert(hash) {
            return false;
        }
        self.order.push_back(hash);
        if self.order.len() > Self::MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

impl<T: Item> Stream for Pages<T> {
    type Item = Result<Page<T>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(list) = &this.list else {
            return Poll::Ready(None);
        };
        let mut request = this.request.take().unwrap_or_else(|| list.call().into_future());
        let Poll::Ready(answer) = request.as_mut().poll(context) else {
            this.request = Some(request);
            return Poll::Pending;
        };
        let list = this.list.take();
        Poll::Ready(Some(answer.and_then(|page| {
            let page = page.with_inferred_more(list.as_ref().and_then(|list| list.page_size));
            let newer = this.position.as_ref().is_some_and(Cursor::is_newer);
            this.list = list
                .map_or(Ok(None), |list| Self::follow(&mut this.seen, list, &page))
                .map_err(Error::from)?;
            Cursor::advance(
                &mut this.position,
                if newer { page.previous_cursor() } else { page.next_cursor() },
            );
            Ok(page)
        })))
    }
}

partial_debug!(Pages<T> { list });

/// The items of a list, as a stream.
#[must_use = "a stream does nothing until it is polled"]
pub struct Paginator<T> {
    pages: Pages<T>,
    items: VecDeque<T>,
    /// The position after the last item.
    position: Option<Cursor>,
}

impl<T> Paginator<T> {
    /// Returns the position after the last item yielded, from which [`List::resume`] continues; `None` at the beginning of the list. Items without an
    /// ID don't count.
    pub fn position(&self) -> Option<ListPosition> {
        self.pages.position_at(self.position.as_ref())
    }
}

impl<T: Item> Paginator<T> {
    /// Returns the next item of the page that was received last.
    pub(super) fn next_received(&mut self) -> Option<T> {
        let item = self.items.pop_front()?;
        Cursor::advance(&mut self.position, item.cursor());
        Some(item)
    }
}

impl<T: Item> Stream for Paginator<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.next_received() {
                return Poll::Ready(Some(Ok(item)));
            }
            let newer = self.position.as_ref().is_some_and(Cursor::is_newer);
            match ready!(Pin::new(&mut self.pages).poll_next(context)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(page)) if newer => self.items = page.data.into_iter().rev().collect(),
                Some(Ok(page)) => self.items = page.data.into(),
            }
        }
    }
}

partial_debug!(Paginator<T> { waiting = [items.len()] });
