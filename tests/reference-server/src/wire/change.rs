//! Updates of fields.

/// An update of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<T> {
    /// The field is absent.
    Keep,
    /// It is `null`.
    Clear,
    /// The new value.
    Set(T),
}

impl<T> Change<T> {
    /// Updates the field of a record.
    pub fn apply(self, field: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Clear => *field = None,
            Self::Set(value) => *field = Some(value),
        }
    }
}

/// Updates a field of a record that can't be cleared.
pub fn replace<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}
