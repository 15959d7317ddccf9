//! Serialization of records as JSON objects.

use serde::ser::SerializeMap;

/// A value that is serialized as a JSON object, or as a part of another.
pub(crate) trait View {
    /// Serializes the fields.
    fn fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

/// Declares a view of a record: each field with the expression for its value. `..Other` includes the fields of another view.
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
    };
    (@ $map:ident $record:ident) => {};
    (@ $map:ident $record:ident ..$other:ident, $($rest:tt)*) => {
        $crate::wire::view::View::fields(&$other($record), $map)?;
        $crate::wire::view::view!(@ $map $record $($rest)*);
    };
    (@ $map:ident $record:ident $key:tt: $value:expr, $($rest:tt)*) => {
        serde::ser::SerializeMap::serialize_entry($map, stringify!($key), &$value)?;
        $crate::wire::view::view!(@ $map $record $($rest)*);
    };
}
pub(crate) use view;
