//! Values in step configurations, fixed or resolved by a run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::types::Scalar;

/// A value that is fixed in the definition, or resolved when a run reaches the step.
///
/// ```
/// use idempost::automations::RunValue;
///
/// assert_eq!(serde_json::to_string(&RunValue::from("Ada"))?, r#""Ada""#);
/// assert_eq!(serde_json::to_string(&RunValue::var("event.plan"))?, r#"{"var":"event.plan"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum RunValue {
    /// Resolved when the run reaches the step; see [`RunValue::var`].
    Var {
        /// The path to the value.
        var: String,
    },
    /// The same value in every run.
    Fixed(Value),
}

impl RunValue {
    /// Creates a reference to the event that started the run (`event.plan`), to the contact (`contact.first_name`), or to an event that ended a wait
    /// in the run: `wait_events.order.paid.total` is the field `total` of the event `order.paid`, or of the last such event. The specification
    /// doesn't define references.
    pub fn var(name: impl Into<String>) -> Self {
        Self::Var { var: name.into() }
    }

    /// Creates a null, which clears the field.
    pub fn null() -> Self {
        Self::Fixed(Value::Null)
    }
}

impl<T: Into<Scalar>> From<T> for RunValue {
    fn from(value: T) -> Self {
        Self::Fixed(value.into().into())
    }
}
