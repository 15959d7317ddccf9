//! The names of ignored fields, reported in the header `x-sandbox-ignored-fields`.

/// The maximum number of reported ignored fields.
const MAX_IGNORED: usize = 32;
/// The maximum length of a reported field name, in bytes.
pub const MAX_NAME: usize = 128;

/// The names of ignored fields, as JSON pointers.
#[derive(Debug, Default)]
pub struct Ignored {
    names: Vec<String>,
    /// Whether some empty values count as absent, and `[]` as an object without fields.
    pub accepts_empty: bool,
}

impl Ignored {
    pub fn new(accepts_empty: bool) -> Self {
        Self { names: Vec::new(), accepts_empty }
    }

    pub fn add(&mut self, pointer: &str) {
        // Bounds the size of the header. The body itself has no name.
        if self.names.len() < MAX_IGNORED && !pointer.is_empty() {
            let end = pointer.floor_char_boundary(MAX_NAME);
            self.names.push(pointer[..end].to_owned());
        }
    }

    /// The header's value; `None` if no field was ignored.
    pub fn header(&self) -> Option<http::HeaderValue> {
        if self.names.is_empty() {
            return None;
        }
        let names: Vec<_> = self
            .names
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
