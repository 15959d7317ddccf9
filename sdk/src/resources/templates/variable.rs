//! What a template leaves open.

use serde::{Deserialize, Serialize};

use crate::types::Timestamp;

/// A variable that a template is made with: a key, whether it holds a text or a number, and what stands there when a send gives no value.
///
/// Text and number are made differently, so a fallback always is of the variable's type. In the bodies and the subject it stands as `{{{KEY}}}`.
///
/// Three braces put a value in as it is: a text that somebody else has typed is to be escaped for HTML before it is sent.
///
/// ```
/// use posthaste::TemplateVariable;
///
/// let name = TemplateVariable::string("NAME");                 // has to come with every send
/// let apples = TemplateVariable::number("APPLES").fallback(3); // stands for 3 if it doesn't
/// # let _ = (name, apples);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TemplateVariable {
    pub(super) key: String,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback_value: Option<serde_json::Value>,
}

/// A variable that holds a number: [`TemplateVariable::number`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct NumberVariable(TemplateVariable);

/// A variable that holds a text: [`TemplateVariable::string`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct StringVariable(TemplateVariable);

impl TemplateVariable {
    /// A variable that holds a text. The key is made of ASCII letters, digits and `_`; capitals are recommended.
    pub fn string(key: impl Into<String>) -> StringVariable {
        StringVariable(Self { key: key.into(), r#type: "string", fallback_value: None })
    }

    /// A variable that holds a number. The key is made of ASCII letters, digits and `_`; capitals are recommended.
    pub fn number(key: impl Into<String>) -> NumberVariable {
        NumberVariable(Self { key: key.into(), r#type: "number", fallback_value: None })
    }
}

impl StringVariable {
    /// What stands there when a send gives no value.
    #[must_use]
    pub fn fallback(mut self, text: impl Into<String>) -> Self {
        self.0.fallback_value = Some(text.into().into());
        self
    }
}

impl NumberVariable {
    /// What stands there when a send gives no value: a whole number, or a `serde_json::Number` of another kind.
    #[must_use]
    pub fn fallback(mut self, number: impl Into<serde_json::Number>) -> Self {
        self.0.fallback_value = Some(serde_json::Value::Number(number.into()));
        self
    }
}

impl From<StringVariable> for TemplateVariable {
    fn from(variable: StringVariable) -> Self {
        variable.0
    }
}

impl From<NumberVariable> for TemplateVariable {
    fn from(variable: NumberVariable) -> Self {
        variable.0
    }
}

/// A variable as the service tells it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DefinedVariable {
    /// Its id.
    #[serde(default)]
    pub id: Option<String>,
    /// Its key.
    pub key: String,
    /// Whether it holds a text or a number.
    #[serde(default)]
    pub r#type: Option<VariableType>,
    /// What stands there when a send gives no value: a text or a number.
    #[serde(default)]
    pub fallback_value: Option<serde_json::Value>,
    /// When it was defined.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// When it was changed last.
    #[serde(default)]
    pub updated_at: Option<Timestamp>,
}

open_enum! {
    /// What a variable holds.
    VariableType {
        /// A text.
        String = "string",
        /// A number.
        Number = "number",
    }
}
