//! The document: parsing it, resolving its references, compiling its schemas.

use std::{cell::RefCell, collections::HashMap, sync::Arc};

use jsonschema::{Registry, Validator};
use serde_json::{Value, json};

// Schemas refer to one another within the document, so each is compiled as a reference into the whole document.
const DOCUMENT: &str = "contract:/openapi";

/// The parsed document and its schema registry.
pub(super) struct Document {
    root: Value,
    registry: Registry<'static>,
    /// The compiled schemas by location, since many operations share one.
    validators: RefCell<HashMap<String, Arc<Validator>>>,
}

impl Document {
    pub(super) fn new(root: Value) -> Self {
        let registry = Registry::new()
            .add(DOCUMENT, root.clone())
            .and_then(jsonschema::RegistryBuilder::prepare)
            .expect("the references between the schemas of openapi.yaml resolve");
        Self { root, registry, validators: RefCell::default() }
    }

    /// Returns the node at a JSON pointer, with references resolved, and its own pointer.
    pub(super) fn node(&self, pointer: &str) -> Option<Node<'_>> {
        let value = self.root.pointer(pointer)?;
        match value.get("$ref").and_then(Value::as_str) {
            Some(reference) => {
                let target = reference.strip_prefix('#').expect("references stay within the document");
                self.node(target)
            }
            None => Some(Node { document: self, pointer: pointer.to_owned(), value }),
        }
    }

    fn validator(&self, pointer: &str) -> Arc<Validator> {
        let mut validators = self.validators.borrow_mut();
        Arc::clone(validators.entry(pointer.to_owned()).or_insert_with(|| self.compile(pointer).into()))
    }

    fn compile(&self, pointer: &str) -> Validator {
        // Paths contain braces, which a URI reference doesn't allow (RFC 3986).
        let fragment = pointer.replace('{', "%7B").replace('}', "%7D");
        jsonschema::draft202012::options()
            .with_registry(&self.registry)
            .should_validate_formats(true)
            .build(&json!({ "$ref": format!("{DOCUMENT}#{fragment}") }))
            .unwrap_or_else(|error| panic!("openapi.yaml, {pointer}: not a schema: {error}"))
    }
}

/// A location in the document.
pub(super) struct Node<'a> {
    document: &'a Document,
    pub(super) pointer: String,
    value: &'a Value,
}

impl<'a> Node<'a> {
    /// Returns the node below `key`, with references resolved.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let escaped = key.replace('~', "~0").replace('/', "~1");
        self.document.node(&format!("{}/{escaped}", self.pointer))
    }

    /// Returns the keys of an object with their nodes.
    pub(super) fn entries(&self) -> Vec<(&'a str, Self)> {
        let keys = self.value.as_object().into_iter().flat_map(|object| object.keys());
        keys.filter_map(|key| Some((key.as_str(), self.get(key)?))).collect()
    }

    /// Returns the items of an array.
    pub(super) fn items(&self) -> Vec<Self> {
        let length = self.value.as_array().map_or(0, Vec::len);
        (0..length).filter_map(|i| self.get(&i.to_string())).collect()
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.value.get(key)?.as_str()
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        self.value.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns the strings that the schema at this location lists.
    pub(super) fn words(&self) -> Vec<String> {
        let listed = self.value.get("enum").and_then(Value::as_array).into_iter().flatten();
        listed.chain(self.value.get("const")).filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Compiles the schema at this location.
    pub(super) fn validator(&self) -> Arc<Validator> {
        self.document.validator(&self.pointer)
    }

    /// Returns whether the schema at this location has this type.
    pub(super) fn is_type(&self, name: &str) -> bool {
        self.text("type") == Some(name)
    }
}
