//! Setters of options and descriptions.

/// Defines chainable setters.
///
/// ```text
/// setters! {
///     /// Sets the rate.                       // a value or an `Option`
///     max_rps: f64;
///     /// Sets the name.                       // a text
///     name;
///     /// Adds an address.                     // a list of texts that grows
///     cc += ;
///     /// Sets the limit.                      // in a field of another struct or name
///     limit: u64 => options.limit;
///     /// Changes no files.                    // a fixed value
///     dry_run = true;
/// }
/// ```
macro_rules! setters {
    () => {};
    ($(#[$doc:meta])* $name:ident; $($rest:tt)*) => {
        setters! { $(#[$doc])* $name => $name; $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident => $($field:ident).+; $($rest:tt)*) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, value: impl Into<String>) -> Self {
            self.$($field).+ = Some(value.into());
            self
        }

        setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident +=; $($rest:tt)*) => {
        setters! { $(#[$doc])* $name += $name; $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident += $($field:ident).+; $($rest:tt)*) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, value: impl Into<String>) -> Self {
            self.$($field).+.push(value.into());
            self
        }

        setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident: $of:ty; $($rest:tt)*) => {
        setters! { $(#[$doc])* $name: $of => $name; $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident: $of:ty => $($field:ident).+; $($rest:tt)*) => {
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, value: $of) -> Self {
            self.$($field).+ = value.into();
            self
        }

        setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident = $value:expr; $($rest:tt)*) => {
        setters! { $(#[$doc])* $name = $value => $name; $($rest)* }
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
