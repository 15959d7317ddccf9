//! The names of ignored fields, reported in the header `x-sandbox-ignored-fields`.

/// The maximum number of reported ignored fields.
const MAX_IGNORED: usize = 32;
/// The maximum length of a reported field name, in bytes.
pub const MAX_NAME: usize = 128;

/// The names of ignored fields, as JSON pointers.
#[derive(Debug, Default)]
pub struct Ignored(Vec<String>);

impl Ignored {
    pub fn add(&mut self, pointer: &str) {
        // Bounds the size of the header.
        if self.0.len() < MAX_IGNORED {
            let end = pointer.floor_char_boundary(MAX_NAME);
            self.0.push(pointer[..end].to_owned());
        }
    }

    /// The header's value; `None` if no field was ignored.
    pub fn header(&self) -> Option<http::HeaderValue> {
        if self.0.is_empty() {
            return None;
        }
        let names: Vec<_> = self
            .0
            .iter()
            .map(|name| {
                percent_encoding::utf8_percent_encode(name, percent_encoding::CONTROLS)
                    .to_string()
                    .replace(',', "%2C")
            })
            .collect();
        http::HeaderValue::try_from(names.join(",")).ok()
    }
}
