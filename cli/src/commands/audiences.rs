//! `audiences`: the former name of segments.

use super::segments;
use crate::rows::prelude::*;

noun!(Audiences, "Deprecated: the former name of segments", VERBS);

#[expect(deprecated, reason = "the deprecated command shows the deprecated operation's response")]
const VERBS: &[Verb] = &[Verb::list(
    "Deprecated: list segments under their former name; use `segments list`",
    &segments::TABLE,
    &Pages(Paging::Complete, |client, _| client.audiences().list()),
)
.detail("Shows the same records. The service will remove this operation.")
.after_help("Columns: id, name, created_at\n\nInstead:\n  idempost segments list")
.warning("`audiences list` is deprecated: audiences are now called segments; use `idempost segments list`")];
