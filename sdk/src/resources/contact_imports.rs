//! Contact imports: CSV files whose rows become contacts in the background. (The specification doesn't define them; the format is Resend's.)

mod new;
mod operations;
mod record;

pub use new::{ImportConflict, ImportPropertyType, NewContactImport};
pub use operations::ContactImports;
pub use record::{ContactImport, ContactImportCounts, ContactImportStatus};
