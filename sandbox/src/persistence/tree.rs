//! Decodes MessagePack by way of a tree of its values.
//!
//! The deserializer of `rmp-serde` has all of MessagePack compiled in for each of 270 visitors, a quarter of this crate's code. Here, each gets
//! only the kind of value that its type is stored as: structs are maps (`write_named`), enums text or maps of one member.

use rmpv::{Integer, ValueRef};
use serde::de::value::{BorrowedStrDeserializer, Error, MapAccessDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::persistence::PersistenceError;

pub(super) fn decode<T: DeserializeOwned>(mut bytes: &[u8]) -> Result<T, PersistenceError> {
    let value = rmpv::decode::read_value_ref(&mut bytes).map_err(Error::custom);
    value
        .and_then(|value| T::deserialize(Tree(value)))
        .map_err(|error| PersistenceError::Damaged(error.to_string()))
}

struct Tree<'de>(ValueRef<'de>);

impl<'de> Tree<'de> {
    /// The error if the value isn't what its type is stored as.
    fn not(&self, expected: &str) -> Error {
        let found = match self.0 {
            ValueRef::Nil => "nothing",
            ValueRef::Boolean(_) => "a boolean",
            ValueRef::Integer(_) | ValueRef::F32(_) | ValueRef::F64(_) => "a number",
            ValueRef::String(_) => "text",
            ValueRef::Binary(_) => "bytes",
            ValueRef::Array(_) => "a list",
            ValueRef::Map(_) => "a map",
            ValueRef::Ext(..) => "an extension of MessagePack",
        };
        Error::custom(format_args!("{found} instead of {expected}"))
    }

    fn text(&self) -> Result<&'de str, Error> {
        let ValueRef::String(text) = self.0 else { return Err(self.not("text")) };
        text.into_str().ok_or_else(|| Error::custom("text that isn't UTF-8"))
    }

    fn integer<T>(&self, read: impl Fn(&Integer) -> Option<T>) -> Result<T, Error> {
        let ValueRef::Integer(integer) = &self.0 else { return Err(self.not("a whole number")) };
        read(integer).ok_or_else(|| Error::custom("a number out of range"))
    }

    fn bytes(&self) -> Result<&'de [u8], Error> {
        let ValueRef::Binary(bytes) = self.0 else { return Err(self.not("bytes")) };
        Ok(bytes)
    }

    fn items(self) -> Result<Items<'de>, Error> {
        let ValueRef::Array(items) = self.0 else { return Err(self.not("a list")) };
        Ok(Items(items.into_iter()))
    }

    fn members(self) -> Result<Members<'de>, Error> {
        let ValueRef::Map(members) = self.0 else { return Err(self.not("a map")) };
        Ok(Members { members: members.into_iter(), value: ValueRef::Nil })
    }
}

struct Items<'de>(std::vec::IntoIter<ValueRef<'de>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(value) = self.0.next() else { return Ok(None) };
        seed.deserialize(Tree(value)).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Members<'de> {
    members: std::vec::IntoIter<(ValueRef<'de>, ValueRef<'de>)>,
    /// The value of the last key.
    value: ValueRef<'de>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((key, value)) = self.members.next() else { return Ok(None) };
        self.value = value;
        seed.deserialize(Tree(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Tree(std::mem::replace(&mut self.value, ValueRef::Nil)))
    }
}

type Name = &'static str;
type Names = &'static [&'static str];

/// Methods that decode one kind of value.
macro_rules! decode {
    ($self:ident, $visitor:ident, $($kind:ident $(($($argument:ty),+))?)+ => $read:expr) => {
        $(fn $kind<V: Visitor<'de>>($self, $($(_: $argument,)+)? $visitor: V) -> Result<V::Value, Error> { $read })+
    };
}

impl<'de> Deserializer<'de> for Tree<'de> {
    type Error = Error;

    /// JSON values, and untagged enums.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            ValueRef::Nil => visitor.visit_unit(),
            ValueRef::Boolean(value) => visitor.visit_bool(value),
            ValueRef::Integer(value) if value.is_u64() => self.deserialize_u64(visitor),
            ValueRef::Integer(_) => self.deserialize_i64(visitor),
            ValueRef::F32(_) | ValueRef::F64(_) => self.deserialize_f64(visitor),
            ValueRef::String(_) => self.deserialize_str(visitor),
            ValueRef::Binary(_) => self.deserialize_bytes(visitor),
            ValueRef::Array(_) => self.deserialize_seq(visitor),
            ValueRef::Map(_) => self.deserialize_map(visitor),
            ValueRef::Ext(..) => Err(self.not("a value")),
        }
    }

    decode!(self, visitor, deserialize_bool => match self.0 {
        ValueRef::Boolean(value) => visitor.visit_bool(value),
        _ => Err(self.not("a boolean")),
    });
    decode!(self, visitor, deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 => {
        visitor.visit_u64(self.integer(Integer::as_u64)?)
    });
    decode!(self, visitor, deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 => {
        visitor.visit_i64(self.integer(Integer::as_i64)?)
    });
    // An integer of 16 bytes.
    decode!(self, visitor, deserialize_i128 => {
        visitor.visit_i128(i128::from_be_bytes(self.bytes()?.try_into().map_err(Error::custom)?))
    });
    decode!(self, visitor, deserialize_f32 deserialize_f64 => match self.0 {
        ValueRef::F64(value) => visitor.visit_f64(value),
        ValueRef::F32(value) => visitor.visit_f32(value),
        _ => Err(self.not("a number with a fraction")),
    });
    decode!(self, visitor, deserialize_char deserialize_str deserialize_string deserialize_identifier => {
        visitor.visit_borrowed_str(self.text()?)
    });
    decode!(self, visitor, deserialize_bytes deserialize_byte_buf => visitor.visit_borrowed_bytes(self.bytes()?));
    decode!(self, visitor, deserialize_ignored_any => visitor.visit_unit());
    decode!(self, visitor, deserialize_unit deserialize_unit_struct(Name) => match self.0 {
        ValueRef::Nil => visitor.visit_unit(),
        _ => Err(self.not("nothing")),
    });
    decode!(self, visitor, deserialize_option => match self.0 {
        ValueRef::Nil => visitor.visit_none(),
        _ => visitor.visit_some(self),
    });
    decode!(self, visitor, deserialize_newtype_struct(Name) => visitor.visit_newtype_struct(self));
    decode!(self, visitor, deserialize_seq deserialize_tuple(usize) deserialize_tuple_struct(Name, usize) => {
        let mut items = self.items()?;
        let read = visitor.visit_seq(&mut items)?;
        if items.0.len() == 0 { Ok(read) } else { Err(Error::custom("a list with more values than its type")) }
    });
    decode!(self, visitor, deserialize_map deserialize_struct(Name, Names) => visitor.visit_map(self.members()?));
    decode!(self, visitor, deserialize_enum(Name, Names) => match self.0 {
        ValueRef::Map(_) => visitor.visit_enum(MapAccessDeserializer::new(self.members()?)),
        _ => visitor.visit_enum(BorrowedStrDeserializer::new(self.text()?)),
    });

    fn is_human_readable(&self) -> bool {
        false
    }
}
