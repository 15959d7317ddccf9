//! Readers shared by the inputs of inboxes.

use crate::context::Context;
use crate::wire::{Checked, Field};

/// Reads a text without control characters, with a length in this range of characters.
pub(super) fn read_text(field: &Field<'_>, min: usize, max: usize) -> Checked<String> {
    let line = field.as_line()?;
    let found = line.chars().count();
    if found > max || (min > 0 && line.trim().is_empty()) {
        return Err(field.reject(format_args!("must have {min} to {max} characters; found {found}")));
    }
    Ok(line.into_owned())
}

/// The values of a query parameter, separated by commas or repeated; `None` if it is absent or empty.
pub(super) fn values(context: &Context<'_>, name: &str) -> Option<Vec<String>> {
    let parameters = context.parameters();
    let values = parameters.get_all(name).flat_map(|values| values.split(',')).map(str::trim);
    let values: Vec<_> = values.filter(|value| !value.is_empty()).map(str::to_owned).collect();
    (!values.is_empty()).then_some(values)
}
