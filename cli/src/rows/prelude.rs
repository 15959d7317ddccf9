//! The names that the tables of commands use.

pub(crate) use super::field::{ATTACHMENTS, BODIES, Field, ID, INTERVAL};
pub(crate) use super::given::{Body, Change, Given, Plan};
pub(crate) use super::operation::{
    Act, Arguments, Checked, Compose, Create, Delete, Direct, Filtered, Name, Operation, Pages, Paging,
    Parse, Repeat, Run, Selects, Show, ShowAs, ShowOrUpdate, Tail, Update, own, with,
};
pub(crate) use super::{Property, Verb, noun};
pub(crate) use crate::actions::browser::Page;
pub(crate) use crate::actions::pages::Table;
pub(crate) use crate::output::table::{Column, Kind};
