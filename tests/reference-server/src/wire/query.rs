//! Query parameters with lists: joined with commas, or repeated.

use std::borrow::Cow;
use std::collections::HashSet;

use url::form_urlencoded;
use uuid::Uuid;

use crate::wire::declared::Input;
use crate::wire::paging::quote;
use crate::wire::problem::Problem;

/// The words of a switch.
pub const BOOLEANS: [(&str, bool); 2] = [("true", true), ("false", false)];

/// The parameters of a query.
pub struct Parameters<'a> {
    given: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// The parameters of one of the sandbox's own routes.
    declared: Option<&'static [&'static [Input]]>,
}

impl<'a> Parameters<'a> {
    pub fn new(query: Option<&'a str>) -> Self {
        let given = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).collect();
        Self { given, declared: None }
    }

    /// For one of the sandbox's own routes, whose reader may ask only for these parameters.
    pub fn declared(query: Option<&'a str>, declared: &'static [&'static [Input]]) -> Self {
        Self { declared: Some(declared), ..Self::new(query) }
    }

    /// A parameter; the last one if it is repeated.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.check_declared(name);
        self.given.iter().rev().find(|(found, _)| found == name).map(|(_, value)| &**value)
    }

    /// A switch, off by default.
    pub fn flag(&self, name: &str) -> Result<bool, Problem> {
        Ok(self.one_of(name, &BOOLEANS)?.unwrap_or(false))
    }

    /// The values of a repeated parameter.
    pub fn get_all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.check_declared(name);
        self.given.iter().filter(move |(found, _)| found == name).map(|(_, value)| &**value)
    }

    /// The parameters with their values, in the order of the request.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.given.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The values of these parameters, in the order of the request.
    pub fn of<'s>(&'s self, inputs: &'static [Input]) -> impl Iterator<Item = (&'static Input, &'s str)> {
        for input in inputs {
            self.check_declared(input.name);
        }
        self.iter().filter_map(|(name, value)| Some((inputs.iter().find(|input| input.name == name)?, value)))
    }

    /// Panics in debug builds if a reader asks for a parameter that the route doesn't list.
    fn check_declared(&self, name: &str) {
        let is_known = |known: &[&[Input]]| known.iter().copied().flatten().any(|input| input.name == name);
        debug_assert!(self.declared.is_none_or(is_known), "the route doesn't list its parameter {name}");
    }

    /// One of these words.
    pub fn one_of<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, Problem> {
        self.text(name).map(|text| parse_word(name, text, words)).transpose()
    }

    /// The distinct items of a list.
    fn list(&self, name: &str) -> Option<Vec<&str>> {
        let items = self.get_all(name).flat_map(|value| value.split(',')).map(str::trim);
        let mut seen = HashSet::new();
        let items: Vec<_> = items.filter(|item| seen.insert(*item)).collect();
        (!items.is_empty()).then_some(items)
    }

    /// A list of words.
    pub fn word_list<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<Vec<T>>, Problem> {
        let read = |items: Vec<&str>| items.into_iter().map(|item| parse_word(name, item, words)).collect();
        self.list(name).map(read).transpose()
    }

    /// A list of IDs.
    pub fn ids(&self, name: &str, max: usize) -> Result<Option<Vec<Uuid>>, Problem> {
        let Some(items) = self.list(name) else { return Ok(None) };
        if items.len() > max {
            let found = items.len();
            return Err(Problem::validation(format!("`{name}` must have at most {max} ids; found {found}.")));
        }
        let read = |item: &&str| {
            let found = quote(item);
            Uuid::try_parse(item).map_err(|_| {
                Problem::validation(format!("`{name}` must be one or more UUIDs; found {found}."))
            })
        };
        let mut ids = items.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        ids.sort_unstable();
        ids.dedup();
        Ok(Some(ids))
    }
}

/// The meaning of a word.
pub fn parse_word<T: Copy>(name: &str, text: &str, words: &[(&str, T)]) -> Result<T, Problem> {
    let known = words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning);
    known.ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        let (words, found) = (words.join(", "), quote(text));
        Problem::validation(format!("`{name}` must be one of {words}; found {found}."))
    })
}
