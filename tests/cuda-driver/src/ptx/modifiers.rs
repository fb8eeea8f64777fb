//! The modifiers of one opcode, each of which somebody must take.

use super::types::Type;

/// `mad.lo.s32` is the head `mad` and the parts `lo`, `s32`.
#[derive(Clone, Debug)]
pub struct Modifiers<'a> {
    parts: Vec<&'a str>,
}

impl<'a> Modifiers<'a> {
    /// Splits an opcode into its head and its modifiers.
    pub fn split(opcode: &'a str) -> (&'a str, Modifiers<'a>) {
        let mut parts = opcode.split('.');
        let head = parts.next().unwrap_or("");
        (head, Modifiers { parts: parts.collect() })
    }

    /// Takes the last part, when it is a type.
    pub fn last_type(&mut self) -> Option<Type> {
        let found = self.parts.last().and_then(|part| Type::named(part))?;
        self.parts.pop();
        Some(found)
    }

    pub fn takes(&mut self, name: &str) -> bool {
        self.one_of(&[name]).is_some()
    }

    /// Takes the one of `names` that is there.
    pub fn one_of(&mut self, names: &[&str]) -> Option<&'a str> {
        let at = self.parts.iter().position(|part| names.contains(part))?;
        Some(self.parts.remove(at))
    }

    /// Takes what changes only speed, scope or caching, none of which this machine has.
    pub fn without_effect(&mut self, names: &[&str]) {
        while self.one_of(names).is_some() {}
    }

    /// Takes the first part, whatever it is.
    pub fn take_first(&mut self) -> Option<&'a str> {
        (!self.parts.is_empty()).then(|| self.parts.remove(0))
    }

    /// What nobody took.
    pub fn rest(&self) -> &[&'a str] {
        &self.parts
    }
}
