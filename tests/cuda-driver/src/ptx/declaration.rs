//! Variables, registers and parameters as the text declares them.

use super::PtxError;
use super::token::{Cursor, number};
use super::types::Type;

/// One declared name.
pub struct Declaration<'a> {
    pub name: &'a str,
    pub align: usize,
    /// All its bytes; 0 for an array without a length.
    pub bytes: usize,
    pub start: Vec<u8>,
}

/// Reads `.align 4 .b8 name[16] = {…}`, from behind the state space up to `;`, `,` or `)`.
pub fn declaration<'a>(cursor: &mut Cursor<'a>) -> Result<Declaration<'a>, PtxError> {
    let (mut align, mut ty, mut lanes) = (None, None, 1);
    let name = loop {
        match cursor.take()? {
            ".align" => align = Some(length(cursor)?),
            ".ptr" | ".global" | ".const" | ".shared" | ".local" => {}
            ".v2" => lanes = 2,
            ".v4" => lanes = 4,
            word => match word.strip_prefix('.').map(Type::named) {
                Some(Some(found)) => ty = Some(found),
                Some(None) => return Err(cursor.error(format!("'{word}' isn't known in a declaration"))),
                None => break word,
            },
        }
    };
    let ty = ty.ok_or_else(|| cursor.error(format!("'{name}' has no type")))?;
    let mut elements = lanes;
    while cursor.takes("[") {
        elements = if cursor.peek() == "]" { 0 } else { elements * length(cursor)? };
        cursor.expect("]")?;
    }
    let start = if cursor.takes("=") { initial(cursor, ty)? } else { Vec::new() };
    let bytes = elements * ty.bytes();
    if start.len() > bytes {
        return Err(cursor.error(format!("'{name}' starts with more bytes than it has")));
    }
    Ok(Declaration { name, align: align.unwrap_or(ty.bytes() * lanes).max(1), bytes, start })
}

/// The names of `.reg .b32 %r<10>, t;` with their type, from behind `.reg` up to and with `;`.
pub fn registers(cursor: &mut Cursor<'_>) -> Result<(Type, Vec<String>), PtxError> {
    let word = cursor.take()?;
    let ty = word.strip_prefix('.').and_then(Type::named);
    let ty = ty.ok_or_else(|| cursor.error(format!("registers of type '{word}' aren't known")))?;
    let mut names = Vec::new();
    loop {
        let name = cursor.take()?;
        if cursor.takes("<") {
            let count = length(cursor)?;
            cursor.expect(">")?;
            names.extend((0..count).map(|index| format!("{name}{index}")));
        } else {
            names.push(name.to_owned());
        }
        if cursor.takes(";") {
            return Ok((ty, names));
        }
        cursor.expect(",")?;
    }
}

pub fn length(cursor: &mut Cursor<'_>) -> Result<usize, PtxError> {
    let word = cursor.take()?;
    let value = number(word).filter(|value| *value <= u64::from(u32::MAX));
    value.map(|value| value as usize).ok_or_else(|| cursor.error(format!("'{word}' isn't a length")))
}

/// The bytes of `1`, `{1, 2}` or `{{1, 2}, {3}}`, of which inner lists are as long as they are written.
fn initial(cursor: &mut Cursor<'_>, ty: Type) -> Result<Vec<u8>, PtxError> {
    let (mut bytes, mut depth) = (Vec::new(), 0);
    loop {
        match cursor.take()? {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," => continue,
            word => {
                let negative = word == "-";
                let word = if negative { cursor.take()? } else { word };
                let Some(value) = number(word) else {
                    return Err(cursor.error(format!("'{word}' as an initial value isn't known")));
                };
                let value = if negative { value.wrapping_neg() } else { value };
                bytes.extend_from_slice(&value.to_le_bytes()[..ty.bytes()]);
            }
        }
        if depth == 0 {
            return Ok(bytes);
        }
    }
}
