//! How inputs of several parts are written: as text, so that samples are readable and mutations stay meaningful.

/// The first line, and the rest.
pub(crate) fn first_line(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&data[..end], &data[end + 1..]),
        None => (data, &[]),
    }
}

/// A name and its value.
type Field<'a> = (&'a [u8], &'a [u8]);

/// The lines up to the first empty one, as name and value, and the rest.
pub(crate) fn head(data: &[u8]) -> (Vec<Field<'_>>, &[u8]) {
    let (mut fields, mut rest) = (Vec::new(), data);
    while !rest.is_empty() {
        let (line, after) = first_line(rest);
        rest = after;
        if line.is_empty() {
            break;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        fields.push((line[..colon].trim_ascii(), line[(colon + 1).min(line.len())..].trim_ascii()));
    }
    (fields, rest)
}

/// The header fields that HTTP permits.
pub(crate) fn headers(fields: &[(&[u8], &[u8])]) -> http::HeaderMap {
    let mut headers = http::HeaderMap::new();
    for (name, value) in fields {
        let name = http::HeaderName::from_bytes(name);
        let value = http::HeaderValue::from_bytes(value);
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    headers
}

/// The number at the start of a line, and the rest.
pub(crate) fn number(line: &[u8]) -> (usize, &[u8]) {
    let end = line.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(line.len());
    let number = std::str::from_utf8(&line[..end]).ok().and_then(|digits| digits.parse().ok());
    (number.unwrap_or_default(), line[end..].trim_ascii())
}
