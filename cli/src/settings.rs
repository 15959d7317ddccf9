//! The program's settings and where each came from.

pub(crate) mod credential;
pub(crate) mod env;
pub(crate) mod file;
pub(crate) mod keys;
pub(crate) mod merge;
pub(crate) mod paths;
mod secrets;
pub(crate) mod store;

pub(crate) use merge::{Credential, Flags, Form, ProgressStyle, Settings, Source, load};
