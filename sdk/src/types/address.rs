//! Addresses: what may stand in `from`, `to`, `cc`, `bcc` and `reply_to`.

/// One or many addresses, each `email` or `Name <email>`.
///
/// Anything that reads as a list of texts converts into it, so `"ada@example.com"`, `["a@x.test", "b@x.test"]` and a
/// `Vec<String>` can all be given where recipients are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Recipients(Vec<String>);

impl Recipients {
    /// The addresses in the order in which they were given.
    pub fn as_slice(&self) -> &[String] {
        &self.0
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
