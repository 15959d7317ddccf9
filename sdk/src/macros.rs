//! Setters of inputs, conversions, and `Debug` for types with parts that must not or can't be shown.

/// Defines chainable setters. Their type is `#[must_use]`, so that a result that was dropped is noticed.
///
/// ```text
/// setters! {
///     /// Sets the name.                       // a value, an `Option` or a `Patch`
///     name: String;
///     /// Sets the subject.                    // in a field of another struct or name
///     subject: String => message.subject;
///     /// Sets the timeout.                    // a value of this type itself
///     timeout(Duration);
///     /// Adds recipients.                     // a list that grows
///     to += Recipients => message.to;
///     /// Filters by domain.                   // a list that is replaced
///     domains = [DomainId];
///     /// Sets a header.                       // an entry of a map
///     header(name: String, value: String) => message.headers;
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
        pub fn $name(mut self, value: impl Into<$of>) -> Self {
            let value: $of = value.into();
            self.$($field).+ = value.into();
            self
        }

        setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident($of:ty); $($rest:tt)*) => {
        setters! { $(#[$doc])* $name($of) => $name; $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident($of:ty) => $($field:ident).+; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $name(mut self, value: $of) -> Self {
            self.$($field).+ = value.into();
            self
        }

        setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident += $of:ty => $($field:ident).+; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $name(mut self, value: impl Into<$of>) -> Self {
            let value: $of = value.into();
            self.$($field).+.push(value);
            self
        }

        setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident = [$of:ty]; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $name<T: Into<$of>>(mut self, values: impl IntoIterator<Item = T>) -> Self {
            self.$name = values.into_iter().map(Into::into).collect();
            self
        }

        setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident($key:ident: $key_ty:ty, $value:ident: $value_ty:ty) => $($field:ident).+; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $name(mut self, $key: impl Into<$key_ty>, $value: impl Into<$value_ty>) -> Self {
            self.$($field).+.insert($key.into(), $value.into());
            self
        }

        setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident = $value:expr => $($field:ident).+; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $name(mut self) -> Self {
            self.$($field).+ = $value;
            self
        }

        setters! { $($rest)* }
    };
}

/// Implements conversions into a type.
///
/// ```text
/// conversions! {
///     SigningSecret {
///         /// Wraps a stored secret.
///         String: text => Self(text.into()),
///     }
/// }
/// ```
macro_rules! conversions {
    ($($to:ty { $($(#[$meta:meta])* $from:ty: $value:ident => $result:expr,)+ })+) => {
        $($($(#[$meta])* impl From<$from> for $to {
            fn from($value: $from) -> Self {
                $result
            }
        })+)+
    };
}

/// Implements the conversions from text, and `Display`, for a newtype over `String`.
macro_rules! from_text {
    ($name:ident) => {
        conversions! {
            $name {
                String: text => Self(text),
                &str: text => Self(text.to_owned()),
                &String: text => Self(text.clone()),
                std::borrow::Cow<'_, str>: text => Self(text.into_owned()),
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// Implements `Debug` for a type with parts that must not or can't be shown: prints only these fields, or this text.
///
/// ```text
/// partial_debug!(Client { base_url });
/// partial_debug!(List<T> { operation = [operation.name] });    // an expression after `self.`
/// partial_debug!(Credentials = "Credentials([redacted])");
/// ```
macro_rules! partial_debug {
    ($(#[$doc:meta])* $name:ident $(<$param:tt>)? { $($field:ident $(= [$($value:tt)+])?),+ }) => {
        $(#[$doc])*
        impl $(<$param>)? std::fmt::Debug for $name $(<$param>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &partial_debug!(@value self $field $($($value)+)?)))+
                    .finish_non_exhaustive()
            }
        }
    };
    ($(#[$doc:meta])* $name:ident $(<$param:ident>)? = $text:expr) => {
        $(#[$doc])*
        impl $(<$param>)? std::fmt::Debug for $name $(<$param>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($text)
            }
        }
    };
    (@value $self:ident $field:ident) => { $self.$field };
    (@value $self:ident $field:ident $($value:tt)+) => { $self.$($value)+ };
}
