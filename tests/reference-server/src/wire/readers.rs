//! Readers of common types, for [`Fields`](crate::wire::fields::Fields).

use std::borrow::Cow;
use std::sync::Arc;

use uuid::Uuid;

use crate::wire::fields::Field;
use crate::wire::problems::Checked;

/// A string.
pub fn string(field: &Field<'_>) -> Checked<String> {
    field.text().map(Cow::into_owned)
}

/// A string, shared.
pub fn shared(field: &Field<'_>) -> Checked<Arc<str>> {
    field.text().map(|text| Arc::from(&*text))
}

/// A string without control characters.
pub fn line(field: &Field<'_>) -> Checked<String> {
    field.as_line().map(Cow::into_owned)
}

/// A string of at most this many characters.
pub fn at_most(max: usize) -> impl Fn(&Field<'_>) -> Checked<String> {
    move |field| {
        let text = field.text()?;
        match text.chars().count() {
            found if found > max => {
                Err(field.reject(format_args!("must have at most {max} characters; found {found}")))
            }
            _ => Ok(text.into_owned()),
        }
    }
}

/// A string that isn't empty.
pub fn non_empty(field: &Field<'_>) -> Checked<String> {
    let text = field.text()?;
    if text.is_empty() { Err(field.reject("must not be empty")) } else { Ok(text.into_owned()) }
}

/// A string with more than white space.
pub fn non_blank(field: &Field<'_>) -> Checked<String> {
    let text = field.text()?;
    if text.trim().is_empty() { Err(field.reject("must not be empty")) } else { Ok(text.into_owned()) }
}

/// An ID.
pub fn uuid(field: &Field<'_>) -> Checked<Uuid> {
    field.parse_with(|text| Uuid::try_parse(text).map_err(|_| "must be a UUID"))
}
