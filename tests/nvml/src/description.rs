//! The description, and the places in it that handles stand for.

use std::ffi::c_uint;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// An error is a number of `nvmlReturn_t`.
pub type Answer<T> = Result<T, c_uint>;

pub const SUCCESS: c_uint = 0;
pub const UNINITIALIZED: c_uint = 1;
pub const INVALID_ARGUMENT: c_uint = 2;
pub const NOT_SUPPORTED: c_uint = 3;
pub const NOT_FOUND: c_uint = 6;
pub const UNKNOWN: c_uint = 999;

static DESCRIBED: Mutex<Option<Value>> = Mutex::new(None);

/// Reads the description. Without one there is a driver and no card.
pub fn start() -> Answer<()> {
    let text = std::env::var("OUTCROP_NVML").unwrap_or_else(|_| r#"{"driver": "0", "cards": []}"#.to_owned());
    let description: Value = serde_json::from_str(&text).map_err(|error| {
        eprintln!("OUTCROP_NVML: {error}");
        UNKNOWN
    })?;
    let refusal = description.get("init").and_then(Value::as_u64).unwrap_or(0);
    *DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner) = Some(description);
    if refusal == 0 { Ok(()) } else { Err(refusal as c_uint) }
}

/// The whole description.
pub fn described() -> Answer<Value> {
    DESCRIBED.lock().unwrap_or_else(PoisonError::into_inner).clone().ok_or(UNINITIALIZED)
}

/// What is written under a name, or the error that is.
pub fn value(of: &Value, name: &str) -> Answer<Value> {
    let value = of.get(name).ok_or(NOT_SUPPORTED)?;
    match value.get("error").and_then(Value::as_u64) {
        Some(error) => Err(error as c_uint),
        None => Ok(value.clone()),
    }
}

/// A text under a name.
pub fn text(of: &Value, name: &str) -> Answer<String> {
    value(of, name)?.as_str().map(str::to_owned).ok_or(INVALID_ARGUMENT)
}

/// A number under a name.
pub fn number(of: &Value, name: &str) -> Answer<u64> {
    value(of, name)?.as_u64().ok_or(INVALID_ARGUMENT)
}

/// A handle: a card, from 1, in the upper bits, and a slice of it, from 1, in the lower eight.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Unit(usize);

impl Unit {
    /// The card of this number, if there is one.
    pub fn card(index: c_uint) -> Answer<Unit> {
        let unit = Unit((index as usize + 1) << 8);
        // As the real one, which answers this where the number is too large.
        unit.described().map_err(|error| if error == NOT_FOUND { INVALID_ARGUMENT } else { error })?;
        Ok(unit)
    }

    /// A slice of this card, if it has one of that number.
    pub fn slice(self, index: c_uint) -> Answer<Unit> {
        let unit = Unit(self.0 + (index as usize + 1).min(255));
        unit.described()?;
        Ok(unit)
    }

    /// The card that it is, or is a slice of.
    pub fn of_card(self) -> Unit {
        Unit(self.0 & !0xff)
    }

    /// What is written of it.
    pub fn described(self) -> Answer<Value> {
        let cards = value(&described()?, "cards")?;
        let card = (self.0 >> 8).checked_sub(1).and_then(|card| cards.get(card)).ok_or(NOT_FOUND)?;
        match self.0 & 0xff {
            0 => Ok(card.clone()),
            slice => {
                let slices = value(card, "mig")?;
                slices.get(slice - 1).filter(|slice| !slice.is_null()).cloned().ok_or(NOT_FOUND)
            }
        }
    }
}
