//! One written instruction to one executable one: looks up the names and asks the families in turn.

use std::collections::HashMap;

use super::body::{Scope, Symbol};
use super::code::{
    Address, Base, Compute, Flush, Function, Instruction, LOCAL_WINDOW, Op, SHARED_WINDOW, Source,
};
use super::modifiers::Modifiers;
use super::parse::Signature;
use super::statement::{Operand, Statement};
use super::types::Type;
use super::{PtxError, atomic, control, convert, float, half, integer, move_data};

/// The function being read, and the names in sight.
pub struct Lower<'a, 'f> {
    pub function: &'f mut Function,
    pub signatures: &'f HashMap<&'a str, Signature>,
    pub scopes: Vec<Scope>,
    /// Branches whose label may come later.
    pub branches: Vec<(usize, &'a str)>,
    pub tables: Vec<Vec<&'a str>>,
    pub table_branches: Vec<(usize, usize)>,
    constants: HashMap<u64, usize>,
    line: u32,
}

/// What a family knows of an instruction: nothing, that it is wrong, or what it does.
pub type Found<T> = Result<Option<T>, PtxError>;

/// An arithmetic instruction without its operands.
pub struct Arithmetic {
    pub compute: Compute,
    pub flush: Flush,
    /// How many sources it takes.
    pub sources: usize,
}

impl Arithmetic {
    pub fn new(compute: Compute, sources: usize) -> Arithmetic {
        Arithmetic { compute, flush: Flush::default(), sources }
    }
}

impl<'a, 'f> Lower<'a, 'f> {
    pub fn new(function: &'f mut Function, signatures: &'f HashMap<&'a str, Signature>) -> Lower<'a, 'f> {
        Lower {
            function,
            signatures,
            scopes: Vec::new(),
            branches: Vec::new(),
            tables: Vec::new(),
            table_branches: Vec::new(),
            constants: HashMap::new(),
            line: 0,
        }
    }

    pub fn declare(&mut self, name: &str, symbol: Symbol) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), symbol);
        }
    }

    /// Appends the instruction to the function.
    pub fn instruction(&mut self, statement: &Statement<'a>) -> Result<(), PtxError> {
        self.line = statement.line;
        let guard = match statement.guard {
            Some((name, holds)) => Some((self.register(&Operand::Name(name))?, holds)),
            None => None,
        };
        let (head, mut modifiers) = Modifiers::split(statement.opcode);
        let op = self.op(head, &mut modifiers, &statement.operands)?;
        match (op, modifiers.rest()) {
            (Some(op), []) => {
                self.function.code.push(Instruction { guard, op, line: statement.line });
                Ok(())
            }
            (Some(_), rest) => {
                Err(self.error(format!("'.{}' of '{}' isn't known", rest.join("."), statement.opcode)))
            }
            (None, _) => Err(self.error(format!("the instruction '{}' isn't known", statement.opcode))),
        }
    }

    fn op(&mut self, head: &str, modifiers: &mut Modifiers<'a>, operands: &[Operand<'a>]) -> Found<Op> {
        if let Some(op) = control::op(self, head, modifiers, operands)? {
            return Ok(Some(op));
        }
        if let Some(op) = move_data::op(self, head, modifiers, operands)? {
            return Ok(Some(op));
        }
        if let Some(op) = atomic::op(self, head, modifiers, operands)? {
            return Ok(Some(op));
        }
        if head == "setp" {
            return self.compare(modifiers, operands);
        }
        let Some(found) = self.arithmetic(head, modifiers)? else { return Ok(None) };
        let [d, sources @ ..] = operands else { return Err(self.error("no operands")) };
        if sources.len() != found.sources {
            let (want, have) = (found.sources, sources.len());
            return Err(self.error(format!("'{head}' takes {want} sources, {have} found")));
        }
        let mut s = [self.constant(0); 4];
        for (slot, operand) in s.iter_mut().zip(sources) {
            *slot = self.source(operand)?;
        }
        let flush = Some(found.flush).filter(|flush| *flush != Flush::default());
        Ok(Some(Op::Compute { compute: found.compute, flush, d: self.register(d)?, s }))
    }

    fn arithmetic(&mut self, head: &str, modifiers: &mut Modifiers<'a>) -> Found<Arithmetic> {
        if head == "cvt" {
            return Ok(convert::arithmetic(modifiers));
        }
        let Some(ty) = modifiers.last_type() else { return Ok(None) };
        Ok(match ty {
            Type::F32 | Type::F64 => float::arithmetic(head, ty, modifiers),
            Type::F16 | Type::Bf16 => half::arithmetic(head, ty, modifiers),
            _ => None,
        }
        .or_else(|| integer::arithmetic(head, ty, modifiers)))
    }

    /// `setp.lt.and.f32 p|q, a, b, !c`
    fn compare(&mut self, modifiers: &mut Modifiers<'a>, operands: &[Operand<'a>]) -> Found<Op> {
        let Some(ty) = modifiers.last_type() else { return Ok(None) };
        let ftz = modifiers.takes("ftz");
        let Some(compare) = modifiers.take_first().and_then(|name| comparison(name, ty)) else {
            return Ok(None);
        };
        let flush = (ftz && ty == Type::F32).then(|| Flush { sources: 3, ..Flush::default() });
        let combine = match modifiers.one_of(&["and", "or", "xor"]) {
            Some(name) => integer::logic(name),
            None => None,
        };
        let (d, a, b, c) = match (operands, combine) {
            ([d, a, b], None) => (d, a, b, None),
            ([d, a, b, c], Some(combine)) => (d, a, b, Some((combine, c))),
            _ => return Err(self.error("'setp' with other operands than it takes")),
        };
        let s = [self.source(a)?, self.source(b)?];
        let combine = match c {
            Some((combine, Operand::Not(name))) => Some((combine, self.source(&Operand::Name(name))?, true)),
            Some((combine, other)) => Some((combine, self.source(other)?, false)),
            None => None,
        };
        let d = self.pair(d)?;
        if let (None, [Some(d), None]) = (combine, d) {
            let zero = self.constant(0);
            return Ok(Some(Op::Compute { compute: compare, flush, d, s: [s[0], s[1], zero, zero] }));
        }
        Ok(Some(Op::Compare { compare, flush, combine, d, s }))
    }

    /// One or two destinations: `%r1`, `_`, `%r1|%p1`.
    pub fn pair(&mut self, operand: &Operand<'a>) -> Result<[Option<u32>; 2], PtxError> {
        match operand {
            Operand::Pair(first, second) => {
                Ok([self.destination(&Operand::Name(first))?, self.destination(&Operand::Name(second))?])
            }
            other => Ok([self.destination(other)?, None]),
        }
    }

    /// A register, or `None` for `_`.
    pub fn destination(&mut self, operand: &Operand<'a>) -> Result<Option<u32>, PtxError> {
        match operand {
            Operand::Name("_") => Ok(None),
            other => self.register(other).map(Some),
        }
    }

    pub fn register(&mut self, operand: &Operand<'a>) -> Result<u32, PtxError> {
        self.typed_register(operand).map(|(index, _)| index)
    }

    pub fn typed_register(&self, operand: &Operand<'a>) -> Result<(u32, Type), PtxError> {
        if let Operand::Name(name) = operand
            && let Some(Symbol::Register(index, ty)) = self.symbol(name)
        {
            return Ok((index, ty));
        }
        Err(self.error(format!("{operand:?} isn't a register")))
    }

    /// A register, a number, or the address of a variable.
    pub fn source(&mut self, operand: &Operand<'a>) -> Result<Source, PtxError> {
        let name = match operand {
            Operand::Number(value) => return Ok(self.constant(*value)),
            Operand::Name("WARP_SZ") => return Ok(self.constant(32)),
            Operand::Name(name) => name,
            _ => return Err(self.error(format!("{operand:?} isn't known as a source"))),
        };
        match self.symbol(name) {
            Some(Symbol::Register(index, _)) => Ok(Source::register(index)),
            Some(Symbol::Shared(address) | Symbol::Global(address)) => Ok(self.constant(address)),
            Some(Symbol::Param { offset, .. }) => Ok(self.constant(offset as u64)),
            _ => Err(self.error(format!("'{name}' isn't known as a source"))),
        }
    }

    pub fn constant(&mut self, value: u64) -> Source {
        let constants = &mut self.function.constants;
        let at = *self.constants.entry(value).or_insert_with(|| {
            constants.push(value);
            constants.len() - 1
        });
        Source::constant(at)
    }

    pub fn address(&mut self, operand: &Operand<'a>) -> Result<Address, PtxError> {
        let Operand::Memory(base, offset) = operand else {
            return Err(self.error(format!("{operand:?} isn't an address")));
        };
        let Some(name) = base else { return Ok(Address { base: Base::Start, offset: *offset }) };
        let (base, start) = match self.symbol(name) {
            Some(Symbol::Register(index, _)) => (Base::Register(index), 0),
            Some(Symbol::Shared(address) | Symbol::Global(address)) => (Base::Start, address as i64),
            Some(Symbol::Param { offset, .. }) => (Base::Start, offset as i64),
            Some(Symbol::Local(at)) => (Base::Frame, at as i64),
            _ => return Err(self.error(format!("'{name}' isn't known as an address"))),
        };
        Ok(Address { base, offset: start + offset })
    }

    pub fn symbol(&self, name: &str) -> Option<Symbol> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    pub fn error(&self, message: impl Into<String>) -> PtxError {
        PtxError::new(self.line, message)
    }
}

/// Where generic addresses of a space begin.
pub fn window(space: &str) -> Option<u64> {
    match space {
        "shared" => Some(SHARED_WINDOW),
        "local" => Some(LOCAL_WINDOW),
        "global" | "const" | "param" => Some(0),
        _ => None,
    }
}

fn comparison(name: &str, ty: Type) -> Option<Compute> {
    match ty {
        Type::F32 | Type::F64 => float::comparison(name, ty),
        Type::F16 | Type::Bf16 => half::comparison(name, ty),
        _ => integer::comparison(name, ty),
    }
}
