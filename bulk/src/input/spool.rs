//! Copies inputs.

use std::{
    fs::File,
    io::{self, Cursor, Read, Write},
    path::Path,
};

use flate2::read::MultiGzDecoder;
use idempost::problem::Problem;

use super::utf16::{self, Utf16Error};
use crate::{
    error::{BulkError, Result},
    files,
};

/// An input's encoding, detected from its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Gzip,
    Utf16 {
        big_endian: bool,
    },
    /// Another encoding, with its name and a remedy.
    Unsupported(&'static str),
}

impl Encoding {
    /// Detects the encoding from the first four bytes.
    fn detect(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [b'P', b'K', 3, 4, ..] => {
                Self::Unsupported("a workbook or a ZIP archive; save the sheet as \"CSV UTF-8\"")
            }
            [0xd0, 0xcf, 0x11, 0xe0, ..] => Self::Unsupported("a workbook; save the sheet as \"CSV UTF-8\""),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                Self::Unsupported("compressed with zstd; use gzip, or decompress it")
            }
            [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
                Self::Unsupported("UTF-32; save the file as \"CSV UTF-8\"")
            }
            [0xff, 0xfe, ..] => Self::Utf16 { big_endian: false },
            [0xfe, 0xff, ..] => Self::Utf16 { big_endian: true },
            [a, 0, b, 0, ..] | [0, a, 0, b, ..] if *a != 0 && *b != 0 => {
                Self::Unsupported("UTF-16 without a byte order mark; save the file as \"CSV UTF-8\"")
            }
            _ => Self::Utf8,
        }
    }
}

/// Reads the first four bytes of an input, or fewer if it is shorter.
fn read_head(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    from.take(4).read_to_end(&mut head)?;
    Ok(head)
}

/// Disk space that stays free for the rest of the plan and for other programs.
const RESERVE: u64 = 64 << 20;

/// Copies an input to a file as UTF-8, decompressed and converted from UTF-16. Fails beyond `max_size` bytes.
pub(super) fn spool(name: &str, from: impl Read, to: &Path, max_size: u64) -> Result<()> {
    let free = files::free_space(files::parent(to));
    copy_up_to(name, from, to, max_size, free.unwrap_or(u64::MAX))
}

fn copy_up_to(name: &str, mut from: impl Read, to: &Path, max_size: u64, free: u64) -> Result<()> {
    let limit = max_size.min(free.saturating_sub(RESERVE));
    let reading = |error| BulkError::io("read", name)(error);
    let head = read_head(&mut from).map_err(reading)?;
    let encoding = Encoding::detect(&head);
    let from = Cursor::new(head).chain(from);
    let mut file = files::create(to)?;
    if encoding == Encoding::Gzip {
        let mut from = MultiGzDecoder::new(from);
        let head = self::read_head(&mut from).map_err(reading)?;
        let encoding = match Encoding::detect(&head) {
            Encoding::Gzip => Encoding::Unsupported("compressed twice; decompress it once"),
            other => other,
        };
        copy(name, encoding, Cursor::new(head).chain(from), &mut file, to, limit)?;
    } else {
        copy(name, encoding, from, &mut file, to, limit)?;
    }
    let size = file.metadata().map_err(BulkError::io("read", to))?.len();
    if size > limit && limit < max_size {
        let reserve = RESERVE >> 20;
        let message = format!("{name} is too large: {free} bytes are free, and {reserve} MiB must stay free");
        return Err(BulkError::io("write", to)(io::Error::new(io::ErrorKind::StorageFull, message)));
    }
    if size > limit {
        let rule = format!("{name} has more than {max_size} bytes; to allow more, raise `max_size`");
        return Err(BulkError::Input(vec![Problem::new("/max_size", "size", rule)]));
    }
    file.sync_all().map_err(BulkError::io("write", to))
}

/// Copies an input until more than `limit` bytes are written.
fn copy(
    name: &str,
    encoding: Encoding,
    from: impl Read,
    to: &mut File,
    path: &Path,
    limit: u64,
) -> Result<()> {
    let reading = |error| BulkError::io("read", name)(error);
    let writing = |error| BulkError::io("write", path)(error);
    match encoding {
        Encoding::Unsupported(what) => {
            Err(BulkError::Input(vec![Problem::new("", "encoding", format!("{name} is {what}"))]))
        }
        Encoding::Utf16 { big_endian } => {
            utf16::to_utf8(from, big_endian, to, limit).map_err(|error| match error {
                Utf16Error::Read(error) => reading(error),
                Utf16Error::Write(error) => writing(error),
                Utf16Error::Invalid { offset, line } => {
                    let what = format!("invalid UTF-16 at offset {offset}; save the file as \"CSV UTF-8\"");
                    BulkError::Input(vec![Problem::new("", "encoding", format!("{name}:{line}: {what}"))])
                }
            })
        }
        Encoding::Utf8 | Encoding::Gzip => {
            let mut buffer = vec![0; 128 * 1024];
            let mut from = from.take(limit.saturating_add(1));
            loop {
                match from.read(&mut buffer) {
                    Ok(0) => return Ok(()),
                    Ok(read) => to.write_all(&buffer[..read]).map_err(writing)?,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(reading(error)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn spooled(bytes: &[u8]) -> Result<Vec<u8>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("input");
        spool("people.csv", bytes, &path, 1 << 20)?;
        Ok(std::fs::read(path).unwrap())
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_is_decompressed_including_concatenated_members_and_utf16() {
        assert_eq!(spooled(&[gzip(b"to\n"), gzip(b"a@x.test\n")].concat()).unwrap(), b"to\na@x.test\n");
        let utf16: Vec<u8> = "\u{feff}to\né@x.test\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [utf16.clone(), gzip(&utf16)] {
            assert_eq!(String::from_utf8(spooled(&bytes).unwrap()).unwrap(), "\u{feff}to\né@x.test\n");
        }
        for short in ["", "t", "to"] {
            assert_eq!(spooled(short.as_bytes()).unwrap(), short.as_bytes());
        }
    }

    #[test]
    fn an_input_that_does_not_fit_on_the_disk_is_an_error_before_the_disk_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("input");
        let endless = || gzip(&b"to\na@x.test\n".repeat(1_000));
        let error = copy_up_to("people.csv", &*endless(), &path, 1 << 20, RESERVE + 5_000).unwrap_err();
        let BulkError::Io { source, .. } = &error else { panic!("{error:?}") };
        let message = "people.csv is too large: 67113864 bytes are free, and 64 MiB must stay free";
        assert_eq!(source.to_string(), message);
        assert!(fs::metadata(&path).unwrap().len() <= 5_001);
        fs::remove_file(&path).unwrap();
        copy_up_to("people.csv", &*endless(), &path, 1 << 20, RESERVE + 12_000).unwrap();
        assert!(files::free_space(dir.path()).is_none_or(|free| free > 0));
    }

    #[test]
    fn utf16_is_limited_by_its_size_in_utf8() {
        let utf16: Vec<u8> = "\u{feff}to\na@x.test\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [utf16.clone(), gzip(&utf16)] {
            for limit in 1..20 {
                let dir = tempfile::tempdir().unwrap();
                let path = dir.path().join("input");
                let copied = spool("people.csv", &*bytes, &path, limit);
                match copied {
                    Ok(()) => assert_eq!((limit >= 15, fs::read(&path).unwrap().len()), (true, 15)),
                    Err(error) => assert!(error.to_string().contains("more than"), "{limit}: {error}"),
                }
            }
        }
    }

    #[test]
    fn a_damaged_archive_is_an_error() {
        let bytes = gzip(&b"to\na@x.test\n".repeat(1_000));
        let error = spooled(&bytes[..bytes.len() - 9]).unwrap_err();
        assert!(matches!(error, BulkError::Io { action: "read", .. }), "{error:?}");
    }

    #[test]
    fn another_encoding_is_refused_with_the_fix() {
        let cases: [(&[u8], &str); 6] = [
            (b"PK\x03\x04....", "people.csv is a workbook"),
            (b"\xd0\xcf\x11\xe0", "a workbook"),
            (b"\xff\xfe\0\0t\0\0\0", "UTF-32"),
            (b"t\0o\0", "UTF-16 without a byte order mark"),
            (b"\0t\0o", "UTF-16 without a byte order mark"),
            (b"\x28\xb5\x2f\xfd", "zstd"),
        ];
        for (bytes, expected) in cases {
            let error = spooled(bytes).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(spooled(&gzip(&gzip(b"to"))).unwrap_err().to_string().contains("compressed twice"));
    }
}
