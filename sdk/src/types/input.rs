//! Macros that declare the inputs for creating and updating records.

/// Declares the input for creating a record, with a setter for each optional field.
///
/// `new(…)` lists the required fields. Fields under `optional` are omitted from the request until they are set; each has a setter that takes `impl
/// Into<T>`. Fields under `other` start with their default and have handwritten setters. `field: T as "path"` names the function that serializes the
/// field.
macro_rules! input {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(#[$new_doc:meta])*
            new($($required:ident: $required_ty:ty $(as $required_with:literal)?),* $(,)?);
            $(optional { $($(#[$doc:meta])* $field:ident: $ty:ty $(as $with:literal)?,)* })?
            $(other { $($(#[$other_attr:meta])* $other:ident: $other_ty:ty,)* })?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[must_use]
        pub struct $name {
            $($(#[serde(serialize_with = $required_with)])? $required: $required_ty,)*
            $($(
                #[serde(skip_serializing_if = "Option::is_none" $(, serialize_with = $with)?)]
                $field: Option<$ty>,
            )*)?
            $($($(#[$other_attr])* $other: $other_ty,)*)?
        }

        impl $name {
            $(#[$new_doc])*
            pub fn new($($required: impl Into<$required_ty>),*) -> Self {
                Self {
                    $($required: $required.into(),)*
                    $($($field: None,)*)?
                    $($($other: Default::default(),)*)?
                }
            }

            $(setters! { $($(#[$doc])* $field: $ty;)* })?
        }

        impl $crate::types::fields::Input for $name {
            const FIELDS: &'static [$crate::types::fields::Field] = &[
                $($crate::types::fields::Field::required::<$required_ty>(stringify!($required)),)*
                $($($crate::types::fields::Field::optional::<$ty>(stringify!($field)),)*)?
                $($($crate::types::fields::Field::optional::<$other_ty>(stringify!($other)),)*)?
            ];

            fn read(json: &serde_json::Value) -> (Self, Result<(), $crate::problem::Problems>) {
                $crate::types::fields::Reader::input(json, |fields| Self {
                    $($required: fields.required(stringify!($required)),)*
                    $($($field: fields.optional(stringify!($field)),)*)?
                    $($($other: fields.optional_or_default(stringify!($other), &[]),)*)?
                })
            }
        }
    };
}

/// Declares the input for updating a record, which changes only the fields that are set.
///
/// Each field has a setter that takes `impl Into<T>`; `field: T | clear_field` adds a setter that removes the value (`null` on the wire).
/// Fields under `other`, after the struct, have handwritten setters; `field: Patch<T> | null` also reads `null`.
macro_rules! patch {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$doc:meta])* $field:ident: $ty:ty $(as $with:literal)? $(| $(#[$clear_doc:meta])* $clear:ident)?,)*
        }
        $(other { $($(#[$other_attr:meta])* $other:ident: $other_ty:ty $(| $null:ident)?,)* })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
        #[must_use]
        pub struct $name {
            $(
                #[serde(skip_serializing_if = "crate::types::Patch::is_keep" $(, serialize_with = $with)?)]
                $field: $crate::types::Patch<$ty>,
            )*
            $($($(#[$other_attr])* $other: $other_ty,)*)?
        }

        impl $name {
            /// Creates an update that changes nothing yet.
            pub fn new() -> Self {
                Self::default()
            }

            setters! {
                $(
                    $(#[$doc])*
                    $field: $ty;
                    $($(#[$clear_doc])* $clear = $crate::types::Patch::Clear => $field;)?
                )*
            }

            /// Returns whether no field is set or cleared, except fields under `other`.
            #[allow(dead_code, reason = "not every update has to change something")]
            fn is_untouched(&self) -> bool {
                true $(&& self.$field.is_keep())*
            }
        }

        impl $crate::types::fields::Input for $name {
            const FIELDS: &'static [$crate::types::fields::Field] = &[
                $($crate::types::fields::Field::patch::<$ty>(stringify!($field), &[$(stringify!($clear))?]),)*
                $($($crate::types::fields::Field::patch::<$other_ty>(stringify!($other), &[$(stringify!($null))?]),)*)?
            ];

            fn read(json: &serde_json::Value) -> (Self, Result<(), $crate::problem::Problems>) {
                $crate::types::fields::Reader::input(json, |fields| Self {
                    $($field: fields.patch(stringify!($field), &[$(stringify!($clear))?]),)*
                    $($($other: fields.optional_or_default(stringify!($other), &[$(stringify!($null))?]),)*)?
                })
            }
        }
    };
}

/// Declares an input with a key, a type, and a fallback of that type: one builder per type, so that the fallback always has the right type.
macro_rules! keyed_input {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($kind:ty);
        $(#[$string_meta:meta])*
        string $string:ident;
        $(#[$number_meta:meta])*
        number $number:ident;
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        pub struct $name {
            key: String,
            #[serde(rename = "type")]
            kind: $kind,
            #[serde(skip_serializing_if = "Option::is_none")]
            fallback_value: Option<serde_json::Value>,
        }

        impl $name {
            fn read_fields(fields: &mut $crate::types::fields::Reader<'_>) -> Self {
                let (key, kind): (_, $kind) = (fields.required("key"), fields.required("type"));
                let fallback_value = fields.fallback(kind.as_str());
                Self { key, kind, fallback_value }
            }
        }

        impl $crate::types::fields::FieldValue for $name {
            const KIND: $crate::types::fields::Kind = $crate::types::fields::Kind::Json;

            fn read(v: &mut $crate::problem::Validator, value: &serde_json::Value) -> Option<Self> {
                let names = ["key", "type", "fallback_value"];
                $crate::types::fields::Reader::object(v, value, &names, Self::read_fields)
            }
        }

        keyed_input! { @builder $name $(#[$string_meta])* $string string String (impl Into<String>) }
        keyed_input! { @builder $name $(#[$number_meta])* $number number Number (impl Into<serde_json::Number>) }
    };
    (@builder $name:ident $(#[$meta:meta])* $builder:ident $new:ident $kind:ident ($value:ty)) => {
        #[doc = concat!("A ", stringify!($new), " with an optional fallback: [`", stringify!($name), "::", stringify!($new), "`].")]
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        #[serde(transparent)]
        #[must_use]
        pub struct $builder($name);

        impl $name {
            $(#[$meta])*
            pub fn $new(key: impl Into<String>) -> $builder {
                $builder(Self { key: key.into(), kind: stringify!($new).into(), fallback_value: None })
            }
        }

        impl $builder {
            /// Sets the value to use if none is given.
            pub fn fallback(mut self, value: $value) -> Self {
                self.0.fallback_value = Some(serde_json::Value::$kind(value.into()));
                self
            }
        }

        impl From<$builder> for $name {
            fn from(builder: $builder) -> Self {
                builder.0
            }
        }
    };
}
