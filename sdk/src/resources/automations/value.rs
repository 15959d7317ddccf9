//! Values that a step is given when a run gets to it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A value that is fixed in the definition, or taken from what the run knows when it gets there.
///
/// ```
/// use posthaste::RunValue;
///
/// assert_eq!(serde_json::to_string(&RunValue::from("Ada"))?, r#""Ada""#);
/// assert_eq!(serde_json::to_string(&RunValue::var("event.plan"))?, r#"{"var":"event.plan"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum RunValue {
    /// Taken from the event that started the run, or from the contact: `event.plan`, `contact.first_name`.
    Var {
        /// Where it comes from.
        var: String,
    },
    /// The same in every run.
    Fixed(Value),
}

impl RunValue {
    /// Takes the value from the event that started the run, or from the contact: `event.plan`, `contact.first_name`.
    pub fn var(name: impl Into<String>) -> Self {
        Self::Var { var: name.into() }
    }

    /// Null, which clears what is set to it.
    pub fn null() -> Self {
        Self::Fixed(Value::Null)
    }
}

macro_rules! fixed_values {
    ($($of:ty),+) => {
        $(impl From<$of> for RunValue {
            fn from(value: $of) -> Self {
                Self::Fixed(Value::from(value))
            }
        })+
    };
}

fixed_values!(&str, String, bool, i32, i64, u32, u64, f64, Value);
