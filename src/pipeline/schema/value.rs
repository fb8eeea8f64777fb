//! One TOML value → one typed value, or a problem that names the key.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeFloat, DeInteger, DeTable, DeValue};

use super::{AxisChunk, Chunks, Distribution, Located, Scale};
use crate::dtype::{DType, Scalar};
use crate::pipeline::diagnostic::{Problem, closest};
use crate::pipeline::picture::Colormap;
use crate::units::Bytes;

/// A TOML value under its key.
#[derive(Clone)]
pub(super) struct Item<'a> {
    pub key: &'a str,
    pub value: &'a DeValue<'a>,
    /// `None` on the command line.
    pub span: Option<Range<usize>>,
}

type Read<T> = Result<T, Problem>;

impl<'a> Item<'a> {
    pub fn new(key: &'a str, value: &'a Spanned<DeValue<'a>>) -> Self {
        Item { key, value: value.get_ref(), span: Some(value.span()) }
    }

    pub fn text(&self) -> Read<Located<String>> {
        let text = self.value.as_str().ok_or_else(|| self.wrong("a string"))?;
        Ok(self.at(text.to_owned()))
    }

    pub fn flag(&self) -> Read<Located<bool>> {
        let flag = self.value.as_bool().ok_or_else(|| self.wrong("true or false"))?;
        Ok(self.at(flag))
    }

    pub fn table(&self) -> Read<&'a DeTable<'a>> {
        self.value.as_table().ok_or_else(|| self.wrong("a table"))
    }

    /// An integer of at least `min`.
    pub fn count<T: TryFrom<i64>>(&self, min: i64) -> Read<Located<T>> {
        let expected = format!("an integer of at least {min}");
        let value = self.value.as_integer().ok_or_else(|| self.wrong(&expected))?;
        let count = integer(value).filter(|count| *count >= min).and_then(|count| T::try_from(count).ok());
        count.map(|count| self.at(count)).ok_or_else(|| {
            self.problem(format!("'{}' must be {expected}, found {}", self.key, value.as_str()))
        })
    }

    pub fn scalar(&self) -> Read<Located<Scalar>> {
        let scalar = match self.value {
            DeValue::Boolean(value) => Some(Scalar::Bool(*value)),
            DeValue::Integer(value) => integer(value).map(Scalar::Int),
            DeValue::Float(value) => float(value).map(Scalar::Float),
            _ => None,
        };
        scalar.map(|scalar| self.at(scalar)).ok_or_else(|| self.wrong("a number or a boolean"))
    }

    pub fn extents(&self) -> Read<Located<Vec<usize>>> {
        let expected = "a list of extents, such as [1000, 1000]";
        let array = self.value.as_array().ok_or_else(|| self.wrong(expected))?;
        let extents: Read<Vec<usize>> = self.elements(array).map(|item| Ok(item.count(0)?.value)).collect();
        Ok(self.at(extents?))
    }

    pub fn chunks(&self) -> Read<Located<Chunks>> {
        let chunks = match self.value {
            DeValue::Array(array) => {
                let axes: Read<Vec<AxisChunk>> = self.elements(array).map(|item| item.axis_chunk()).collect();
                Chunks::PerAxis(axes?)
            }
            _ => Chunks::Every(self.axis_chunk()?),
        };
        Ok(self.at(chunks))
    }

    fn axis_chunk(&self) -> Read<AxisChunk> {
        match self.value {
            DeValue::String(text) if text.as_ref() == "auto" => Ok(AxisChunk::Auto),
            DeValue::Integer(value) if integer(value) == Some(-1) => Ok(AxisChunk::Whole),
            DeValue::Integer(_) => Ok(AxisChunk::Size(self.count(1)?.value)),
            _ => Err(self
                .wrong("\"auto\", an extent, or a list of these")
                .help("-1 keeps an axis whole: chunks = [512, -1]")),
        }
    }

    pub fn dtype(&self) -> Read<Located<DType>> {
        let name = self.text()?;
        let dtype = name.value.parse().map_err(|error: crate::dtype::UnknownDType| {
            let problem = self.problem(error.to_string());
            match closest(&name.value, DType::ALL.map(DType::name)) {
                Some(best) => problem.label(format!("did you mean '{best}'?")),
                None => problem,
            }
        })?;
        Ok(self.at(dtype))
    }

    pub fn bytes(&self) -> Read<Located<Bytes>> {
        if self.value.is_integer() {
            return Ok(self.at(Bytes(self.count(0)?.value)));
        }
        let text = self.value.as_str().ok_or_else(|| self.wrong("a size, such as \"512 MiB\""))?;
        let bytes = text.parse().map_err(|error: crate::units::UnitError| self.problem(error.to_string()))?;
        Ok(self.at(bytes))
    }

    /// A table of names and finite numbers that are at least 0.
    pub fn amounts(&self) -> Read<BTreeMap<String, f64>> {
        let amount = |(key, value): Entry<'a>| {
            let item = Item::new(key.get_ref(), value);
            let amount = item.scalar()?.value.as_f64();
            if amount.is_finite() && amount >= 0.0 {
                return Ok((key.get_ref().to_string(), amount));
            }
            Err(item.problem(format!("'{}' must be a finite amount of at least 0, found {amount}", item.key)))
        };
        in_order(self.table()?).into_iter().map(amount).collect()
    }

    pub fn distribution(&self) -> Read<Located<Distribution>> {
        let all = [("normal", Distribution::Normal), ("uniform", Distribution::Uniform)];
        self.one_of(&all)
    }

    pub fn colormap(&self) -> Read<Located<Colormap>> {
        let mut all: Vec<(&str, Colormap)> = Colormap::ALL.map(|map| (map.name(), map)).to_vec();
        all.push(("grey", Colormap::Gray));
        self.one_of(&all)
    }

    pub fn scale(&self) -> Read<Located<Scale>> {
        let DeValue::Array(array) = self.value else {
            if self.value.is_str() {
                let all = [("auto", Scale::Auto), ("clip", Scale::Clip), ("none", Scale::Clip)];
                return self.one_of(&all);
            }
            return Err(self.wrong("\"auto\", \"clip\" or [low, high]"));
        };
        let ends: Read<Vec<f64>> =
            self.elements(array).map(|item| Ok(item.scalar()?.value.as_f64())).collect();
        match ends?[..] {
            [low, high] if low.is_finite() && high.is_finite() && low < high => {
                Ok(self.at(Scale::Range(low, high)))
            }
            _ => Err(self.problem("'scale' needs two finite numbers, the lower one first")),
        }
    }

    fn one_of<T: Copy>(&self, all: &[(&str, T)]) -> Read<Located<T>> {
        let text = self.text()?.value;
        match all.iter().find(|(name, _)| *name == text) {
            Some((_, value)) => Ok(self.at(*value)),
            None => {
                let problem = self.problem(format!("unknown value '{text}' of '{}'", self.key));
                Err(problem.suggest(&text, all.iter().map(|(name, _)| *name)))
            }
        }
    }

    /// The items of a list; on the command line they have no place either.
    pub fn elements(&self, array: &'a DeArray<'a>) -> impl Iterator<Item = Item<'a>> {
        let (key, in_file) = (self.key, self.span.is_some());
        array.iter().map(move |value| Item {
            key,
            value: value.get_ref(),
            span: in_file.then(|| value.span()),
        })
    }

    fn at<T>(&self, value: T) -> Located<T> {
        Located { value, span: self.span.clone() }
    }

    pub fn problem(&self, message: impl Into<String>) -> Problem {
        Problem::new(message, self.span.clone())
    }

    pub fn wrong(&self, expected: &str) -> Problem {
        let found = match self.value {
            DeValue::Integer(_) | DeValue::Array(_) => format!("an {}", self.value.type_str()),
            other => format!("a {}", other.type_str()),
        };
        self.problem(format!("'{}' must be {expected}, found {found}", self.key))
    }
}

type Entry<'a> = (&'a Spanned<toml::de::DeString<'a>>, &'a Spanned<DeValue<'a>>);

/// The entries of a table as they stand in the file; TOML's own map sorts them by name.
pub(super) fn in_order<'a>(table: &'a DeTable<'_>) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

pub(super) fn integer(value: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(value.as_str(), value.radix()).ok()
}

pub(super) fn float(value: &DeFloat<'_>) -> Option<f64> {
    value.as_str().parse().ok()
}
