//! How much memory a record takes, so that every bound counts every byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

/// What a row costs in the ledgers, indexes and retention lists that know its ID, in bytes.
const ROW: usize = 256;
/// What an entry of a [`HeaderMap`] takes beside its text, in bytes.
const HEADER: usize = size_of::<HeaderName>() + size_of::<HeaderValue>() + 40;

/// A value that knows how much memory it takes.
pub(crate) trait Size {
    /// The bytes that it owns outside of itself.
    fn heap_size(&self) -> usize;

    /// All bytes that it takes as a record, in bytes.
    fn size(&self) -> usize
    where
        Self: Sized,
    {
        ROW + size_of::<Self>() + self.heap_size()
    }
}

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
        // A node is half full at least.
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
