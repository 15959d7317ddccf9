//! Headers in one allocation.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

/// The names and values of headers, for records that are kept in large numbers. A [`HeaderMap`] needs about 150 bytes more for each header, and
/// its values may be slices of the read buffer of a connection, which they would retain entirely.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct PackedHeaders {
    /// The length of each name and of its value, little-endian, and both.
    bytes: Bytes,
}

/// The bytes of a header in addition to its name and value.
const HEAD: usize = 6;

impl PackedHeaders {
    /// In the order of the map.
    pub fn new(headers: &HeaderMap) -> Self {
        let length = headers.iter().map(|(name, value)| HEAD + name.as_str().len() + value.len()).sum();
        let mut bytes = Vec::with_capacity(length);
        for (name, value) in headers {
            let name = name.as_str().as_bytes();
            // Longer names and values don't fit into the buffer of a connection.
            let (Ok(of_name), Ok(of_value)) = (u16::try_from(name.len()), u32::try_from(value.len())) else {
                continue;
            };
            bytes.extend_from_slice(&of_name.to_le_bytes());
            bytes.extend_from_slice(&of_value.to_le_bytes());
            bytes.extend_from_slice(name);
            bytes.extend_from_slice(value.as_bytes());
        }
        Self { bytes: bytes.into() }
    }

    pub fn entries(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut rest = &*self.bytes;
        std::iter::from_fn(move || {
            let (of_name, after) = rest.split_first_chunk()?;
            let (of_value, after) = after.split_first_chunk()?;
            let (name, after) = after.split_at_checked(u16::from_le_bytes(*of_name).into())?;
            let value;
            (value, rest) = after.split_at_checked(u32::from_le_bytes(*of_value).try_into().ok()?)?;
            Some((std::str::from_utf8(name).unwrap_or_default(), value))
        })
    }

    /// The first value of a name in lower case.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.entries().find_map(|(found, value)| (found == name).then_some(value))
    }

    pub fn heap_size(&self) -> usize {
        self.bytes.len()
    }

    pub fn to_map(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in self.entries() {
            if let (Ok(name), Ok(value)) =
                (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value))
            {
                headers.append(name, value);
            }
        }
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_headers_keep_their_values_and_order() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("b", "1"), ("cookie", "x"), ("b", ""), ("a", "22"), ("cookie", "yy"), ("b", "3")]
        {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers.append("bytes", HeaderValue::from_bytes(&[0xe9, b' ', 0xff]).expect("a valid value"));
        let packed = PackedHeaders::new(&headers);
        assert!(packed.to_map().iter().eq(headers.iter()), "{packed:?}");
        assert_eq!((packed.get("b"), packed.get("c")), (Some(&b"1"[..]), None));
        assert_eq!(PackedHeaders::new(&HeaderMap::new()).entries().count(), 0);
    }
}
