//! Serialization of records as JSON objects.

use serde::Serialize;
use serde::ser::SerializeMap;

/// A value that is serialized as a JSON object, or as a part of another.
pub trait View {
    /// Serializes the fields.
    fn fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

/// A record with a view in lists.
pub trait Listed {
    type Item<'a>: Serialize
    where
        Self: 'a;

    fn item(&self) -> Self::Item<'_>;
}

/// A record with its own view.
pub trait Shown {
    type Detail<'a>: Serialize
    where
        Self: 'a;

    fn detail(&self) -> Self::Detail<'_>;
}

/// Declares a view of a record: each field with the expression for its value. `..Other` includes the fields of another view of
/// the record, `..(value)` those of a value; `field?` is omitted
/// if it is `None`. A `described` view has a schema, with the comments of its fields. A view named `Item` is for lists, one named `Detail` for the record itself.
#[doc(hidden)]
#[macro_export]
macro_rules! view {
    (described $(#[$doc:meta])* $visible:vis $view:ident of $record:ident: $type:ty { $($fields:tt)* }) => {
        $crate::wire::view::view!($(#[$doc])* $visible $view of $record: $type { $($fields)* });

        impl $crate::wire::described::Described for $view<'_> {
            fn schema(named: &mut $crate::wire::described::Named) -> serde_json::Value {
                let mut described = Vec::new();
                $crate::wire::view::view!(@schema described $record $type; $($fields)*);
                $crate::wire::described::object(named, stringify!($view), &described)
            }
        }
    };
    ($(#[$doc:meta])* $visible:vis $view:ident of $record:ident: $type:ty { $($fields:tt)* }) => {
        $(#[$doc])*
        $visible struct $view<'a>($visible &'a $type);

        impl $crate::wire::view::View for $view<'_> {
            fn fields<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                let $record = self.0;
                $crate::wire::view::view!(@ map $record $($fields)*);
                Ok(())
            }
        }

        impl serde::Serialize for $view<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $crate::wire::view::View::fields(self, &mut map)?;
                serde::ser::SerializeMap::end(map)
            }
        }

        $crate::wire::view::view!(@trait $view $type);
    };
    (@trait Item $type:ty) => {
        impl $crate::wire::view::Listed for $type {
            type Item<'a> = Item<'a>;

            fn item(&self) -> Item<'_> {
                Item(self)
            }
        }
    };
    (@trait Detail $type:ty) => {
        impl $crate::wire::view::Shown for $type {
            type Detail<'a> = Detail<'a>;

            fn detail(&self) -> Detail<'_> {
                Detail(self)
            }
        }
    };
    (@trait $other:ident $type:ty) => {};
    (@schema $described:ident $record:ident $type:ty;) => {};
    (@schema $described:ident $record:ident $type:ty; ..($value:expr), $($rest:tt)*) => {
        let schema = $crate::wire::described::schema_of::<$type, _>(|$record, visit| visit(&$value));
        $described.push((schema, "", "", "flatten"));
        $crate::wire::view::view!(@schema $described $record $type; $($rest)*);
    };
    (@schema $described:ident $record:ident $type:ty; $(#[doc = $comment:literal])* $key:ident: $value:expr, $($rest:tt)*) => {
        let schema = $crate::wire::described::schema_of::<$type, _>(|$record, visit| visit(&$value));
        $described.push((schema, stringify!($key), concat!($($comment),*), ""));
        $crate::wire::view::view!(@schema $described $record $type; $($rest)*);
    };
    (@ $map:ident $record:ident) => {};
    (@ $map:ident $record:ident ..($value:expr), $($rest:tt)*) => {
        $crate::wire::view::View::fields(&$value, $map)?;
        $crate::wire::view::view!(@ $map $record $($rest)*);
    };
    (@ $map:ident $record:ident ..$other:ident, $($rest:tt)*) => {
        $crate::wire::view::View::fields(&$other($record), $map)?;
        $crate::wire::view::view!(@ $map $record $($rest)*);
    };
    (@ $map:ident $record:ident $key:ident?: $value:expr, $($rest:tt)*) => {
        if let Some(value) = &$value {
            serde::ser::SerializeMap::serialize_entry($map, stringify!($key), value)?;
        }
        $crate::wire::view::view!(@ $map $record $($rest)*);
    };
    (@ $map:ident $record:ident $(#[$comment:meta])* $key:ident: $value:expr, $($rest:tt)*) => {
        serde::ser::SerializeMap::serialize_entry($map, stringify!($key), &$value)?;
        $crate::wire::view::view!(@ $map $record $($rest)*);
    };
}
pub use view;
