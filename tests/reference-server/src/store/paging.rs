//! Pages of lists.

use uuid::Uuid;

use crate::store::ledger::Ordered;
use crate::wire::paging::unknown_cursor;
use crate::wire::{Cursor, Page, Problem, Window};

impl Window {
    /// One page of a list.
    pub fn show<L: Ordered>(&self, list: &L) -> Result<Page<L::Item>, Problem> {
        let position = |name, id| list.position(id).ok_or_else(|| unknown_cursor(name, id));
        Ok(match self.cursor {
            None => self.take(list.newest_first_of(0..u64::MAX)),
            Some(Cursor::After(id)) => self.take(list.newest_first_of(0..position("after", id)?)),
            Some(Cursor::Before(id)) => {
                let newer = list.oldest_first_of(position("before", id)? + 1..u64::MAX);
                let mut page = self.take(newer);
                // Collected toward newer items, but shown newest first like every page.
                page.items.reverse();
                page
            }
        })
    }

    /// A snapshot of all items from the cursor on, for a filter that is too slow to run under the lock.
    pub fn walk<L: Ordered>(&self, list: &L) -> Result<Walk<L::Item>, Problem> {
        let position = |name, id| list.position(id).ok_or_else(|| unknown_cursor(name, id));
        let items = match self.cursor {
            None => list.newest_first_of(0..u64::MAX).cloned().collect(),
            Some(Cursor::After(id)) => list.newest_first_of(0..position("after", id)?).cloned().collect(),
            Some(Cursor::Before(id)) => {
                list.oldest_first_of(position("before", id)? + 1..u64::MAX).cloned().collect()
            }
        };
        Ok(Walk { window: *self, items })
    }

    /// One page of items in their own order: `after` leads to the following ones.
    pub fn slice<T: Clone>(&self, items: &[T], id: impl Fn(&T) -> Uuid) -> Result<Page<T>, Problem> {
        let place = |name, wanted: Uuid| {
            items.iter().position(|item| id(item) == wanted).ok_or_else(|| unknown_cursor(name, wanted))
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

    pub fn take<'a, T: Clone + 'a>(&self, mut items: impl Iterator<Item = &'a T>) -> Page<T> {
        let Some(limit) = self.limit else {
            return Page { items: items.cloned().collect(), has_more: false };
        };
        let page = items.by_ref().take(limit).cloned().collect();
        Page { items: page, has_more: items.next().is_some() }
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
        let mut page = self.window.take(self.items.iter().filter(|item| wanted(item)));
        if let Some(Cursor::Before(_)) = self.window.cursor {
            page.items.reverse();
        }
        page
    }
}
