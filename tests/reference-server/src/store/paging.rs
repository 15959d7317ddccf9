//! Pages of lists.

use uuid::Uuid;

use crate::store::ledger::Ordered;
use crate::wire::{Cursor, Page, Problem, Window};

impl Window {
    /// One page of a list.
    pub fn show<L: Ordered>(&self, list: &L) -> Result<Page<L::Item>, Problem> {
        Ok(self.page(self.items(list)?))
    }

    /// A snapshot of all items from the cursor on, for a filter that is too slow to run under the lock.
    pub fn walk<L: Ordered>(&self, list: &L) -> Result<Walk<L::Item>, Problem> {
        Ok(Walk { window: *self, items: self.items(list)?.cloned().collect() })
    }

    /// The items from the cursor on, in its direction.
    fn items<'l, L: Ordered>(
        &self,
        list: &'l L,
    ) -> Result<Box<dyn Iterator<Item = &'l L::Item> + 'l>, Problem> {
        let position = |name, id| list.position(id).ok_or_else(|| self.unknown_cursor(name, id));
        Ok(match self.cursor {
            None => Box::new(list.newest_first_of(0..u64::MAX)),
            Some(Cursor::After(id)) => Box::new(list.newest_first_of(0..position("after", id)?)),
            Some(Cursor::Before(id)) => Box::new(list.oldest_first_of(position("before", id)? + 1..u64::MAX)),
        })
    }

    /// One page of items in their own order: `after` leads to the following ones.
    pub fn slice<T: Clone>(&self, items: &[T], id: impl Fn(&T) -> Uuid) -> Result<Page<T>, Problem> {
        let place = |name, wanted: Uuid| {
            let place = items.iter().position(|item| id(item) == wanted);
            place.ok_or_else(|| self.unknown_cursor(name, wanted))
        };
        let limit = self.limit.unwrap_or(items.len());
        let (start, end, has_more) = match self.cursor {
            Some(Cursor::Before(id)) => {
                let end = place("before", id)?;
                let start = end.saturating_sub(limit);
                (start, end, start > 0)
            }
            Some(Cursor::After(_)) | None => {
                let start =
                    if let Some(Cursor::After(id)) = self.cursor { place("after", id)? + 1 } else { 0 };
                let end = items.len().min(start + limit);
                (start, end, end < items.len())
            }
        };
        Ok(Page { items: items[start..end].to_vec(), has_more })
    }

    fn page<'a, T: Clone + 'a>(&self, mut items: impl Iterator<Item = &'a T>) -> Page<T> {
        let first = items.by_ref().take(self.limit.unwrap_or(usize::MAX)).cloned().collect();
        let mut page = Page { items: first, has_more: items.next().is_some() };
        if let Some(Cursor::Before(_)) = self.cursor {
            // Collected toward newer items, but shown newest first like every page.
            page.items.reverse();
        }
        page
    }
}

/// The items of a list from a window's cursor on.
pub struct Walk<T> {
    window: Window,
    items: Vec<T>,
}

impl<T: Clone> Walk<T> {
    /// One page of the items that match `wanted`.
    pub fn page_where(&self, mut wanted: impl FnMut(&T) -> bool) -> Page<T> {
        self.window.page(self.items.iter().filter(|item| wanted(item)))
    }
}
