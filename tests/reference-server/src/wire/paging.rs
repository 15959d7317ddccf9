//! The list parameters `limit`, `after` and `before`, and the pages of lists.
//!
//! Lists are newest first. `after` pages toward older items, `before` toward newer ones; the cursor's own item is never part of the page,
//! and `has_more` refers to the requested direction. The specification defines neither the order nor unknown cursors; the latter are
//! rejected like every other invalid parameter.

use std::borrow::Borrow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use url::form_urlencoded;
use uuid::Uuid;

use crate::wire::declared::{Input, Kind};
use crate::wire::problem::{Problem, json};

/// The paging mode of a list (`docs/specification.md`, Common list parameters).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Without `limit`: 20 items.
    A,
    /// Without `limit`: all items.
    B,
    /// Without `limit`: 10 items. The specification doesn't have these lists; this is Resend's default.
    Ten,
}

/// The minimum page size.
const MIN_LIMIT: usize = 1;
/// The maximum page size.
const MAX_LIMIT: usize = 100;
/// The parameters of a list.
pub const PARAMETERS: &[Input] = &[
    Input::new(
        "limit",
        Kind::Integer(MIN_LIMIT as u64, MAX_LIMIT as u64),
        "The maximum number of items; by default 20",
    ),
    Input::new("after", Kind::Id, "The ID of an item: only older ones are returned"),
    Input::new("before", Kind::Id, "The ID of an item: only newer ones are returned"),
];
/// The default page size of mode A.
const DEFAULT_LIMIT: usize = 20;

/// The page that a request selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    pub limit: Option<usize>,
    pub cursor: Option<Cursor>,
    /// The form of the list's IDs.
    pub ids: IdForm,
}

/// How IDs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdForm {
    #[default]
    Uuid,
    /// For clients an opaque text.
    Opaque,
    /// This prefix and 32 hexadecimal digits.
    Prefixed(&'static str),
}

impl IdForm {
    pub fn parse(self, text: &str) -> Option<Uuid> {
        match self {
            Self::Uuid => Uuid::try_parse(text).ok(),
            Self::Opaque => Uuid::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok(),
            Self::Prefixed(prefix) => {
                let digits = text.strip_prefix(prefix).filter(|digits| digits.len() == 32)?;
                Uuid::try_parse(digits).ok()
            }
        }
    }

    pub fn format(self, id: Uuid) -> String {
        match self {
            Self::Uuid => id.to_string(),
            Self::Opaque => URL_SAFE_NO_PAD.encode(id),
            Self::Prefixed(prefix) => format!("{prefix}{}", id.simple()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cursor {
    After(Uuid),
    Before(Uuid),
}

/// A page of a list, newest first.
#[derive(Debug, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub has_more: bool,
}

impl Window {
    /// Parses the query of a list request.
    pub fn read(query: Option<&str>, mode: Mode) -> Result<Self, Problem> {
        Self::read_with(query, mode, IdForm::Uuid)
    }

    /// The same for a list with IDs of this form.
    pub fn read_with(query: Option<&str>, mode: Mode, ids: IdForm) -> Result<Self, Problem> {
        let mut limit = None;
        let mut after = None;
        let mut before = None;
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            match &*name {
                "limit" => limit = Some(read_limit(&value)?),
                "after" => after = Some(read_cursor("after", &value, ids)?),
                "before" => before = Some(read_cursor("before", &value, ids)?),
                // Other parameters belong to the route, or are unknown and ignored.
                _ => {}
            }
        }
        let cursor = match (after, before) {
            (Some(_), Some(_)) => {
                return Err(Problem::validation("Only one of `after` and `before` may be used."));
            }
            (Some(id), None) => Some(Cursor::After(id)),
            (None, Some(id)) => Some(Cursor::Before(id)),
            (None, None) => None,
        };
        let limit = limit.or(match mode {
            Mode::A => Some(DEFAULT_LIMIT),
            Mode::B => None,
            Mode::Ten => Some(10),
        });
        Ok(Self { limit, cursor, ids })
    }

    /// Rejects a cursor outside of the list, if the list is a part of a larger store.
    pub fn check_cursor(&self, has: impl Fn(Uuid) -> bool) -> Result<(), Problem> {
        match self.cursor {
            Some(Cursor::After(id)) if !has(id) => Err(self.unknown_cursor("after", id)),
            Some(Cursor::Before(id)) if !has(id) => Err(self.unknown_cursor("before", id)),
            _ => Ok(()),
        }
    }

    /// The error for a cursor that isn't in the list.
    pub fn unknown_cursor(&self, name: &str, id: Uuid) -> Problem {
        let id = self.ids.format(id);
        Problem::validation(format!(
            "`{name}` must be the id of an item of the list; there is none with the id {id}."
        ))
    }
}

fn read_limit(text: &str) -> Result<usize, Problem> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(limit) if digits && (MIN_LIMIT..=MAX_LIMIT).contains(&limit) => Ok(limit),
        _ => Err(Problem::validation(format!(
            "`limit` must be a whole number from {MIN_LIMIT} to {MAX_LIMIT}; found {}.",
            quote(text)
        ))),
    }
}

fn read_cursor(name: &str, text: &str, ids: IdForm) -> Result<Uuid, Problem> {
    ids.parse(text).ok_or_else(|| {
        Problem::validation(format!("`{name}` must be the id of an item of the list; found {}.", quote(text)))
    })
}

/// Quotes client text for a message: without control characters, and truncated.
pub fn quote(text: &str) -> String {
    let short: String = text.chars().take(64).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("{short:?}{dots}")
}

/// The response of a list route: `{object: "list", data, has_more}`.
pub fn list<T: Serialize>(page: &Page<T>) -> Response<Bytes> {
    #[derive(Serialize)]
    struct Envelope<'a, T> {
        object: &'static str,
        data: &'a [T],
        has_more: bool,
    }
    json(StatusCode::OK, &Envelope { object: "list", data: &page.items, has_more: page.has_more })
}

impl<T> Page<T> {
    /// Converts the page to a view of each record.
    pub fn show<'a, R: 'a, U>(&'a self, view: impl Fn(&'a R) -> U) -> Page<U>
    where
        T: Borrow<R>,
    {
        Page { items: self.items.iter().map(|item| view(item.borrow())).collect(), has_more: self.has_more }
    }

    pub fn map<U>(self, to: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(to).collect(), has_more: self.has_more }
    }
}
