//! A value that is computed on first access.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;

type Make<T> = Box<dyn FnOnce() -> T + Send>;

/// A value that is computed on first access, and shared by all clones. It dereferences to the value itself.
pub struct Lazy<T>(Arc<LazyLock<T, Make<T>>>);

impl<T> Lazy<T> {
    pub(crate) fn new(make: impl FnOnce() -> T + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(make))))
    }
}

impl<T> Deref for Lazy<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clone for Lazy<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: PartialEq> PartialEq for Lazy<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: PartialEq> PartialEq<T> for Lazy<T> {
    fn eq(&self, other: &T) -> bool {
        **self == *other
    }
}

impl<T: fmt::Debug> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl PartialEq<Lazy<Bytes>> for Bytes {
    fn eq(&self, other: &Lazy<Bytes>) -> bool {
        *self == **other
    }
}

impl AsRef<[u8]> for Lazy<Bytes> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}
