//! The identity of a job's rows.

use serde_json::Value;

use super::prepared::truncate_hash;
use crate::input::{Layout, Record};

/// A row's identity within a job: rows with the same identity are delivered once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowKey {
    /// The hash of the key's value, or of all values in the row.
    pub(crate) identity: [u8; 16],
    /// The hash of the recipients. Names, case and the order of addresses don't matter.
    pub(crate) recipient: [u8; 16],
}

impl RowKey {
    /// Returns a row's key; `None` if the row has no value for the layout's key. The order of columns or JSON fields doesn't matter.
    pub(crate) fn new(record: Record<'_>, to: &[String], layout: &Layout) -> Option<Self> {
        let recipients = hash_recipients(to);
        let mut hasher = blake3::Hasher::new();
        match (record, layout.key.as_deref()) {
            (_, Some("to")) => drop(hasher.update(recipients.as_bytes())),
            (Record::Cells(cells), Some(_)) => {
                let value = cells.get(layout.columns.key?).trim();
                (!value.is_empty()).then(|| field(&mut hasher, "", value))?;
            }
            (Record::Cells(cells), None) => {
                for &index in &layout.columns.by_name {
                    let value = cells.get(index).trim();
                    if !value.is_empty() {
                        field(&mut hasher, &layout.columns.names[index], value);
                    }
                }
            }
            (Record::Json(line), key) => {
                let json: Value = serde_json::from_str(line).ok()?;
                match key {
                    Some(key) => {
                        let value = json.get(key).or_else(|| json.get("variables")?.get(key))?;
                        let text = value.as_str().map(str::trim).filter(|text| !text.is_empty());
                        let number = value.as_number().map(ToString::to_string);
                        field(&mut hasher, "", text.or(number.as_deref())?);
                    }
                    None => value(&mut hasher, &json),
                }
            }
        }
        Some(Self { identity: truncate_hash(hasher.finalize()), recipient: truncate_hash(recipients) })
    }
}

fn field(hasher: &mut blake3::Hasher, name: &str, value: &str) {
    for text in [name, value] {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
}

/// Adds a JSON value, independent of field order.
fn value(hasher: &mut blake3::Hasher, json: &Value) {
    match json {
        Value::Object(object) => {
            let mut fields: Vec<_> = object.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            hasher.update(b"{").update(&(fields.len() as u64).to_le_bytes());
            for (name, json) in fields {
                field(hasher, name, "");
                value(hasher, json);
            }
        }
        Value::Array(items) => {
            hasher.update(b"[").update(&(items.len() as u64).to_le_bytes());
            for item in items {
                value(hasher, item);
            }
        }
        scalar => field(hasher, "", &scalar.to_string()),
    }
}

fn hash_recipients(to: &[String]) -> blake3::Hash {
    let mut addresses: Vec<String> = to.iter().map(|text| normalize_address(text)).collect();
    addresses.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    for address in addresses {
        field(&mut hasher, "", &address);
    }
    hasher.finalize()
}

/// Returns an address's hash. Name, case and the form of an international domain don't matter.
pub(crate) fn address_hash(text: &str) -> [u8; 16] {
    truncate_hash(blake3::hash(normalize_address(text).as_bytes()))
}

/// Returns whether an address is at a domain, given in lowercase ASCII.
pub(super) fn is_at(text: &str, domain: &str) -> bool {
    normalize_address(text).rsplit_once('@').is_some_and(|(_, host)| host == domain)
}

pub(crate) fn normalize_address(text: &str) -> String {
    let text = text.trim();
    let bare = text.strip_suffix('>').and_then(|text| Some(text.rsplit_once('<')?.1)).unwrap_or(text);
    let address = bare.to_lowercase();
    match address.rsplit_once('@') {
        Some((local, domain)) if !domain.is_ascii() => {
            idna::domain_to_ascii(domain).map(|domain| format!("{local}@{domain}")).unwrap_or(address)
        }
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_case_and_order_of_recipients_do_not_matter() {
        let of = |to: &[&str]| {
            *hash_recipients(&to.iter().map(|to| (*to).to_owned()).collect::<Vec<_>>()).as_bytes()
        };
        assert_eq!(of(&["a@x.test"]), of(&["Ada <A@X.test>"]));
        assert_eq!(of(&["b@x.test", "É@x.test"]), of(&["é@x.test", "b@x.test"]));
        assert_eq!(of(&["a@Bücher.test"]), of(&["a@xn--bcher-kva.test"]));
        let different = [&["a@x.test"][..], &["b@x.test"], &["b@x.test", "b@x.test"], &["b@x.testa@x.test"]];
        let mut hashes: Vec<_> = different.iter().map(|to| of(to)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), different.len());
    }
}
