//! `outcrop plan --draw PATH`: the graph as a picture in a file.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::failure::Failure;
use crate::graph::layer_graph::LayerGraph;
use crate::pipeline::staged::{OutputError, StagedFile};

/// A file for a picture; its extension says which kind.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    path: PathBuf,
    format: Format,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Svg,
    Dot,
}

impl Drawing {
    /// From the command line.
    pub(super) fn parse(path: &str) -> Result<Self, String> {
        let path = PathBuf::from(path);
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let format = match extension.as_deref() {
            Some("svg") => Format::Svg,
            Some("dot") => Format::Dot,
            _ => return Err("the name must end in .svg or, for Graphviz, in .dot".to_owned()),
        };
        Ok(Drawing { path, format })
    }

    /// Draws the graph, and puts the file in its place when it is whole.
    pub(super) fn draw(&self, graph: &LayerGraph) -> Result<&Path, Failure> {
        let text = match self.format {
            Format::Svg => graph.to_svg(),
            Format::Dot => graph.to_dot(),
        };
        let file = StagedFile::create(&self.path)?;
        let failed = |source| OutputError::Io { path: self.path.clone(), source };
        file.file().write_all(text.as_bytes()).map_err(failed)?;
        file.commit()?;
        Ok(&self.path)
    }
}
