//! `outcrop plan`: what would run where, and why; on this machine or on a described one.

use std::path::PathBuf;

use clap::Args;

use super::draw::Drawing;
use super::failure::Failure;
use super::{PipelineArguments, pretty, tell};
use crate::error::Error;
use crate::graph::layer_graph::LayerGraph;
use crate::machine::Machine;
use crate::report::Report;
use crate::session::Session;

#[derive(Debug, Args)]
pub(super) struct PlanArguments {
    #[command(flatten)]
    pub(super) shared: PipelineArguments,
    /// Plan for the machine that this TOML file describes (or JSON, as 'outcrop devices --json' prints it)
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,
    /// Draw the layers and what the file asks for each, as SVG or for Graphviz: PATH ends in .svg or .dot
    #[arg(long, value_name = "PATH", value_parser = Drawing::parse)]
    draw: Option<Drawing>,
}

pub(super) fn plan(arguments: &PlanArguments) -> Result<String, Failure> {
    let shared = &arguments.shared;
    let pipeline = shared.pipeline()?;
    let config = shared.config(&pipeline);
    let session = match &arguments.machine {
        Some(path) => Session::on(machine(path)?, config),
        None => Session::new(config),
    };
    tell(session.notes());
    let outputs = pipeline.outputs();
    let prepared = session.prepare(&outputs)?;
    let report = Report::of_plan(&prepared.plan, session.machine(), prepared.plan_s);
    let mut text = if shared.json { pretty(&report) } else { report.to_string() };
    if let Some(drawing) = &arguments.draw {
        let path = drawing.draw(&LayerGraph::of(outputs))?;
        if !shared.json {
            text += &format!("drew {}\n", path.display());
        }
    }
    Ok(text)
}

fn machine(path: &PathBuf) -> Result<Machine, Failure> {
    let text =
        std::fs::read_to_string(path).map_err(|source| Failure::Read { path: path.clone(), source })?;
    let is_json = text.trim_start().starts_with('{');
    let machine = if is_json { Machine::from_json(&text) } else { Machine::from_toml(&text) };
    Ok(machine.map_err(Error::Machine)?)
}
