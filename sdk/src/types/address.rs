//! Addresses in `from`, `to`, `cc`, `bcc` and `reply_to`.

use serde::{Serialize, Serializer};

use super::Patch;
use crate::problem::quoted_address;

/// One or more addresses, each `email` or `Name <email>`. They are serialized with quotes if RFC 5322 requires them, as in `"Acme, Inc"
/// <hi@acme.test>`.
///
/// Converts from any list of strings: `"ada@example.com"`, `["a@x.test", "b@x.test"]` or a `Vec<String>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipients(Vec<String>);

impl Serialize for Recipients {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_list(&self.0, serializer)
    }
}

/// Serializes addresses.
pub(crate) fn serialize_list<S: Serializer>(
    list: &impl AsRef<[String]>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(list.as_ref().iter().map(|address| quoted_address(address)))
}

/// Serializes a sender.
pub(crate) fn serialize_sender<S: Serializer>(
    sender: &impl Sender,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    sender.text().map(quoted_address).serialize(serializer)
}

/// A field that contains a sender; `None` is `null`.
pub(crate) trait Sender {
    fn text(&self) -> Option<&str>;
}

impl Sender for String {
    fn text(&self) -> Option<&str> {
        Some(self)
    }
}

impl Sender for Option<String> {
    fn text(&self) -> Option<&str> {
        self.as_deref()
    }
}

impl Sender for Option<&str> {
    fn text(&self) -> Option<&str> {
        *self
    }
}

impl Sender for Patch<String> {
    fn text(&self) -> Option<&str> {
        self.value().map(String::as_str)
    }
}

impl Recipients {
    /// Returns the addresses in the order in which they were added.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push(&mut self, more: Recipients) {
        self.0.extend(more.0);
    }
}

conversions! {
    Recipients {
        &str: address => Self(vec![address.to_owned()]),
        String: address => Self(vec![address]),
        &String: address => Self(vec![address.clone()]),
    }
}

impl<S: Into<String>> From<Vec<S>> for Recipients {
    fn from(addresses: Vec<S>) -> Self {
        addresses.into_iter().collect()
    }
}

impl<S: Into<String>, const N: usize> From<[S; N]> for Recipients {
    fn from(addresses: [S; N]) -> Self {
        addresses.into_iter().collect()
    }
}

impl<S: Into<String> + Clone> From<&Vec<S>> for Recipients {
    fn from(addresses: &Vec<S>) -> Self {
        addresses.iter().cloned().collect()
    }
}

impl<S: Into<String> + Clone, const N: usize> From<&[S; N]> for Recipients {
    fn from(addresses: &[S; N]) -> Self {
        addresses.iter().cloned().collect()
    }
}

impl<S: Into<String> + Clone> From<&[S]> for Recipients {
    fn from(addresses: &[S]) -> Self {
        addresses.iter().cloned().collect()
    }
}

impl<S: Into<String>> FromIterator<S> for Recipients {
    fn from_iter<I: IntoIterator<Item = S>>(addresses: I) -> Self {
        Self(addresses.into_iter().map(Into::into).collect())
    }
}
