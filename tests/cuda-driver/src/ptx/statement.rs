//! One instruction as it is written: guard, opcode, operands, names not yet looked up.

use super::PtxError;
use super::token::{Cursor, number};

#[derive(Debug)]
pub struct Statement<'a> {
    /// The predicate's name, and whether it must hold.
    pub guard: Option<(&'a str, bool)>,
    pub opcode: &'a str,
    pub operands: Vec<Operand<'a>>,
    pub line: u32,
}

#[derive(Debug, PartialEq)]
pub enum Operand<'a> {
    Name(&'a str),
    /// `!%p1`
    Not(&'a str),
    Number(u64),
    /// `%r1|%p1`
    Pair(&'a str, &'a str),
    /// `[%rd1+4]`, `[name]`, `[16]`; no base when it is a number.
    Memory(Option<&'a str>, i64),
    /// `{%r1, %r2}`
    Vector(Vec<Operand<'a>>),
    /// `(param0, param1)`
    List(Vec<&'a str>),
}

/// Reads an instruction up to and with its semicolon.
pub fn statement<'a>(cursor: &mut Cursor<'a>) -> Result<Statement<'a>, PtxError> {
    let line = cursor.line();
    let mut guard = None;
    if cursor.takes("@") {
        let holds = !cursor.takes("!");
        guard = Some((cursor.take()?, holds));
    }
    let opcode = cursor.take()?;
    let mut operands = Vec::new();
    while !cursor.takes(";") {
        if !operands.is_empty() {
            cursor.expect(",")?;
        }
        operands.push(operand(cursor)?);
    }
    Ok(Statement { guard, opcode, operands, line })
}

fn operand<'a>(cursor: &mut Cursor<'a>) -> Result<Operand<'a>, PtxError> {
    match cursor.take()? {
        "!" => Ok(Operand::Not(cursor.take()?)),
        "-" => Ok(Operand::Number(value(cursor)?.wrapping_neg())),
        "[" => memory(cursor),
        "{" => {
            let mut parts = Vec::new();
            while !cursor.takes("}") {
                parts.push(operand(cursor)?);
                cursor.takes(",");
            }
            Ok(Operand::Vector(parts))
        }
        "(" => {
            let mut names = Vec::new();
            while !cursor.takes(")") {
                names.push(cursor.take()?);
                cursor.takes(",");
            }
            Ok(Operand::List(names))
        }
        word => match number(word) {
            Some(value) => Ok(Operand::Number(value)),
            None if word.starts_with(|c: char| c.is_ascii_digit()) => {
                Err(cursor.error(format!("'{word}' isn't a number")))
            }
            None if cursor.takes("|") => Ok(Operand::Pair(word, cursor.take()?)),
            None => Ok(Operand::Name(word)),
        },
    }
}

fn memory<'a>(cursor: &mut Cursor<'a>) -> Result<Operand<'a>, PtxError> {
    let first = cursor.take()?;
    let (base, mut offset) = match number(first) {
        Some(value) => (None, value as i64),
        None => (Some(first), 0),
    };
    if cursor.takes("+") {
        let negative = cursor.takes("-");
        let distance = value(cursor)? as i64;
        offset += if negative { -distance } else { distance };
    }
    cursor.expect("]")?;
    Ok(Operand::Memory(base, offset))
}

fn value(cursor: &mut Cursor<'_>) -> Result<u64, PtxError> {
    let word = cursor.take()?;
    number(word).ok_or_else(|| cursor.error(format!("'{word}' isn't a number")))
}

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    #[test]
    fn operands_of_every_form() {
        let text = "@!%p1 x.y {%r1,_}, %r2|%p2, [%rd1+-4], [8], -1, !%p3, (a, b);";
        let mut cursor = Cursor::new(tokens(text).expect("tokens"));
        let found = statement(&mut cursor).expect("a statement");
        assert_eq!((found.guard, found.opcode), (Some(("%p1", false)), "x.y"));
        let want = [
            Operand::Vector(vec![Operand::Name("%r1"), Operand::Name("_")]),
            Operand::Pair("%r2", "%p2"),
            Operand::Memory(Some("%rd1"), -4),
            Operand::Memory(None, 8),
            Operand::Number(u64::MAX),
            Operand::Not("%p3"),
            Operand::List(vec!["a", "b"]),
        ];
        assert_eq!(found.operands, want);
    }
}
