//! TOML → [`File`].

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::raw::raw;
use super::value::{Item, in_order};
use super::{
    Expression, File, InputTable, LayerTable, Located, OutputEntry, RawAnnotation, Settings, TextMap,
};
use crate::pipeline::diagnostic::{Problem, SourceText};

/// Reads a pipeline file; what can't be understood is in [`File::problems`].
pub fn read(source: &SourceText) -> File {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    let mut reader = Reader { text: &source.text, file: File::default() };
    if errors.is_empty() {
        reader.document(table.get_ref());
    }
    reader.file.malformed = !errors.is_empty();
    reader.file.problems.extend(errors.iter().map(|error| Problem::new(error.message(), error.span())));
    reader.file
}

/// The keys of `[inputs.NAME]`.
pub(super) const INPUT_KEYS: [&str; 10] =
    ["path", "random", "zeros", "ones", "full", "arange", "shape", "dtype", "seed", "chunks"];
const TOP_KEYS: [&str; 4] = ["inputs", "layer", "outputs", "settings"];
const LAYER_KEYS: [&str; 3] = ["name", "expr", "annotate"];
const OUTPUT_KEYS: [&str; 3] = ["path", "scale", "colormap"];
const SETTING_KEYS: [&str; 11] = [
    "threads",
    "pin_threads",
    "memory",
    "spill",
    "spill_dir",
    "spill_limit",
    "cpu_only",
    "deny_fallback",
    "allow_software_gpu",
    "resources",
    "annotations",
];

/// Sets one key of an input; the file and `--set` share it.
pub(super) fn set_input_key(input: &mut InputTable, item: &Item<'_>) -> Result<(), Problem> {
    match item.key {
        "path" => input.path = Some(item.text()?),
        "random" => input.random = Some(item.distribution()?),
        "zeros" => input.zeros = Some(item.flag()?),
        "ones" => input.ones = Some(item.flag()?),
        "full" => input.full = Some(item.scalar()?),
        "arange" => input.arange = Some(item.flag()?),
        "shape" => input.shape = Some(item.extents()?),
        "dtype" => input.dtype = Some(item.dtype()?),
        "seed" => input.seed = Some(item.count(0)?),
        "chunks" => input.chunks = Some(item.chunks()?),
        key => {
            let what = format!("unknown key '{key}' of input '{}'", input.name.value);
            return Err(Problem::new(what, None).suggest(key, INPUT_KEYS));
        }
    }
    Ok(())
}

struct Reader<'a> {
    text: &'a str,
    file: File,
}

impl Reader<'_> {
    fn document(&mut self, table: &DeTable<'_>) {
        for (key, value) in in_order(table) {
            let item = Item::new(key.get_ref(), value);
            match item.key {
                "inputs" => self.each_entry(&item, |reader, name, value| reader.input(name, value)),
                "layer" => self.layers(&item),
                "outputs" => self.each_entry(&item, |reader, name, value| reader.output(name, value)),
                "settings" => self.each_entry(&item, |reader, name, value| reader.setting(name, value)),
                unknown => {
                    let problem = Problem::new(format!("unknown table '{unknown}'"), key.span());
                    self.file.problems.push(problem.suggest(unknown, TOP_KEYS));
                }
            }
        }
    }

    fn each_entry(
        &mut self,
        item: &Item<'_>,
        mut read: impl FnMut(&mut Self, Located<String>, &Spanned<DeValue<'_>>),
    ) {
        if let Some(table) = self.keep(item.table()) {
            for (key, value) in in_order(table) {
                let name = Located { value: key.get_ref().to_string(), span: Some(key.span()) };
                read(self, name, value);
            }
        }
    }

    fn input(&mut self, name: Located<String>, value: &Spanned<DeValue<'_>>) {
        let table = self.keep(Item::new(&name.value, value).table());
        let mut input = InputTable { incomplete: table.is_none(), ..InputTable::new(name.clone()) };
        for (key, value) in table.map(in_order).unwrap_or_default() {
            if let Err(mut problem) = set_input_key(&mut input, &Item::new(key.get_ref(), value)) {
                // An unknown key has no value at fault: point at the key.
                problem.span.get_or_insert(key.span());
                input.incomplete = true;
                self.file.problems.push(problem);
            }
        }
        self.file.inputs.push(input);
    }

    fn layers(&mut self, item: &Item<'_>) {
        let Some(array) = item.value.as_array() else {
            let problem = item.wrong("a list of tables").help("write [[layer]], once for every layer");
            return self.file.problems.push(problem);
        };
        for layer in item.elements(array) {
            if let Some(table) = self.keep(layer.table()) {
                self.layer(table, &layer);
            }
        }
    }

    fn layer(&mut self, table: &DeTable<'_>, whole: &Item<'_>) {
        let (mut name, mut expr, mut annotate) = (None, None, Vec::new());
        let mut has_expr = false;
        for (key, value) in in_order(table) {
            let item = Item::new(key.get_ref(), value);
            match item.key {
                "name" => name = self.keep(item.text()),
                "expr" => {
                    has_expr = true;
                    expr = self.keep(item.text()).map(|text| self.expression(text.value, value));
                }
                "annotate" => annotate = self.annotations(&item),
                unknown => {
                    let problem = Problem::new(format!("unknown key '{unknown}' of a layer"), key.span());
                    self.file.problems.push(problem.suggest(unknown, LAYER_KEYS));
                }
            }
        }
        if !has_expr {
            let help = "write expr = \"…\", as in expr = \"sqrt(gx**2 + gy**2)\"";
            self.file.problems.push(whole.problem("this layer has no 'expr'").help(help));
        }
        match name {
            Some(name) => self.file.layers.push(LayerTable { name, expr, annotate }),
            None if table.contains_key("name") => {}
            None => {
                let problem = whole.problem("this layer has no 'name'");
                self.file.problems.push(problem.help("expressions and [outputs] need a name to refer to"));
            }
        }
    }

    fn annotations(&mut self, item: &Item<'_>) -> Vec<RawAnnotation> {
        let entries = self.keep(item.table()).map(in_order).unwrap_or_default().into_iter();
        let annotations = entries.filter_map(|(key, value)| {
            let key = Spanned::new(key.span(), key.get_ref().to_string());
            self.keep(raw(value)).map(|value| RawAnnotation { key, value })
        });
        annotations.collect()
    }

    fn expression(&self, text: String, value: &Spanned<DeValue<'_>>) -> Expression {
        Expression { map: TextMap::new(self.text, value.span(), &text), text }
    }

    fn output(&mut self, layer: Located<String>, value: &Spanned<DeValue<'_>>) {
        let item = Item::new(&layer.value, value);
        match item.value.as_array() {
            Some(array) => item.elements(array).for_each(|item| self.output_entry(&layer, &item)),
            None => self.output_entry(&layer, &item),
        }
    }

    fn output_entry(&mut self, layer: &Located<String>, item: &Item<'_>) {
        let (mut scale, mut colormap) = (None, None);
        let path = match item.value {
            DeValue::String(_) => self.keep(item.text()),
            DeValue::Table(table) => {
                let mut path = None;
                for (key, value) in in_order(table) {
                    let item = Item::new(key.get_ref(), value);
                    match item.key {
                        "path" => path = self.keep(item.text()),
                        "scale" => scale = self.keep(item.scale()),
                        "colormap" => colormap = self.keep(item.colormap()),
                        unknown => {
                            let what = format!("unknown key '{unknown}' of an output");
                            self.file
                                .problems
                                .push(Problem::new(what, key.span()).suggest(unknown, OUTPUT_KEYS));
                        }
                    }
                }
                if !table.contains_key("path") {
                    self.file.problems.push(item.problem("this output has no 'path'"));
                }
                path
            }
            _ => self.keep(Err(item.wrong("a path, a table with a path, or a list of these"))),
        };
        if let Some(path) = path {
            self.file.outputs.push(OutputEntry { layer: layer.clone(), path, scale, colormap });
        }
    }

    fn setting(&mut self, name: Located<String>, value: &Spanned<DeValue<'_>>) {
        let item = Item::new(&name.value, value);
        let mut settings = std::mem::take(&mut self.file.settings);
        let flag = |reader: &mut Self| reader.keep(item.flag()).map(|flag| flag.value);
        let Settings {
            threads,
            pin_threads,
            memory,
            spill,
            spill_dir,
            spill_limit,
            cpu_only,
            deny_fallback,
            allow_software_gpu,
            resources,
            annotations,
        } = &mut settings;
        match item.key {
            "threads" => *threads = self.keep(item.count(1)),
            "pin_threads" => *pin_threads = flag(self),
            "memory" => *memory = self.keep(item.bytes()),
            "spill" => *spill = flag(self),
            "spill_dir" => *spill_dir = self.keep(item.text()),
            "spill_limit" => *spill_limit = self.keep(item.bytes()),
            "cpu_only" => *cpu_only = flag(self),
            "deny_fallback" => *deny_fallback = flag(self),
            "allow_software_gpu" => *allow_software_gpu = flag(self),
            "resources" => *resources = self.keep(item.amounts()),
            "annotations" => *annotations = self.annotations(&item),
            unknown => {
                let problem = Problem::new(format!("unknown setting '{unknown}'"), name.span.clone());
                self.file.problems.push(problem.suggest(unknown, SETTING_KEYS));
            }
        }
        self.file.settings = settings;
    }

    fn keep<T>(&mut self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.file.problems.push(problem)).ok()
    }
}

impl InputTable {
    fn new(name: Located<String>) -> Self {
        InputTable {
            name,
            path: None,
            random: None,
            zeros: None,
            ones: None,
            full: None,
            arange: None,
            shape: None,
            dtype: None,
            seed: None,
            chunks: None,
            incomplete: false,
        }
    }
}
