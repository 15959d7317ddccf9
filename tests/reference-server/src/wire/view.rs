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

/// Declares a view of a record: each field with the expression for its value. `..Other` includes the fields of another view; `field?` is omitted
/// if it is `None`. A view named `Item` is for lists, one named `Detail` for the record itself.
#[doc(hidden)]
#[macro_export]
macro_rules! view {
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
    (@ $map:ident $record:ident) => {};
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
    (@ $map:ident $record:ident $key:tt: $value:expr, $($rest:tt)*) => {
        serde::ser::SerializeMap::serialize_entry($map, stringify!($key), &$value)?;
        $crate::wire::view::view!(@ $map $record $($rest)*);
    };
}
pub use view;
