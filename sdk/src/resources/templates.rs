//! Templates: stored content with variables, for emails and automations.

mod new;
mod operations;
mod patch;
mod record;
mod variable;

pub use new::NewTemplate;
pub use operations::Templates;
pub use patch::TemplatePatch;
pub use record::{DefinedVariable, Template, TemplateStatus, TemplateSummary};
pub use variable::{NumberVariable, StringVariable, TemplateVariable, VariableType};
