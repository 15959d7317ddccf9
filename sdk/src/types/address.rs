//! Lists of addresses for `from`, `to`, `cc`, `bcc` and `reply_to`.

/// One or more addresses, each `email` or `Name <email>`.
///
/// Converts from any list of strings: `"ada@example.com"`, `["a@x.test", "b@x.test"]` or a `Vec<String>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Recipients(Vec<String>);

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

impl From<&str> for Recipients {
    fn from(address: &str) -> Self {
        Self(vec![address.to_owned()])
    }
}

impl From<String> for Recipients {
    fn from(address: String) -> Self {
        Self(vec![address])
    }
}

impl From<&String> for Recipients {
    fn from(address: &String) -> Self {
        Self(vec![address.clone()])
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
