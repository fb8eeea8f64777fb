//! Annotations given at compute time, to layers that exist already.

use globset::{Glob, GlobMatcher};

use super::Annotations;

/// Annotations for the layers that patterns name; they go over everything else. Later entries win.
///
/// ```
/// use outcrop::annotate::{Annotations, Overrides};
///
/// let overrides = Overrides::new()
///     .with("*", Annotations::new().with_retries(2)?)?
///     .with("slope", Annotations::new().set("device", "cpu")?)?;
/// let slope = overrides.over(&Annotations::new().with_gpu(0.5)?, &["slope"]);
/// assert_eq!(slope.to_string(), "device=cpu retries=2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides(Vec<Override>);

/// A text is no pattern of layers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{pattern}' is no valid pattern of layers: {reason}")]
pub struct PatternError {
    /// The text.
    pub pattern: String,
    /// Why not.
    pub reason: String,
}

#[derive(Clone, Debug)]
struct Override {
    pattern: String,
    matcher: GlobMatcher,
    annotations: Annotations,
}

impl PartialEq for Override {
    fn eq(&self, other: &Override) -> bool {
        self.pattern == other.pattern && self.annotations == other.annotations
    }
}

impl Overrides {
    /// Nothing is overridden.
    pub fn new() -> Overrides {
        Overrides::default()
    }

    /// Adds annotations for the layers whose label or name the pattern matches: a name, or a glob with `*`,
    /// `?`, `[ab]` and `{a,b}`.
    ///
    /// # Errors
    /// [`PatternError`] when the pattern is empty or no glob.
    pub fn with(mut self, pattern: &str, annotations: Annotations) -> Result<Overrides, PatternError> {
        let wrong = |reason: String| PatternError { pattern: pattern.to_owned(), reason };
        if pattern.is_empty() {
            return Err(wrong("it is empty".to_owned()));
        }
        let glob = Glob::new(pattern).map_err(|error| wrong(error.kind().to_string()))?;
        let matcher = glob.compile_matcher();
        self.0.push(Override { pattern: pattern.to_owned(), matcher, annotations });
        Ok(self)
    }

    /// These, and `later` over them.
    pub fn then(mut self, later: &Overrides) -> Overrides {
        self.0.extend(later.0.iter().cloned());
        self
    }

    /// Whether nothing is overridden.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The annotations of a layer that goes by these names and carries `below`.
    pub fn over(&self, below: &Annotations, names: &[&str]) -> Annotations {
        let matching = self.0.iter().filter(|entry| names.iter().any(|name| entry.matches(name)));
        matching.fold(below.clone(), |so_far, entry| so_far.inner(&entry.annotations))
    }

    /// The first pattern that matches none of these names.
    pub fn unmatched(&self, names: &[&str]) -> Option<&str> {
        let lost = self.0.iter().find(|entry| !names.iter().any(|name| entry.matches(name)));
        lost.map(|entry| entry.pattern.as_str())
    }
}

impl Override {
    /// A name that holds characters of globs matches itself too.
    fn matches(&self, name: &str) -> bool {
        name == self.pattern || self.matcher.is_match(name)
    }
}
