//! Decodes MessagePack by way of a tree of its values.
//!
//! The deserializer of `rmp-serde` has all of MessagePack compiled in for each of 270 visitors, a quarter of this crate's code. Here, each gets
//! one match over the values.

use rmpv::ValueRef;
use serde::de::value::{
    BorrowedStrDeserializer, Error, MapAccessDeserializer, MapDeserializer, SeqDeserializer,
};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::persistence::PersistenceError;

pub(super) fn decode<T: DeserializeOwned>(mut bytes: &[u8]) -> Result<T, PersistenceError> {
    let value = rmpv::decode::read_value_ref(&mut bytes).map_err(Error::custom);
    value
        .and_then(|value| T::deserialize(Tree(value)))
        .map_err(|error| PersistenceError::Damaged(error.to_string()))
}

struct Tree<'de>(ValueRef<'de>);

type Entries<'de> = std::iter::Map<
    std::vec::IntoIter<(ValueRef<'de>, ValueRef<'de>)>,
    fn((ValueRef<'de>, ValueRef<'de>)) -> (Tree<'de>, Tree<'de>),
>;

fn entries<'de>(values: Vec<(ValueRef<'de>, ValueRef<'de>)>) -> MapDeserializer<'de, Entries<'de>, Error> {
    MapDeserializer::new(values.into_iter().map(|(key, value)| (Tree(key), Tree(value))))
}

fn text(text: rmpv::Utf8StringRef<'_>) -> Result<&str, Error> {
    text.into_str().ok_or_else(|| Error::custom("text that isn't UTF-8"))
}

impl<'de> Deserializer<'de> for Tree<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            ValueRef::Nil => visitor.visit_unit(),
            ValueRef::Boolean(value) => visitor.visit_bool(value),
            ValueRef::Integer(value) => match (value.as_u64(), value.as_i64()) {
                (Some(value), _) => visitor.visit_u64(value),
                (None, value) => visitor.visit_i64(value.unwrap_or_default()),
            },
            ValueRef::F32(value) => visitor.visit_f32(value),
            ValueRef::F64(value) => visitor.visit_f64(value),
            ValueRef::String(value) => visitor.visit_borrowed_str(text(value)?),
            ValueRef::Binary(value) => visitor.visit_borrowed_bytes(value),
            ValueRef::Array(values) => {
                let mut values = SeqDeserializer::new(values.into_iter().map(Tree));
                let read = visitor.visit_seq(&mut values)?;
                values.end().map(|()| read)
            }
            ValueRef::Map(values) => visitor.visit_map(entries(values)),
            ValueRef::Ext(..) => Err(Error::custom("an extension of MessagePack")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if matches!(self.0, ValueRef::Nil) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            ValueRef::String(variant) => visitor.visit_enum(BorrowedStrDeserializer::new(text(variant)?)),
            ValueRef::Map(values) => visitor.visit_enum(MapAccessDeserializer::new(entries(values))),
            _ => Err(Error::custom("the variant of an enum is missing")),
        }
    }

    /// In MessagePack, an integer of 16 bytes is binary.
    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let ValueRef::Binary(bytes) = self.0 else { return self.deserialize_any(visitor) };
        visitor.visit_i128(i128::from_be_bytes(bytes.try_into().map_err(Error::custom)?))
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Error> for Tree<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
