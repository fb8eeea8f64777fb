//! Where the user's caches are.

use std::path::PathBuf;

/// Outcrop's folder in `XDG_CACHE_HOME`, or else in `~/.cache`. It may not exist yet; `None` where there is neither.
pub(in crate::device) fn folder() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    caches.map(|caches| caches.join("outcrop"))
}
