//! The macro that declares a resource's operations, and the trait implemented by their return types.

use serde::de::DeserializeOwned;

use crate::{
    call::{Call, Operation},
    client::{Client, Item, List},
};

/// The lazy request that an operation returns: [`Call`] or [`List`].
pub(super) trait Start {
    fn start(client: &Client, operation: Operation) -> Self;
}

impl<T: DeserializeOwned> Start for Call<T> {
    fn start(client: &Client, operation: Operation) -> Self {
        Self::new(&client.core, operation)
    }
}

impl<T: Item> Start for List<T> {
    fn start(client: &Client, operation: Operation) -> Self {
        Self::new(client, operation)
    }
}

/// Declares a resource's handle, its accessor, and the operations that consist of a single request.
///
/// ```text
/// /// Deletes a domain.
/// fn delete(id: DomainId) -> Call<Deleted<DomainId>> = DELETE["/domains/" id];
/// fn update(id: DomainId) with (patch: &DomainPatch) -> Call<Reference<DomainId>> = PATCH["/domains/" id];
/// ```
///
/// Each parameter takes `impl Into<T>`, and a list after `;` any number of such values; the path names the parameters that become its segments. The
/// value after `with` is validated and becomes the JSON body; `with body` and `with query` use its methods `body` and `parameters` instead.
/// `with input` states an input that is made of the parameters.
macro_rules! operations {
    (
        $(#[$meta:meta])*
        pub struct $handle:ident;
        $(#[$accessor_meta:meta])*
        accessor $accessor:ident;
        $(
            $(#[$doc:meta])*
            fn $name:ident($($id:ident: $id_ty:ty),* $(; $items:ident: [$item_ty:ty])?)
                $(with ($json:ident: &$json_ty:ty))?
                $(with body ($body:ident: &$body_ty:ty))?
                $(with query ($query:ident: &$query_ty:ty))?
                $(with input ($input:expr))?
                -> $output:ty
                = $method:ident $path:tt $(. $modifier:ident())*;
        )+
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $handle<'a> {
            client: &'a $crate::client::Client,
        }

        impl $crate::client::Client {
            $(#[$accessor_meta])*
            pub fn $accessor(&self) -> $handle<'_> {
                $handle { client: self }
            }
        }

        impl $handle<'_> {
            $(
                $(#[$doc])*
                pub fn $name(
                    &self
                    $(, $id: impl Into<$id_ty>)*
                    $(, $items: impl IntoIterator<Item: Into<$item_ty>>)?
                    $(, $json: &$json_ty)?
                    $(, $body: &$body_ty)?
                    $(, $query: &$query_ty)?
                ) -> $output {
                    $(let $id = $id.into();)*
                    $(let $items: Vec<$item_ty> = $items.into_iter().map(Into::into).collect();)?
                    let name = concat!(stringify!($accessor), ".", stringify!($name));
                    let operation = operations!(@path name, http::Method::$method, $path);
                    $(let operation = operation.validate($json).with_json($json);)?
                    $(let operation = operation.validate($body).with_body($body.body());)?
                    $(let operation = operation.validate($query).with_queries($query.parameters());)?
                    $(
                        let input = $input;
                        let operation = operation.validate(&input).with_json(&input);
                    )?
                    <$output as $crate::resources::macros::Start>::start(self.client, operation$(.$modifier())*)
                }
            )+
        }
    };
    (@path $name:ident, $method:expr, [$path:literal $($id:ident $($after:literal)?)*]) => {
        $crate::call::Operation::new($name, $method, $path)$(.with_id($id.as_str(), concat!($($after)?)))*
    };
}

/// Declares the filters of a list: query parameters of the same name, with one value or with several that are joined.
///
/// ```text
/// filters! {
///     /// Filters for [`Suppressions::list`].
///     Suppression {
///         /// Lists only entries with this origin.
///         origin: SuppressionOrigin;
///         /// Lists only entries with any of these labels.
///         labels: [LabelId];
///     }
/// }
/// ```
macro_rules! filters {
    ($(#[$meta:meta])* $item:ty { $($filters:tt)+ }) => {
        $(#[$meta])*
        impl $crate::client::List<$item> {
            filters! { @each $($filters)+ }
        }
    };
    (@each) => {};
    (@each $(#[$doc:meta])* $name:ident: [$of:ty]; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $name(self, values: impl IntoIterator<Item: Into<$of>>) -> Self {
            let values = values.into_iter().map(Into::<$of>::into);
            self.with_query(stringify!($name), $crate::resources::shared::join_values(values))
        }

        filters! { @each $($rest)* }
    };
    (@each $(#[$doc:meta])* $name:ident: $of:ty; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $name(self, value: impl Into<$of>) -> Self {
            self.with_query(stringify!($name), Into::<$of>::into(value).to_string())
        }

        filters! { @each $($rest)* }
    };
}

/// Declares records to be list items whose `id` is the cursor.
macro_rules! items {
    ($($record:ident),+) => {
        $(impl $crate::client::Item for $record {
            fn cursor(&self) -> Option<&str> {
                Some(self.id.as_str())
            }
        })+
    };
}
