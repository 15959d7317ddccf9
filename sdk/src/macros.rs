//! Setters, which all inputs write the same way.

/// Defines chainable setters.
///
/// ```text
/// setters! {
///     /// Sets the name.                       // a value, an `Option` or a `Patch`
///     name: String;
///     /// Sets the subject.                    // in a field of another struct or name
///     subject: String => message.subject;
///     /// Adds recipients.                     // a list that grows
///     to += Recipients => message.to;
///     /// Removes the name.                    // a fixed value
///     clear_name = Patch::Clear => name;
/// }
/// ```
macro_rules! setters {
    () => {};
    ($(#[$doc:meta])* $name:ident: $of:ty; $($rest:tt)*) => {
        setters! { $(#[$doc])* $name: $of => $name; $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident: $of:ty => $($field:ident).+; $($rest:tt)*) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, value: impl Into<$of>) -> Self {
            let value: $of = value.into();
            self.$($field).+ = value.into();
            self
        }

        setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident += $of:ty => $($field:ident).+; $($rest:tt)*) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, value: impl Into<$of>) -> Self {
            let value: $of = value.into();
            self.$($field).+.push(value);
            self
        }

        setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident = $value:expr => $($field:ident).+; $($rest:tt)*) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self) -> Self {
            self.$($field).+ = $value;
            self
        }

        setters! { $($rest)* }
    };
}
