//! The memory that records take, so that every limit counts bytes.
//!
//! A record's size follows from its serialization, which lists all that it owns: a [`Serializer`] adds up lengths without writing anything.
//! The sum is an upper estimate: collections count as half full, and text that isn't owned, such as the name of an event type, counts as well.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Value;

/// The cost of a row in the ledgers, indexes and retention lists that contain its ID, in bytes.
const ROW: usize = 256;
/// The cost of a [`HeaderMap`] entry in addition to its text, in bytes.
const HEADER: usize = size_of::<HeaderName>() + size_of::<HeaderValue>() + 40;
/// The cost of a map entry in addition to its key and value, in bytes: its hash, and its position in the table, which is at least half full.
const MAP_ENTRY: usize = 4 * size_of::<usize>();
/// The size of an ID, which is serialized as bytes without being on the heap.
const ID: usize = 16;

/// The size of a record.
pub fn record<T: Serialize>(record: &T) -> usize {
    row::<T>(heap(record))
}

/// The size of a record that owns this many bytes on the heap.
pub const fn row<T>(heap: usize) -> usize {
    ROW + size_of::<T>() + heap
}

/// The bytes that a value owns on the heap. Shared values count for each owner.
pub fn heap<T: Serialize + ?Sized>(value: &T) -> usize {
    let mut counter = Counter { heap: 0 };
    // Only a poisoned lock fails; bytes counted before it remain counted.
    let _ = counter.size_of_val(value);
    counter.heap
}

/// The bytes that headers own on the heap.
pub fn headers(headers: &HeaderMap) -> usize {
    let texts = headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    headers.capacity().max(headers.len()) * HEADER + texts.sum::<usize>()
}

/// Adds up the bytes on the heap. The result for each value is the size of its fields, which reveals data behind a pointer.
struct Counter {
    heap: usize,
}

impl Counter {
    /// Counts a value that is stored inside another. Returns its own size.
    fn size_of_val<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<usize, fmt::Error> {
        let fields = value.serialize(&mut *self)?;
        // The fields of a `Box` or an `Arc` are on the heap.
        self.heap += if fields > size_of_val(value) { fields } else { 0 };
        Ok(size_of_val(value))
    }
}

/// The methods for values without anything on the heap.
macro_rules! scalars {
    ($($method:ident($($value:ty),*))*) => {
        $(fn $method(self, $(_: $value),*) -> Result<usize, fmt::Error> {
            Ok(0)
        })*
    };
}

/// The methods that start to count several values.
macro_rules! several {
    ($($method:ident($($argument:ty),*))*) => {
        $(fn $method(self, $(_: $argument),*) -> Result<Several<'c>, fmt::Error> {
            Ok(Several { counter: self, fields: 0 })
        })*
    };
}

impl<'c> Serializer for &'c mut Counter {
    type Ok = usize;
    type Error = fmt::Error;
    type SerializeSeq = Several<'c>;
    type SerializeTuple = Several<'c>;
    type SerializeTupleStruct = Several<'c>;
    type SerializeTupleVariant = Several<'c>;
    type SerializeMap = Several<'c>;
    type SerializeStruct = Several<'c>;
    type SerializeStructVariant = Several<'c>;

    scalars! {
        serialize_bool(bool)
        serialize_i8(i8)
        serialize_i16(i16)
        serialize_i32(i32)
        serialize_i64(i64)
        serialize_i128(i128)
        serialize_u8(u8)
        serialize_u16(u16)
        serialize_u32(u32)
        serialize_u64(u64)
        serialize_f32(f32)
        serialize_f64(f64)
        serialize_char(char)
        serialize_none()
        serialize_unit()
        serialize_unit_struct(&'static str)
        serialize_unit_variant(&'static str, u32, &'static str)
    }

    several! {
        serialize_seq(Option<usize>)
        serialize_tuple(usize)
        serialize_tuple_struct(&'static str, usize)
        serialize_tuple_variant(&'static str, u32, &'static str, usize)
        serialize_map(Option<usize>)
        serialize_struct(&'static str, usize)
        serialize_struct_variant(&'static str, u32, &'static str, usize)
    }

    fn serialize_str(self, text: &str) -> Result<usize, fmt::Error> {
        self.heap += text.len();
        Ok(0)
    }

    /// Only times and durations are serialized by their `Display`.
    fn collect_str<T: fmt::Display + ?Sized>(self, _value: &T) -> Result<usize, fmt::Error> {
        Ok(0)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<usize, fmt::Error> {
        self.heap += if bytes.len() == ID { 0 } else { bytes.len() };
        Ok(0)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<usize, fmt::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<usize, fmt::Error> {
        self.size_of_val(value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        _variant: &'static str,
        value: &T,
    ) -> Result<usize, fmt::Error> {
        self.size_of_val(value)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// The items of a collection, or the fields of a struct.
struct Several<'c> {
    counter: &'c mut Counter,
    fields: usize,
}

impl Several<'_> {
    /// Counts an item of a collection, which is at least half full. Collections may pass references, so an item has a minimum size.
    fn item<T: Serialize + ?Sized>(&mut self, item: &T, min: usize) -> Result<(), fmt::Error> {
        let fields = item.serialize(&mut *self.counter)?;
        self.counter.heap += 2 * fields.max(size_of_val(item)).max(min);
        Ok(())
    }
}

impl SerializeSeq for Several<'_> {
    type Ok = usize;
    type Error = fmt::Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), fmt::Error> {
        self.item(item, size_of::<Value>())
    }

    fn end(self) -> Result<usize, fmt::Error> {
        Ok(0)
    }
}

impl SerializeMap for Several<'_> {
    type Ok = usize;
    type Error = fmt::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), fmt::Error> {
        self.item(key, size_of::<String>() + MAP_ENTRY)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        self.item(value, size_of::<Value>())
    }

    fn end(self) -> Result<usize, fmt::Error> {
        Ok(0)
    }
}

/// Counts fields.
macro_rules! fields {
    ($($trait:ident::$method:ident($($name:ty)?))*) => {
        $(impl $trait for Several<'_> {
            type Ok = usize;
            type Error = fmt::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? field: &T) -> Result<(), fmt::Error> {
                self.fields += self.counter.size_of_val(field)?;
                Ok(())
            }

            fn end(self) -> Result<usize, fmt::Error> {
                Ok(self.fields)
            }
        })*
    };
}

fields! {
    SerializeTuple::serialize_element()
    SerializeTupleStruct::serialize_field()
    SerializeTupleVariant::serialize_field()
    SerializeStruct::serialize_field(&'static str)
    SerializeStructVariant::serialize_field(&'static str)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use bytes::Bytes;
    use jiff::Timestamp;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[derive(Serialize)]
    struct Node {
        id: Uuid,
        at: Timestamp,
        text: Option<String>,
        next: Option<Box<Node>>,
    }

    fn node(text: Option<&str>, next: Option<Node>) -> Node {
        let text = text.map(str::to_owned);
        Node { id: Uuid::max(), at: Timestamp::UNIX_EPOCH, text, next: next.map(Box::new) }
    }

    #[test]
    fn text_bytes_and_pointers_count_once() {
        assert_eq!(heap(&node(None, None)), 0);
        assert_eq!(heap(&node(Some("four"), None)), 4);
        assert_eq!(heap(&node(Some("four"), Some(node(Some("three"), None)))), 9 + size_of::<Node>());
        assert_eq!(heap(&Arc::<str>::from("shared")), 6);
        assert_eq!(heap(&(Bytes::from_static(&[0; 1000]), 7_u64, Timestamp::UNIX_EPOCH)), 1000);
    }

    #[test]
    fn collections_count_as_half_full() {
        let texts = ["a", "bc"].map(str::to_owned);
        assert_eq!(heap(&Vec::from(texts.clone())), 2 * 2 * size_of::<Value>() + 3);
        assert_eq!(heap(&BTreeSet::from(texts.clone())), 2 * 2 * size_of::<Value>() + 3);
        assert_eq!(
            heap(&Vec::from([(1_u64, "a".to_owned(), [0_u64; 20])])),
            2 * (8 + 24 + 160) + 1,
            "a larger item"
        );
        let pairs = BTreeMap::from([(1_u64, texts[0].clone()), (2, texts[1].clone())]);
        assert!(heap(&pairs) >= 2 * 2 * size_of::<(u64, String)>() + 3);
        let object = json!({"key": ["text", 1, null]});
        assert!(heap(&object) >= 2 * (size_of::<String>() + 4 * size_of_val(&object)) + 7);
    }
}
