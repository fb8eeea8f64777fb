//! Byte counts and durations as people write and read them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A number of bytes. Prints in binary units: `1.5 GiB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A text is no size or no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Not a byte count.
    #[error("'{0}' is no size: write a number and a unit, such as \"512 MiB\", \"2 GiB\" or \"1.5 GB\"")]
    Bytes(String),
    /// Not a duration.
    #[error("'{0}' is no duration: write a number and a unit, such as \"250 ms\", \"30 s\" or \"5 min\"")]
    Duration(String),
}

const BYTE_UNITS: [(&str, f64); 10] = [
    ("b", 1.0),
    ("kib", 1024.0),
    ("mib", 1048576.0),
    ("gib", 1073741824.0),
    ("tib", 1099511627776.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("", 1.0),
];

const DURATION_UNITS: [(&str, f64); 7] =
    [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];

impl Bytes {
    /// The largest number of bytes that prints in one decimal and isn't larger: what a user can type back.
    pub fn rounded_down(self) -> Bytes {
        self.in_tenths(|bytes, unit| bytes * 10 / unit)
    }

    /// The smallest number of bytes that prints in one decimal and isn't smaller.
    pub fn rounded_up(self) -> Bytes {
        self.in_tenths(|bytes, unit| (bytes * 10).div_ceil(unit))
    }

    fn in_tenths(self, tenths: impl Fn(u128, u128) -> u128) -> Bytes {
        let mut unit = 1u128;
        while u128::from(self.0) / unit >= 1024 && unit < 1 << 50 {
            unit *= 1024;
        }
        Bytes((tenths(u128::from(self.0), unit) * unit).div_ceil(10) as u64)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    /// Reads `"2 GiB"`, `"512MiB"`, `"1.5 GB"` or a plain number of bytes; case doesn't matter.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        scaled(text, &BYTE_UNITS)
            .filter(|bytes| *bytes < 9.2e18)
            .map(|bytes| Bytes(bytes.round() as u64))
            .ok_or_else(|| UnitError::Bytes(text.to_owned()))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        if self.0 < 1024 {
            return f.pad(&format!("{} B", self.0));
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        while value >= 1023.95 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        f.pad(&format!("{value:.1} {}", UNITS[unit]))
    }
}

/// Reads `"30 s"`, `"250ms"`, `"5 min"`; zero is allowed, a bare number isn't.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    scaled(text, &DURATION_UNITS)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| UnitError::Duration(text.to_owned()))
}

/// A duration to three significant figures: `1.23 s`, `45.0 ms`.
pub fn format_seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.1} µs", s * 1e6),
    }
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let number: f64 = text[..digits].replace('_', "").parse().ok()?;
    let unit = text[digits..].trim().to_lowercase();
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_and_print() {
        let table = [("2 GiB", 2 << 30), ("512MiB", 512 << 20), ("1.5 GB", 1_500_000_000), ("4096", 4096)];
        for (text, bytes) in table {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for bad in ["2 gigs", "", "GiB", "-1 GiB", "1e3 KiB", "NaN", "999999999 TiB"] {
            assert!(bad.parse::<Bytes>().is_err(), "{bad}");
        }
        assert_eq!(Bytes(1536 << 20).to_string(), "1.5 GiB");
        assert_eq!(Bytes(17).to_string(), "17 B");
        let odd = Bytes((23 << 30) + 500_000_000);
        assert_eq!((odd.to_string(), odd.rounded_down().to_string()), ("23.5 GiB".into(), "23.4 GiB".into()));
        assert_eq!(odd.rounded_up().to_string(), "23.5 GiB");
        for bytes in [Bytes(17), Bytes(1025), Bytes(12_600_000), odd] {
            assert!(bytes.rounded_up().to_string().parse::<Bytes>().unwrap() >= bytes, "{bytes}");
        }
        assert!(odd.rounded_down().to_string().parse::<Bytes>().unwrap() <= odd);
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(parse_duration("250 ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("5 min"), Ok(Duration::from_secs(300)));
        for bad in ["30", "-1 s", "soon", ""] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
