//! Types whose JSON has a schema, for the contract of the sandbox's own routes.
//!
//! A schema is derived from the declaration of its type: the names, types and comments of its fields. A route lists the type of its response, and a
//! test compares each response that the suites receive with it.

use std::sync::Arc;

use serde_json::{Map, Number, Value, json};
use uuid::Uuid;

use crate::wire::paging::Page;

/// The schemas with a name.
pub type Named = Map<String, Value>;

/// A type whose JSON has a schema.
pub trait Described {
    /// Returns the schema, and adds the named ones that it refers to.
    fn schema(named: &mut Named) -> Value;
}

macro_rules! schemas {
    ($($type:ty = $schema:tt;)*) => {
        $(impl Described for $type {
            fn schema(_: &mut Named) -> Value {
                json!($schema)
            }
        })*
    };
}

schemas! {
    bool = {"type": "boolean"};
    u8 = {"type": "integer", "minimum": 0};
    u16 = {"type": "integer", "minimum": 0};
    u64 = {"type": "integer", "minimum": 0};
    usize = {"type": "integer", "minimum": 0};
    f64 = {"type": "number"};
    Number = {"type": "number"};
    str = {"type": "string"};
    String = {"type": "string"};
    Uuid = {"type": "string", "format": "uuid"};
    Map<String, Value> = {"type": "object"};
    Value = {};
}

macro_rules! transparent {
    ($($type:ty),*) => {
        $(impl<T: Described + ?Sized> Described for $type {
            fn schema(named: &mut Named) -> Value {
                T::schema(named)
            }
        })*
    };
}

transparent!(&T, Arc<T>, Box<T>);

impl<T: Described> Described for Option<T> {
    fn schema(named: &mut Named) -> Value {
        json!({"anyOf": [T::schema(named), {"type": "null"}]})
    }
}

impl<T: Described> Described for [T] {
    fn schema(named: &mut Named) -> Value {
        json!({"type": "array", "items": T::schema(named)})
    }
}

impl<T: Described> Described for Vec<T> {
    fn schema(named: &mut Named) -> Value {
        <[T]>::schema(named)
    }
}

impl<T: Described> Described for Page<T> {
    fn schema(named: &mut Named) -> Value {
        json!({
            "type": "object",
            "required": ["object", "data", "has_more"],
            "properties": {"object": {"const": "list"}, "data": <[T]>::schema(named), "has_more": bool::schema(named)},
        })
    }
}

/// A field: its schema, its name, its comment, and how it occurs, in the words of serde's attributes.
pub type DescribedField = (fn(&mut Named) -> Value, &'static str, &'static str, &'static str);

/// Adds the schema of an object, and returns a reference to it.
pub fn object(named: &mut Named, name: &str, fields: &[DescribedField]) -> Value {
    let (mut parts, mut properties, mut required) = (Vec::new(), Map::new(), Vec::new());
    for &(schema, name, comment, occurs) in fields {
        let (mut schema, name) = (schema(named), name.trim_start_matches("r#"));
        match occurs {
            "flatten" => {
                parts.push(schema);
                continue;
            }
            "skip_serializing_if" => schema = schema["anyOf"][0].take(),
            _ => required.push(name),
        }
        if !comment.is_empty() {
            schema["description"] = comment.trim().replace("`None`", "`null`").into();
        }
        properties.insert(name.to_owned(), schema);
    }
    let mut schema = json!({"type": "object", "required": required, "properties": properties});
    if !parts.is_empty() {
        schema["allOf"] = parts.into();
    }
    let other = named.insert(name.to_owned(), schema);
    debug_assert!(other.is_none_or(|other| other == named[name]), "two types are named {name}");
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// Returns the schema of the values that a function of a record passes on. The function is never called.
pub fn schema_of<'a, R: 'a, T: Described + ?Sized + 'a>(
    _: impl Fn(&'a R, fn(&T)),
) -> fn(&mut Named) -> Value {
    T::schema
}

/// Declares types with their schemas: structures, words, and alternatives. A structure with arguments has a function `new` of them, in which the value of
/// a field may use those before it.
#[doc(hidden)]
#[macro_export]
macro_rules! described {
    ($(#[$attribute:meta])* $visible:vis struct $name:ident $(<$life:lifetime>)? { $(
        $(#[doc = $comment:literal])* $(#[serde($occurs:ident $(= $condition:literal)?)])?
        $field_visible:vis $field:ident: $type:ty,
    )* } $($rest:tt)*) => {
        $(#[$attribute])*
        #[derive(serde::Serialize)]
        $visible struct $name $(<$life>)? { $(
            $(#[doc = $comment])* $(#[serde($occurs $(= $condition)?)])? $field_visible $field: $type,
        )* }

        impl $(<$life>)? $crate::wire::described::Described for $name $(<$life>)? {
            fn schema(named: &mut $crate::wire::described::Named) -> serde_json::Value {
                $crate::wire::described::object(named, stringify!($name), &[$((
                    <$type as $crate::wire::described::Described>::schema,
                    stringify!($field),
                    concat!($($comment),*),
                    stringify!($($occurs)?),
                )),*])
            }
        }

        $crate::wire::described::described!($($rest)*);
    };
    ($(#[$attribute:meta])* $visible:vis struct $name:ident $(<$life:lifetime>)? ($($given:ident: $given_type:ty),*) { $(
        $(#[doc = $comment:literal])* $(#[serde($occurs:ident $(= $condition:literal)?)])?
        $field:ident: $type:ty = $value:expr,
    )* } $($rest:tt)*) => {
        $crate::wire::described::described! {
            $(#[$attribute])* $visible struct $name $(<$life>)? { $(
                $(#[doc = $comment])* $(#[serde($occurs $(= $condition)?)])? $field: $type,
            )* }
        }

        impl $(<$life>)? $name $(<$life>)? {
            $visible fn new($($given: $given_type),*) -> Self {
                $(let $field = $value;)*
                Self { $($field),* }
            }
        }

        $crate::wire::described::described!($($rest)*);
    };
    ($(#[$attribute:meta])* $visible:vis enum $name:ident { $($(#[$comment:meta])* $value:ident,)* } $($rest:tt)*) => {
        $(#[$attribute])*
        $visible enum $name { $($(#[$comment])* $value,)* }

        impl $crate::wire::described::Described for $name {
            fn schema(_: &mut $crate::wire::described::Named) -> serde_json::Value {
                serde_json::json!({"type": "string", "enum": [$(Self::$value),*]})
            }
        }

        $crate::wire::described::described!($($rest)*);
    };
    ($(#[$attribute:meta])* $visible:vis enum $name:ident $(<$life:lifetime>)? { $($(#[$comment:meta])* $value:ident($type:ty),)* } $($rest:tt)*) => {
        $(#[$attribute])*
        $visible enum $name $(<$life>)? { $($(#[$comment])* $value($type),)* }

        impl $(<$life>)? $crate::wire::described::Described for $name $(<$life>)? {
            fn schema(named: &mut $crate::wire::described::Named) -> serde_json::Value {
                serde_json::json!({"anyOf": [$(<$type as $crate::wire::described::Described>::schema(named)),*]})
            }
        }

        $crate::wire::described::described!($($rest)*);
    };
    () => {};
}
pub use described;
