//! The program's settings and their sources.

pub(crate) mod credential;
pub(crate) mod env;
pub(crate) mod file;
pub(crate) mod keys;
pub(crate) mod merge;
pub(crate) mod network;
pub(crate) mod paths;
pub(crate) mod profiles;
pub(crate) mod secrets;
pub(crate) mod store;
mod value;

pub(crate) use merge::{Flags, Settings, load};
pub(crate) use value::{ColorChoice, Credential, Form, ProgressStyle, Setting, Source, StoreKind};
