//! The sandbox's routes: the service, the inbox page, and Mailpit's API.

use std::sync::LazyLock;

use idempost_reference_server::route::{Routes, Table};
use idempost_reference_server::routes::{CONTROL, OAUTH, SERVICE};

use crate::inbox;

/// All routes.
pub(crate) static ROUTES: LazyLock<Routes> = LazyLock::new(|| Routes::new(TABLES));

const TABLES: &[Table] = &[SERVICE, OAUTH, CONTROL, inbox::routes::TABLE, inbox::mailpit::routes::TABLE];
