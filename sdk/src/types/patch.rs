//! A field in an update: unchanged, cleared, or set.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The change to one field in an update. On the wire, a missing field differs from `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Patch<T> {
    /// Absent from the request: the service keeps the current value.
    #[default]
    Keep,
    /// `null`: the service removes the value.
    Clear,
    /// The new value.
    Set(T),
}

impl<T> Patch<T> {
    /// For `#[serde(skip_serializing_if = "Patch::is_keep")]`.
    pub(crate) fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }

    /// Returns the new value, if there is one.
    pub(crate) fn value(&self) -> Option<&T> {
        if let Self::Set(value) = self { Some(value) } else { None }
    }
}

impl Patch<String> {
    /// Returns the new text, if there is one.
    pub(crate) fn text(&self) -> Option<&str> {
        self.value().map(String::as_str)
    }
}

impl<T> From<T> for Patch<T> {
    fn from(value: T) -> Self {
        Self::Set(value)
    }
}

impl<T: Serialize> Serialize for Patch<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Keep | Self::Clear => serializer.serialize_none(),
            Self::Set(value) => value.serialize(serializer),
        }
    }
}

/// Decodes `null` as an unchanged field.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Keep, Self::Set))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keeping_clearing_and_setting_a_field_differ_on_the_wire() {
        //
        #[derive(Serialize)]
        struct Update {
            #[serde(skip_serializing_if = "Patch::is_keep")]
            kept: Patch<&'static str>,
            #[serde(skip_serializing_if = "Patch::is_keep")]
            cleared: Patch<&'static str>,
            #[serde(skip_serializing_if = "Patch::is_keep")]
            set: Patch<&'static str>,
        }
        let update = Update { kept: Patch::default(), cleared: Patch::Clear, set: Patch::Set("") };
        assert_eq!(serde_json::to_value(update).unwrap(), json!({ "cleared": null, "set": "" }));
    }
}
