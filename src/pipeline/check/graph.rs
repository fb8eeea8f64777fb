//! Expressions, the names they use, and the order of the layers.

use std::collections::{BTreeSet, HashMap};

use super::Layer;
use crate::pipeline::diagnostic::Problem;
use crate::pipeline::expr::{self, Node};
use crate::pipeline::schema::{File, LayerTable};

/// The layers in topological order; incomplete when there are problems.
pub(super) fn check(file: &File, problems: &mut Vec<Problem>) -> Vec<Layer> {
    let mut layers = Vec::new();
    for table in &file.layers {
        let Some(expression) = &table.expr else { continue };
        match expr::parse(&expression.text) {
            Ok(tree) => layers.push((table, tree)),
            Err(error) => {
                let message = format!("layer '{}': {error}", table.name.value);
                let problem = Problem::new(message, expression.map.file_span(&error.span));
                problems.push(Problem { help: error.hint(), ..problem });
            }
        }
    }
    let mut known: Vec<&str> = file.inputs.iter().map(|input| input.name.value.as_str()).collect();
    known.extend(file.layers.iter().map(|layer| layer.name.value.as_str()));
    for (table, tree) in &layers {
        unknown_names(table, tree, &known, problems);
    }
    let order = order(&layers, problems);
    let mut slots: Vec<Option<(&LayerTable, Node)>> = layers.into_iter().map(Some).collect();
    let in_order = order.into_iter().filter_map(|position| slots[position].take());
    in_order.filter_map(|(table, tree)| layer(table, tree)).collect()
}

fn layer(table: &LayerTable, tree: Node) -> Option<Layer> {
    let mut uses: Vec<String> = Vec::new();
    for (name, _) in tree.names() {
        if !uses.iter().any(|used| used == name) {
            uses.push(name.to_owned());
        }
    }
    let (name, annotate) = (table.name.clone(), table.annotate.clone());
    Some(Layer { name, tree, expression: table.expr.clone()?, uses, annotate })
}

/// Each unknown name once a layer.
fn unknown_names(table: &LayerTable, tree: &Node, known: &[&str], problems: &mut Vec<Problem>) {
    let Some(expression) = &table.expr else { return };
    let own = table.name.value.as_str();
    let mut reported = BTreeSet::new();
    for (name, span) in tree.names() {
        if known.contains(&name) || !reported.insert(name) {
            continue;
        }
        let message = format!("layer '{own}' uses '{name}', which is no input and no layer");
        let problem = Problem::new(message, expression.map.file_span(span));
        problems.push(problem.suggest(name, known.iter().copied().filter(|candidate| *candidate != own)));
    }
}

/// Positions in `layers`, each after those it uses, by Kahn's algorithm with the earliest written first. What
/// can't be ordered is on a cycle or behind one; each cycle is reported once.
fn order(layers: &[(&LayerTable, Node)], problems: &mut Vec<Problem>) -> Vec<usize> {
    let mut positions: HashMap<&str, usize> = HashMap::new();
    for (position, (table, _)) in layers.iter().enumerate() {
        positions.entry(table.name.value.as_str()).or_insert(position);
    }
    let uses: Vec<BTreeSet<usize>> = layers
        .iter()
        .map(|(_, tree)| tree.names().iter().filter_map(|(name, _)| positions.get(name).copied()).collect())
        .collect();
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); layers.len()];
    for (user, used) in uses.iter().enumerate() {
        used.iter().for_each(|layer| users[*layer].push(user));
    }
    let mut waiting: Vec<usize> = uses.iter().map(BTreeSet::len).collect();
    let mut ready: BTreeSet<usize> = (0..layers.len()).filter(|layer| waiting[*layer] == 0).collect();
    let mut order = Vec::with_capacity(layers.len());
    while let Some(next) = ready.pop_first() {
        order.push(next);
        for user in &users[next] {
            waiting[*user] -= 1;
            if waiting[*user] == 0 {
                ready.insert(*user);
            }
        }
    }
    report_cycles(layers, &uses, &waiting, problems);
    order
}

/// From every layer that still waits, follows the first dependency that waits too: that ends in a cycle.
fn report_cycles(
    layers: &[(&LayerTable, Node)],
    uses: &[BTreeSet<usize>],
    waiting: &[usize],
    problems: &mut Vec<Problem>,
) {
    let mut seen = vec![false; layers.len()];
    for start in (0..layers.len()).filter(|layer| waiting[*layer] > 0) {
        let mut path = Vec::new();
        let mut at = start;
        while !seen[at] {
            seen[at] = true;
            path.push(at);
            match uses[at].iter().find(|used| waiting[**used] > 0) {
                Some(used) => at = *used,
                None => break,
            }
        }
        // A walk that runs into an earlier one ends outside its own path: that cycle is reported already.
        if let Some(begin) = path.iter().position(|layer| *layer == at) {
            problems.push(cycle(layers, &path[begin..]));
        }
    }
}

fn cycle(layers: &[(&LayerTable, Node)], members: &[usize]) -> Problem {
    let name = |position: usize| layers[position].0.name.value.as_str();
    // Start with the layer written first, so that the text doesn't depend on where the walk began.
    let first = members.iter().enumerate().min_by_key(|(_, layer)| **layer).map_or(0, |(at, _)| at);
    let mut ring: Vec<usize> = members[first..].iter().chain(&members[..first]).copied().collect();
    ring.push(ring[0]);
    let chain: Vec<&str> = ring.iter().map(|layer| name(*layer)).collect();
    let (table, tree) = &layers[ring[0]];
    let reference = tree.names().into_iter().find(|(used, _)| *used == chain[1]).map(|(_, span)| span);
    let span = table.expr.as_ref().zip(reference).map(|(expression, span)| expression.map.file_span(span));
    let problem = Problem::new(format!("these layers need each other: {}", chain.join(" → ")), span);
    if members.len() == 1 {
        let message = format!("layer '{0}' needs itself: {0} → {0}", chain[0]);
        return Problem { message, ..problem }.help("give the new value a name of its own");
    }
    problem
}
