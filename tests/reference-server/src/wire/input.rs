//! Declarations of inputs.

/// Declares an input: its fields, each with its reader. `requires` names fields whose absence is reported before other problems, `any` fields of
/// which at least one must be given.
macro_rules! input {
    (
        $(#[$doc:meta])*
        $visible:vis struct $input:ident($fields:ident $(, $given:ident: $type:ty)*
            $(; requires $($required:literal),+)? $(; any $($any:literal),+)?) {
            $($(#[$field_doc:meta])* $field:ident: $value:ty = $read:expr,)+
        }
    ) => {
        $(#[$doc])*
        $visible struct $input {
            $($(#[$field_doc])* $visible $field: $value,)+
        }

        impl $input {
            $visible fn read(
                $fields: &mut $crate::wire::fields::Fields<'_> $(, $given: $type)*
            ) -> $crate::wire::problems::Checked<Self> {
                $($fields.require(&[$($required),+]);)?
                $($fields.require_any(&[$($any),+]);)?
                // All fields are read before the first problem ends the function.
                $(let $field = $read;)+
                Ok(Self { $($field: $field?),+ })
            }
        }
    };
}
pub(crate) use input;
