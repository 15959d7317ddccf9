//! Contact properties: additional data about contacts, for use in broadcasts.

mod new;
mod operations;
mod patch;
mod record;

pub use new::{NewContactProperty, NumberProperty, StringProperty};
pub use operations::ContactProperties;
pub use patch::ContactPropertyPatch;
pub use record::ContactProperty;

pub use super::shared::PropertyType;
