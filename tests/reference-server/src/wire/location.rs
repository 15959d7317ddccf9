//! The locations of values in a body.

use std::fmt::{self, Display};

use crate::wire::ignored::MAX_NAME;

/// The location of a value in the body. Displays its name in messages (`attachments[0].path`), which is formatted only for them.
#[derive(Clone, Copy)]
pub enum Location<'a> {
    Body,
    Field(&'a Location<'a>, &'a str),
    Item(&'a Location<'a>, usize),
}

impl Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body => Ok(()),
            Self::Field(parent, field) => {
                let dot = if matches!(parent, Self::Body) { "" } else { "." };
                write!(f, "{parent}{dot}{}", &field[..field.floor_char_boundary(MAX_NAME)])
            }
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

impl Location<'_> {
    /// The JSON pointer.
    pub fn pointer(&self) -> String {
        match self {
            Self::Body => String::new(),
            Self::Field(parent, field) => {
                format!("{}/{}", parent.pointer(), field.replace('~', "~0").replace('/', "~1"))
            }
            Self::Item(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }

    /// As the subject of a sentence.
    pub fn subject(&self) -> String {
        if matches!(self, Self::Body) { "The body".to_owned() } else { format!("`{self}`") }
    }
}
