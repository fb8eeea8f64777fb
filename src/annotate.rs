//! stub until merge
#![allow(missing_docs)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations;
impl Annotations {
    pub fn token(&self) -> Option<String> {
        None
    }
    pub fn is_empty(&self) -> bool {
        true
    }
}
impl std::fmt::Display for Annotations {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
pub fn current() -> Annotations {
    Annotations
}
#[derive(Clone, Debug, thiserror::Error)]
#[error("x")]
pub struct AnnotationError;
