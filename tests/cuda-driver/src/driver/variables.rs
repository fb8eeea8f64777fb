//! What describes the emulated machine: environment variables, or what the test set in their place.

use std::collections::HashMap;
use std::sync::Mutex;

use super::lock;

static SET: Mutex<Option<HashMap<String, String>>> = Mutex::new(None);

/// Sets a variable for this process in place of the environment's.
pub fn set(name: &str, value: &str) {
    lock(&SET).get_or_insert_default().insert(name.to_owned(), value.to_owned());
}

/// The variable's value, what was set before the environment's.
pub fn variable(name: &str) -> Option<String> {
    let own = lock(&SET).as_ref().and_then(|set| set.get(name).cloned());
    own.or_else(|| std::env::var(name).ok())
}

/// `SEED:COUNT`.
pub fn seeded(text: &str) -> Option<(u64, u64)> {
    let (seed, count) = text.split_once(':')?;
    Some((seed.parse().ok()?, count.parse().ok()?))
}
