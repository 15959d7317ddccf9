//! Automations: workflows triggered by custom events, and their runs.

mod action;
mod connection;
mod definition;
mod new;
mod operations;
mod patch;
mod record;
mod rule;
mod run;
mod step;
mod value;

pub use action::{
    AddToSegment, AutomationEmail, AutomationTemplate, ContactUpdate, Delay, Trigger, WaitForEvent,
};
pub use connection::{Connection, ConnectionType};
pub use new::NewAutomation;
pub use operations::Automations;
pub use patch::AutomationPatch;
pub use record::{Automation, AutomationStatus, AutomationSummary, StoppedAutomation};
pub use rule::{FieldRule, Operator, Rule};
pub use run::{AutomationRun, AutomationRunSummary, RunStatus, RunStep, StepStatus};
pub use step::{Action, Step};
pub use value::RunValue;
