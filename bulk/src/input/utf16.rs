//! Conversion of UTF-16 to UTF-8.

use std::io::{self, Read, Write};

/// A conversion error.
#[derive(Debug)]
pub(super) enum Utf16Error {
    Read(io::Error),
    Write(io::Error),
    /// Half of a surrogate pair, or half of a code unit at the end.
    Invalid {
        offset: u64,
        line: u64,
    },
}

/// Converts UTF-16 to UTF-8, until more than `limit` bytes are written. The byte order mark is kept: it is U+FEFF in both.
pub(super) fn to_utf8(
    mut from: impl Read,
    big_endian: bool,
    mut to: impl Write,
    limit: u64,
) -> Result<(), Utf16Error> {
    let mut bytes = vec![0; 64 * 1024];
    let mut units: Vec<u16> = Vec::new();
    let mut text = String::new();
    // The pending bytes of an incomplete character, and the offset of the first one.
    let (mut len, mut offset, mut line) = (0, 0_u64, 1_u64);
    let mut written = 0;
    loop {
        let read = loop {
            match from.read(&mut bytes[len..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other.map_err(Utf16Error::Read)?,
            }
        };
        if read == 0 {
            return if len == 0 { Ok(()) } else { Err(Utf16Error::Invalid { offset, line }) };
        }
        len += read;
        let unit = |pair: &[u8]| {
            let pair = [pair[0], pair[1]];
            if big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
        };
        units.clear();
        units.extend(bytes[..len].chunks_exact(2).map(unit));
        if units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit)) {
            units.pop();
        }
        text.clear();
        for decoded in char::decode_utf16(units.iter().copied()) {
            let Ok(c) = decoded else { return Err(Utf16Error::Invalid { offset, line }) };
            offset += 2 * c.len_utf16() as u64;
            line += u64::from(c == '\n');
            text.push(c);
        }
        to.write_all(text.as_bytes()).map_err(Utf16Error::Write)?;
        written += text.len() as u64;
        if written > limit {
            return Ok(());
        }
        bytes.copy_within(2 * units.len()..len, 0);
        len -= 2 * units.len();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A reader that returns only a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(self.0.len()).min(buffer.len());
            buffer[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    fn convert(bytes: &[u8], step: usize, big_endian: bool) -> Result<String, Utf16Error> {
        let mut out = Vec::new();
        to_utf8(Slow(bytes, step), big_endian, &mut out, u64::MAX)?;
        Ok(String::from_utf8(out).unwrap())
    }

    proptest! {
        #[test]
        fn any_text_is_converted_from_both_byte_orders_in_pieces_of_any_size(text in "\\PC*🐦?", step in 1_usize..9) {
            let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            prop_assert_eq!(convert(&little, step, false).unwrap(), text.clone());
            prop_assert_eq!(convert(&big, step, true).unwrap(), text);
        }
    }

    #[test]
    fn half_a_character_is_located() {
        let mut bytes: Vec<u8> = "a\né".encode_utf16().flat_map(u16::to_le_bytes).collect();
        bytes.extend([0x00, 0xdc, b'x', 0]);
        for step in [1, 3, 100] {
            let error = convert(&bytes, step, false).unwrap_err();
            assert!(matches!(error, Utf16Error::Invalid { offset: 6, line: 2 }), "{error:?}");
        }
        assert!(matches!(convert(b"a\0b", 9, false), Err(Utf16Error::Invalid { offset: 2, .. })));
        assert!(matches!(convert(b"a\0\x3d\xd8", 9, false), Err(Utf16Error::Invalid { offset: 2, .. })));
    }
}
