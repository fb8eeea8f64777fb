//! CUDA compute capabilities.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What an NVIDIA card's kernels can be compiled for; written `8.6`. Ordered by age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ComputeCapability {
    /// The generation.
    pub major: u32,
    /// The model within it.
    pub minor: u32,
}

/// Not two whole numbers with a point between them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no compute capability; write it as \"8.6\"")]
pub struct NoCapability(String);

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for ComputeCapability {
    type Err = NoCapability;

    fn from_str(text: &str) -> Result<Self, NoCapability> {
        let wrong = || NoCapability(text.to_owned());
        let (major, minor) = text.split_once('.').ok_or_else(wrong)?;
        let number = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => digits.parse().map_err(|_| wrong()),
            false => Err(wrong()),
        };
        Ok(ComputeCapability { major: number(major)?, minor: number(minor)? })
    }
}

impl From<ComputeCapability> for String {
    fn from(capability: ComputeCapability) -> String {
        capability.to_string()
    }
}

impl TryFrom<String> for ComputeCapability {
    type Error = NoCapability;

    fn try_from(text: String) -> Result<Self, NoCapability> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_as_it_is_written() {
        for (text, want) in [("8.6", Some((8, 6))), ("12.0", Some((12, 0)))] {
            let read: Result<ComputeCapability, _> = text.parse();
            assert_eq!(read.as_ref().ok().map(|cc| (cc.major, cc.minor)), want);
            assert_eq!(read.map(|cc| cc.to_string()).as_deref(), Ok(text));
        }
        for wrong in ["", "8", "8.", ".6", "8.6.1", "+8.6", "eight.six", "99999999999.0"] {
            let error = wrong.parse::<ComputeCapability>().map_err(|error| error.to_string());
            assert_eq!(error, Err(format!("'{wrong}' is no compute capability; write it as \"8.6\"")));
        }
    }
}
