//! The memory that records take, so that every limit counts bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use url::Url;
use uuid::Uuid;

/// The cost of a row in the ledgers, indexes and retention lists that contain its ID, in bytes.
const ROW: usize = 256;
/// The cost of a [`HeaderMap`] entry besides its text, in bytes.
const HEADER: usize = size_of::<HeaderName>() + size_of::<HeaderValue>() + 40;

/// A value that knows its memory use.
pub trait Size {
    /// The bytes that it owns on the heap.
    fn heap_size(&self) -> usize;

    /// Its total size as a record, in bytes.
    fn size(&self) -> usize
    where
        Self: Sized,
    {
        ROW + size_of::<Self>() + self.heap_size()
    }
}

/// Implements [`Size`] for a struct with all of its fields: omitting one doesn't compile.
macro_rules! heap_size {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl $crate::store::size::Size for $type {
            fn heap_size(&self) -> usize {
                let Self { $($field),* } = self;
                0 $(+ $crate::store::size::Size::heap_size($field))*
            }
        }
    };
}

/// Implements [`Size`] for types without heap memory.
macro_rules! no_heap {
    ($($type:ty),* $(,)?) => {
        $(impl $crate::store::size::Size for $type {
            fn heap_size(&self) -> usize {
                0
            }
        })*
    };
}

pub(crate) use {heap_size, no_heap};

no_heap!(bool, u16, u64, usize, &'static str, Uuid, Timestamp, SignedDuration);

impl Size for String {
    fn heap_size(&self) -> usize {
        self.capacity()
    }
}

impl Size for Bytes {
    fn heap_size(&self) -> usize {
        self.len()
    }
}

impl Size for Arc<str> {
    fn heap_size(&self) -> usize {
        self.len()
    }
}

impl Size for Url {
    fn heap_size(&self) -> usize {
        self.as_str().len()
    }
}

impl<T: Size> Size for Option<T> {
    fn heap_size(&self) -> usize {
        self.as_ref().map_or(0, Size::heap_size)
    }
}

impl<T: Size> Size for Vec<T> {
    fn heap_size(&self) -> usize {
        self.capacity() * size_of::<T>() + self.iter().map(Size::heap_size).sum::<usize>()
    }
}

impl<A: Size, B: Size> Size for (A, B) {
    fn heap_size(&self) -> usize {
        self.0.heap_size() + self.1.heap_size()
    }
}

impl<K: Size, V: Size> Size for BTreeMap<K, V> {
    fn heap_size(&self) -> usize {
        // Nodes are at least half full.
        let nodes = 2 * self.len() * (size_of::<K>() + size_of::<V>());
        nodes + self.iter().map(|(key, value)| key.heap_size() + value.heap_size()).sum::<usize>()
    }
}

impl Size for HeaderMap {
    fn heap_size(&self) -> usize {
        let texts = self.iter().map(|(name, value)| name.as_str().len() + value.len());
        self.capacity().max(self.len()) * HEADER + texts.sum::<usize>()
    }
}

impl<T: Size> Size for BTreeSet<T> {
    fn heap_size(&self) -> usize {
        2 * self.len() * size_of::<T>() + self.iter().map(Size::heap_size).sum::<usize>()
    }
}

/// Shared values count for each owner.
impl<T: Size> Size for Arc<T> {
    fn heap_size(&self) -> usize {
        size_of::<T>() + T::heap_size(self)
    }
}

impl<T: Size> Size for Box<T> {
    fn heap_size(&self) -> usize {
        size_of::<T>() + T::heap_size(self)
    }
}

impl Size for Value {
    fn heap_size(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => 0,
            Self::String(text) => text.heap_size(),
            Self::Array(items) => items.heap_size(),
            Self::Object(fields) => {
                // An entry has its hash, and both its position in the table, which is at least half full.
                let entry = size_of::<String>() + size_of::<Self>() + 4 * size_of::<usize>();
                let texts = fields.iter().map(|(name, value)| name.heap_size() + value.heap_size());
                2 * fields.len() * entry + texts.sum::<usize>()
            }
        }
    }
}
