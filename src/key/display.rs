//! Keys in Python's notation, written so that different keys have different texts.

use std::fmt::{self, Display, Formatter, Write};

use super::{Key, KeyPart};

impl Display for Key {
    /// `'total'` for the plain string, `('hillshade', 3, 0)` for a tuple.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.parts().is_empty() {
            return text(f, self.name());
        }
        f.write_str("(")?;
        text(f, self.name())?;
        for part in self.parts() {
            write!(f, ", {part}")?;
        }
        f.write_str(")")
    }
}

impl Display for KeyPart {
    /// As in Python: `-1`, `1e-05`, `'it\'s'`, `b'\x00'`, `(1,)`; always with single quotes, and of a string
    /// only quotes, backslashes and control characters are escaped.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            KeyPart::Int(value) => write!(f, "{value}"),
            KeyPart::Float(value) => float(f, *value),
            KeyPart::Text(value) => text(f, value),
            KeyPart::Bytes(value) => bytes(f, value),
            KeyPart::Tuple(parts) => tuple(f, parts),
        }
    }
}

/// Rust writes the same digits, but `1e-5` and `NaN` where Python writes `1e-05` and `nan`.
fn float(f: &mut Formatter<'_>, value: f64) -> fmt::Result {
    let digits = format!("{value:?}");
    match digits.split_once('e') {
        _ if value.is_nan() => f.write_str("nan"),
        None => f.write_str(&digits),
        Some((mantissa, exponent)) => {
            let (sign, places) = exponent.strip_prefix('-').map_or(('+', exponent), |places| ('-', places));
            write!(f, "{mantissa}e{sign}{places:0>2}")
        }
    }
}

fn text(f: &mut Formatter<'_>, value: &str) -> fmt::Result {
    f.write_str("'")?;
    value.chars().try_for_each(|c| character(f, c))?;
    f.write_str("'")
}

fn bytes(f: &mut Formatter<'_>, value: &[u8]) -> fmt::Result {
    f.write_str("b'")?;
    for &byte in value {
        if byte.is_ascii() { character(f, byte.into())? } else { write!(f, "\\x{byte:02x}")? }
    }
    f.write_str("'")
}

fn character(f: &mut Formatter<'_>, c: char) -> fmt::Result {
    match c {
        '\\' | '\'' => write!(f, "\\{c}"),
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        c if c.is_control() => write!(f, "\\x{:02x}", u32::from(c)),
        c => f.write_char(c),
    }
}

fn tuple(f: &mut Formatter<'_>, parts: &[KeyPart]) -> fmt::Result {
    f.write_str("(")?;
    for (i, part) in parts.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(f, "{comma}{part}")?;
    }
    f.write_str(if parts.len() == 1 { ",)" } else { ")" })
}
