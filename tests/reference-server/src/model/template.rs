//! Templates: emails with variables.

pub(crate) mod version;

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::version::Version;
use crate::store::table::{self, NoGroup};
use crate::wire::paging::quoted;
use crate::wire::problem::Problem;

/// One template.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Template {
    pub(crate) id: Uuid,
    pub(crate) name: String,
    pub(crate) alias: Option<String>,
    /// The newest version.
    pub(crate) newest: Arc<Version>,
    /// The version that is sent.
    pub(crate) published: Option<Arc<Version>>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) published_at: Option<Timestamp>,
}

impl table::Record for Template {
    const PLURAL: &'static str = "templates";

    type Group = NoGroup;

    fn key(&self) -> Option<&str> {
        self.alias.as_deref()
    }

    /// Two templates never share an alias. The specification is silent on it; a send has to find one.
    fn conflict(&self, _: &Self) -> Problem {
        Problem::validation(format!(
            "`alias` must be a new one; there is a template with the alias {} already.",
            quoted(self.alias.as_deref().unwrap_or_default())
        ))
    }
}

impl Template {
    pub(crate) fn has_unpublished_versions(&self) -> bool {
        self.published.as_ref().is_none_or(|published| published.id != self.newest.id)
    }
}
