//! Variables of a template.

open_enum! {
    /// The type of a template variable.
    VariableType {
        /// A string.
        String = "string",
        /// A number.
        Number = "number",
    }
}

keyed_input! {
    /// A template variable: a key, a type, and a fallback for emails that don't set a value. The bodies and the subject refer to it as `{{{KEY}}}`.
    ///
    /// The service inserts values unescaped, so escape untrusted text for HTML before sending it.
    ///
    /// ```
    /// use idempost::templates::TemplateVariable;
    ///
    /// let name = TemplateVariable::string("NAME"); // every send must give a value
    /// let apples = TemplateVariable::number("APPLES").fallback(3); // 3 by default
    /// # let _ = (name, apples);
    /// ```
    pub struct TemplateVariable(VariableType);
    /// Creates a string variable. The key consists of ASCII letters, digits and `_`; capitals are recommended.
    string StringVariable;
    /// Creates a number variable. The key consists of ASCII letters, digits and `_`; capitals are recommended.
    number NumberVariable;
}

impl TemplateVariable {
    pub(super) fn key(&self) -> &str {
        &self.key
    }
}
