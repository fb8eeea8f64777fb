//! Reads a module: its target, its variables, its functions.

use std::collections::HashMap;

use super::PtxError;
use super::body::{self, Scope, Symbol};
use super::code::{DYNAMIC_SHARED, Function, Module, Variable};
use super::declaration::{Declaration, declaration, length};
use super::token::{Cursor, tokens};

/// Reads a text whose variables are placed from the address `place` on, each with a gap behind it.
pub fn parse(text: &str, place: u64) -> Result<Module, PtxError> {
    let mut parser = Parser {
        cursor: Cursor::new(tokens(text)?),
        module: Module::default(),
        place,
        shared_bytes: 0,
        globals: HashMap::new(),
        signatures: HashMap::new(),
        defined: Vec::new(),
    };
    while !parser.cursor.peek().is_empty() {
        parser.item()?;
    }
    if let Some(at) = parser.defined.iter().position(|defined| !defined) {
        let name = &parser.module.functions[at].name;
        return Err(parser.cursor.error(format!("the function '{name}' is declared and has no body")));
    }
    Ok(parser.module)
}

/// A name with its offset and bytes.
type Parameter<'a> = (&'a str, (usize, usize));

/// What a call must know of a function, which may have no body yet.
#[derive(Clone, Debug)]
pub struct Signature {
    pub index: usize,
    /// Offset and bytes in the function's parameters.
    pub parameters: Vec<(usize, usize)>,
    pub results: Vec<(usize, usize)>,
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    module: Module,
    place: u64,
    /// Of the module's own static shared variables.
    shared_bytes: usize,
    globals: Scope,
    signatures: HashMap<&'a str, Signature>,
    defined: Vec<bool>,
}

impl<'a> Parser<'a> {
    fn item(&mut self) -> Result<(), PtxError> {
        let word = self.cursor.take()?;
        match word {
            ".version" | ".address_size" => drop(self.cursor.take()?),
            ".target" => {
                let name = self.cursor.take()?;
                let digits: String = name.chars().filter(char::is_ascii_digit).collect();
                let known = name.starts_with("sm_").then(|| digits.parse().ok()).flatten();
                self.module.target =
                    known.ok_or_else(|| self.cursor.error(format!("target '{name}' isn't known")))?;
                while self.cursor.takes(",") {
                    self.cursor.take()?;
                }
            }
            ".file" | ".loc" => self.cursor.skip_line(),
            ".section" => self.cursor.skip_braces()?,
            ".pragma" => while self.cursor.take()? != ";" {},
            ".visible" | ".extern" | ".weak" => {}
            ".global" | ".const" | ".shared" => self.variable(word)?,
            ".entry" => self.function(true)?,
            ".func" => self.function(false)?,
            _ => return Err(self.cursor.error(format!("'{word}' isn't known here"))),
        }
        Ok(())
    }

    fn variable(&mut self, space: &str) -> Result<(), PtxError> {
        let found = declaration(&mut self.cursor)?;
        self.cursor.expect(";")?;
        let symbol = match space {
            ".shared" if found.bytes == 0 => Symbol::Shared(DYNAMIC_SHARED),
            ".shared" => {
                let at = self.shared_bytes.next_multiple_of(found.align);
                self.shared_bytes = at + found.bytes;
                Symbol::Shared(at as u64)
            }
            _ => {
                let address = self.place.next_multiple_of(256);
                self.place = address + found.bytes as u64 + 256;
                self.module.variables.push(Variable {
                    name: found.name.to_owned(),
                    address,
                    bytes: found.bytes,
                    start: found.start,
                    constant: space == ".const",
                });
                Symbol::Global(address)
            }
        };
        self.globals.insert(found.name.to_owned(), symbol);
        Ok(())
    }

    fn function(&mut self, is_entry: bool) -> Result<(), PtxError> {
        let mut layout = Layout::default();
        let mut results = self.parameters(&mut layout)?;
        let name = self.cursor.take()?;
        let parameters = self.parameters(&mut layout)?;
        let mut function = Function { name: name.to_owned(), is_entry, ..Function::default() };
        function.parameters = parameters.iter().map(|found| found.1).collect();
        let known = self.signatures.get(name).map(|signature| signature.index);
        let index = known.unwrap_or(self.module.functions.len());
        let signature = Signature {
            index,
            parameters: function.parameters.clone(),
            results: results.iter().map(|found| found.1).collect(),
        };
        self.signatures.insert(name, signature);
        if known.is_none() {
            self.module.functions.push(Function { name: name.to_owned(), ..Function::default() });
            self.defined.push(false);
        }
        self.directives(&mut function)?;
        if self.cursor.takes(";") {
            return Ok(());
        }
        let mut scope = self.globals.clone();
        results.extend(parameters);
        for (name, (offset, bytes)) in results {
            scope.insert(name.to_owned(), Symbol::Param { offset, bytes });
        }
        function.shared_bytes = self.shared_bytes;
        function.parameter_bytes = layout.bytes;
        body::read(&mut self.cursor, &mut function, scope, &self.signatures)?;
        self.module.functions[index] = function;
        self.defined[index] = true;
        Ok(())
    }

    /// `( .param .u64 a, .param .align 8 .b8 b[24] )`, or nothing.
    fn parameters(&mut self, layout: &mut Layout) -> Result<Vec<Parameter<'a>>, PtxError> {
        let mut found = Vec::new();
        if !self.cursor.takes("(") {
            return Ok(found);
        }
        while !self.cursor.takes(")") {
            self.cursor.expect(".param")?;
            let parameter = declaration(&mut self.cursor)?;
            found.push((parameter.name, layout.place(&parameter)));
            self.cursor.takes(",");
        }
        Ok(found)
    }

    fn directives(&mut self, function: &mut Function) -> Result<(), PtxError> {
        loop {
            match self.cursor.peek() {
                "{" | ";" => return Ok(()),
                word @ (".maxntid" | ".reqntid") => {
                    self.cursor.take()?;
                    let mut threads = length(&mut self.cursor)?;
                    while self.cursor.takes(",") {
                        threads *= length(&mut self.cursor)?;
                    }
                    if word == ".reqntid" || function.max_threads.is_none() {
                        function.max_threads = Some(threads as u32);
                    }
                }
                ".minnctapersm" | ".maxnreg" => {
                    self.cursor.take()?;
                    self.cursor.take()?;
                }
                ".noreturn" => drop(self.cursor.take()?),
                ".pragma" => while self.cursor.take()? != ";" {},
                word => return Err(self.cursor.error(format!("the directive '{word}' isn't known"))),
            }
        }
    }
}

/// Places parameters one after the other.
#[derive(Default)]
pub struct Layout {
    pub bytes: usize,
}

impl Layout {
    pub fn place(&mut self, found: &Declaration<'_>) -> (usize, usize) {
        let at = self.bytes.next_multiple_of(found.align);
        self.bytes = at + found.bytes;
        (at, found.bytes)
    }
}
