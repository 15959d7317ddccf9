//! The columns of a list of contacts.

use crate::actions::pages::Table;
use crate::output::table::{Column, Kind};

/// Columns of a list of contacts.
pub(crate) const TABLE: Table = Table::new(&[
    Column::new("id", "ID", Kind::Id),
    Column::new("email", "EMAIL", Kind::Shrinks),
    Column::new("first_name", "FIRST NAME", Kind::Shrinks),
    Column::new("last_name", "LAST NAME", Kind::Shrinks),
    Column::new("unsubscribed", "UNSUBSCRIBED", Kind::State),
    Column::new("created_at", "CREATED", Kind::Time),
])
.nothing("no contacts");
