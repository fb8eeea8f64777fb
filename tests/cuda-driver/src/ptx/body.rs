//! A function's body: its declarations, scopes and labels around its instructions.

use std::collections::HashMap;

use super::PtxError;
use super::code::{DYNAMIC_SHARED, Function, Instruction, Op};
use super::declaration::{declaration, registers};
use super::lower::Lower;
use super::parse::{Layout, Signature};
use super::statement::statement;
use super::token::Cursor;
use super::types::Type;

/// The names of one scope.
pub type Scope = HashMap<String, Symbol>;

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Symbol {
    Register(u32, Type),
    /// In the function's parameters.
    Param {
        offset: usize,
        bytes: usize,
    },
    /// From the frame's start in local memory.
    Local(u64),
    Shared(u64),
    Global(u64),
    /// The list of labels of that number.
    Table(usize),
}

/// Reads `{ … }` into `function`, whose parameters and outer names are in `scope`.
pub fn read<'a>(
    cursor: &mut Cursor<'a>,
    function: &mut Function,
    scope: Scope,
    signatures: &HashMap<&'a str, Signature>,
) -> Result<(), PtxError> {
    cursor.expect("{")?;
    let mut body = Body { lower: Lower::new(function, signatures), labels: HashMap::new() };
    body.lower.scopes.push(scope);
    body.lower.scopes.push(Scope::new());
    let mut depth = 1;
    while depth > 0 {
        match cursor.peek() {
            "{" => {
                cursor.take()?;
                depth += 1;
                body.lower.scopes.push(Scope::new());
            }
            "}" => {
                cursor.take()?;
                depth -= 1;
                body.lower.scopes.pop();
            }
            ";" => drop(cursor.take()?),
            word if word.starts_with('.') => body.directive(cursor)?,
            name if cursor.peek_after(1) == ":" => {
                cursor.take()?;
                cursor.take()?;
                body.label(cursor, name)?;
            }
            _ => {
                let statement = statement(cursor)?;
                body.lower.instruction(&statement)?;
            }
        }
    }
    body.finish(cursor)
}

struct Body<'a, 'f> {
    lower: Lower<'a, 'f>,
    labels: HashMap<&'a str, usize>,
}

impl<'a> Body<'a, '_> {
    fn label(&mut self, cursor: &mut Cursor<'a>, name: &'a str) -> Result<(), PtxError> {
        if cursor.takes(".branchtargets") {
            let mut labels = Vec::new();
            while !cursor.takes(";") {
                labels.push(cursor.take()?);
                cursor.takes(",");
            }
            let index = self.lower.tables.len();
            self.lower.tables.push(labels);
            self.lower.declare(name, Symbol::Table(index));
            return Ok(());
        }
        if self.labels.insert(name, self.lower.function.code.len()).is_some() {
            return Err(cursor.error(format!("the label '{name}' stands twice")));
        }
        Ok(())
    }

    fn directive(&mut self, cursor: &mut Cursor<'a>) -> Result<(), PtxError> {
        let word = cursor.take()?;
        match word {
            ".loc" | ".file" => cursor.skip_line(),
            ".pragma" => while cursor.take()? != ";" {},
            ".reg" => {
                let (ty, names) = registers(cursor)?;
                for name in names {
                    let index = self.lower.function.registers as u32;
                    self.lower.function.registers += 1;
                    self.lower.declare(&name, Symbol::Register(index, ty));
                }
            }
            ".param" | ".local" | ".shared" => {
                let found = declaration(cursor)?;
                cursor.expect(";")?;
                let function = &mut *self.lower.function;
                let symbol = match word {
                    ".param" => {
                        let mut layout = Layout { bytes: function.parameter_bytes };
                        let (offset, bytes) = layout.place(&found);
                        function.parameter_bytes = layout.bytes;
                        Symbol::Param { offset, bytes }
                    }
                    ".local" => {
                        Symbol::Local(placed(&mut function.local_bytes, found.align, found.bytes) as u64)
                    }
                    _ if found.bytes == 0 => Symbol::Shared(DYNAMIC_SHARED),
                    _ if function.is_entry => {
                        Symbol::Shared(placed(&mut function.shared_bytes, found.align, found.bytes) as u64)
                    }
                    _ => {
                        return Err(cursor.error("shared memory of a function that is no kernel isn't known"));
                    }
                };
                self.lower.declare(found.name, symbol);
            }
            _ => return Err(cursor.error(format!("the directive '{word}' isn't known"))),
        }
        Ok(())
    }

    /// Puts the labels' places into the branches.
    fn finish(self, cursor: &Cursor<'a>) -> Result<(), PtxError> {
        let Body { lower, labels } = self;
        let place = |name: &str, line: u32| {
            labels
                .get(name)
                .copied()
                .ok_or_else(|| PtxError::new(line, format!("no label '{name}' is there")))
        };
        for (at, name) in &lower.branches {
            let Instruction { op, line, .. } = &mut lower.function.code[*at];
            if let Op::Branch { target } = op {
                *target = place(name, *line)?;
            }
        }
        for (at, table) in &lower.table_branches {
            let names = &lower.tables[*table];
            let Instruction { op, line, .. } = &mut lower.function.code[*at];
            if let Op::BranchTable { targets, .. } = op {
                *targets = names.iter().map(|name| place(name, *line)).collect::<Result<_, _>>()?;
            }
        }
        lower.function.code.push(Instruction { guard: None, op: Op::Return, line: cursor.line() });
        Ok(())
    }
}

fn placed(used: &mut usize, align: usize, bytes: usize) -> usize {
    let at = used.next_multiple_of(align);
    *used = at + bytes;
    at
}
