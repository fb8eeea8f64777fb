//! Where boxes stand and arrows run: rows of boxes, as in Sugiyama, Tagawa and Toda (1981).
//!
//! A layer stands one row below the lowest of those that it needs. Arrows over several rows bend at *joints*, which
//! take part in the ordering as boxes do. Sweeps of barycentres order the rows; then each row moves as near to its
//! neighbours as it can without overlaps.

use super::Edge;

/// Between boxes of a row.
const GAP_X: f64 = 26.0;
/// Between rows.
const GAP_Y: f64 = 44.0;
/// Between an arrow that passes and what stands beside it.
const JOINT: f64 = 12.0;
/// An arrow over more rows has no joints and runs behind the boxes: joints stay linear in the number of arrows.
const ROWS_MAX: usize = 24;
const SWEEPS: usize = 4;
/// Arrows leave and reach a box this far apart, or nearer where it is narrow.
const PORT: f64 = 14.0;

/// Extents of a box, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Where everything is; the top left corner is (0, 0).
pub(super) struct Layout {
    /// Top left corners, by box.
    pub(super) corners: Vec<(f64, f64)>,
    /// By edge.
    pub(super) routes: Vec<Vec<Stop>>,
    /// Extents of it all.
    pub(super) size: Size,
}

/// An arrow runs straight down from `top` to `bottom`, then bends to the next stop.
#[derive(Clone, Copy)]
pub(super) struct Stop {
    pub(super) x: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// Boxes first, then joints.
struct Spots {
    row: Vec<usize>,
    /// Half of the width that it takes, the gap included.
    half: Vec<f64>,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    boxes: usize,
}

/// O(boxes + edges), and a logarithm for sorting rows. Edges go from earlier boxes to later ones.
pub(super) fn layout(sizes: &[Size], edges: &[Edge]) -> Layout {
    let row = rows_of(sizes.len(), edges);
    let (spots, joints) = Spots::new(sizes, edges, row);
    let rows = spots.ordered();
    let x = spots.placed(&rows);
    let mut top = vec![0.0; rows.len() + 1];
    let mut bottom = vec![0.0; rows.len()];
    for (at, row) in rows.iter().enumerate() {
        let boxes = row.iter().filter(|&&spot| spot < sizes.len());
        bottom[at] = top[at] + boxes.map(|&spot| sizes[spot].height).fold(0.0, f64::max);
        top[at + 1] = bottom[at] + GAP_Y;
    }
    let left = (0..sizes.len()).map(|at| x[at] - sizes[at].width / 2.0);
    let left = left.chain(x[sizes.len()..].iter().copied()).fold(f64::INFINITY, f64::min);
    let left = if left.is_finite() { left } else { 0.0 };
    let x: Vec<f64> = x.iter().map(|x| x - left).collect();
    let right = (0..sizes.len()).map(|at| x[at] + sizes[at].width / 2.0);
    let right = right.chain(x[sizes.len()..].iter().copied()).fold(0.0, f64::max);
    let (starts, ends) = ports(sizes, edges, &joints, &x);
    let routes = edges.iter().enumerate().map(|(at, edge)| {
        let from = spots.row[edge.from];
        let first = Stop { x: starts[at], top: top[from] + sizes[edge.from].height, bottom: bottom[from] };
        let joint = |&spot: &usize| {
            let row = spots.row[spot];
            Stop { x: x[spot], top: top[row], bottom: bottom[row] }
        };
        let end = top[spots.row[edge.to]];
        let last = Stop { x: ends[at], top: end, bottom: end };
        std::iter::once(first).chain(joints[at].iter().map(joint)).chain([last]).collect()
    });
    Layout {
        routes: routes.collect(),
        corners: (0..sizes.len()).map(|at| (x[at] - sizes[at].width / 2.0, top[spots.row[at]])).collect(),
        size: Size { width: right, height: bottom.last().copied().unwrap_or(0.0) },
    }
}

/// The longest way from above; a box that needs nothing moves down to just above the first that needs it.
fn rows_of(boxes: usize, edges: &[Edge]) -> Vec<usize> {
    let mut row = vec![0; boxes];
    let mut is_needy = vec![false; boxes];
    let mut by_end: Vec<&Edge> = edges.iter().collect();
    by_end.sort_by_key(|edge| edge.to);
    for edge in &by_end {
        row[edge.to] = row[edge.to].max(row[edge.from] + 1);
        is_needy[edge.to] = true;
    }
    let mut first_user = vec![usize::MAX; boxes];
    for edge in edges {
        first_user[edge.from] = first_user[edge.from].min(row[edge.to]);
    }
    for at in 0..boxes {
        if !is_needy[at] && first_user[at] != usize::MAX {
            row[at] = first_user[at] - 1;
        }
    }
    row
}

impl Spots {
    /// And the joints of each edge, from above.
    fn new(sizes: &[Size], edges: &[Edge], row: Vec<usize>) -> (Self, Vec<Vec<usize>>) {
        let boxes = sizes.len();
        let half = sizes.iter().map(|size| (size.width + GAP_X) / 2.0).collect();
        let none = vec![Vec::new(); boxes];
        let mut spots = Spots { row, half, above: none.clone(), below: none, boxes };
        let mut joints = vec![Vec::new(); edges.len()];
        for (edge, joints) in edges.iter().zip(&mut joints) {
            let (from, to) = (spots.row[edge.from], spots.row[edge.to]);
            if to - from > ROWS_MAX {
                continue;
            }
            let mut last = edge.from;
            for row in from + 1..to {
                let joint = spots.row.len();
                spots.row.push(row);
                spots.half.push(JOINT);
                spots.above.push(Vec::new());
                spots.below.push(Vec::new());
                spots.join(last, joint);
                joints.push(joint);
                last = joint;
            }
            spots.join(last, edge.to);
        }
        (spots, joints)
    }

    fn join(&mut self, upper: usize, lower: usize) {
        self.below[upper].push(lower);
        self.above[lower].push(upper);
    }

    /// The spots of each row, from the left, with few crossings.
    fn ordered(&self) -> Vec<Vec<usize>> {
        let count = self.row.iter().max().map_or(0, |last| last + 1);
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); count];
        (0..self.row.len()).for_each(|spot| rows[self.row[spot]].push(spot));
        let mut place = vec![0.0; self.row.len()];
        let mut wish = place.clone();
        let number = |row: &[usize], place: &mut Vec<f64>| {
            row.iter().enumerate().for_each(|(at, &spot)| place[spot] = at as f64);
        };
        rows.iter().for_each(|row| number(row, &mut place));
        for sweep in 0..2 * SWEEPS {
            let downwards = sweep % 2 == 0;
            for step in 0..count {
                let row = &mut rows[if downwards { step } else { count - 1 - step }];
                let near = if downwards { &self.above } else { &self.below };
                row.iter().for_each(|&spot| wish[spot] = mean(&near[spot], &place).unwrap_or(place[spot]));
                row.sort_by(|&a, &b| wish[a].total_cmp(&wish[b]));
                number(row, &mut place);
            }
        }
        rows
    }

    /// The middle of each spot.
    fn placed(&self, rows: &[Vec<usize>]) -> Vec<f64> {
        let mut x = vec![0.0; self.row.len()];
        rows.iter().for_each(|row| self.spread(row, &mut x, |_, _| (0.0, 1.0)));
        for sweep in 0..2 * SWEEPS {
            let downwards = sweep % 2 == 0;
            let near = if downwards { &self.above } else { &self.below };
            for step in 0..rows.len() {
                let row = &rows[if downwards { step } else { rows.len() - 1 - step }];
                self.spread(row, &mut x, |spot, x| self.wish(&near[spot], spot, x));
            }
        }
        x
    }

    /// Where a spot would like to be, and how much. Joints count more: long arrows should be straight.
    fn wish(&self, near: &[usize], spot: usize, x: &[f64]) -> (f64, f64) {
        match mean(near, x) {
            Some(mean) => (mean, if spot < self.boxes { 1.0 } else { 4.0 }),
            None => (x[spot], 0.1),
        }
    }

    /// Puts a row where its spots wish to be, in their order and without overlaps: least squares by pooling
    /// adjacent violators.
    fn spread(&self, row: &[usize], x: &mut [f64], wish: impl Fn(usize, &[f64]) -> (f64, f64)) {
        // Pools of neighbours that touch: (mean wish, weight, members), wishes counted from a packed row.
        let mut pools: Vec<(f64, f64, usize)> = Vec::with_capacity(row.len());
        let mut packed = Vec::with_capacity(row.len());
        let mut end = 0.0;
        for &spot in row {
            packed.push(end + self.half[spot]);
            let (wished, weight) = wish(spot, x);
            let mut pool = (wished - end - self.half[spot], weight, 1);
            end += 2.0 * self.half[spot];
            while let Some(last) = pools.pop_if(|last| last.0 >= pool.0) {
                let weight = last.1 + pool.1;
                pool = ((last.0 * last.1 + pool.0 * pool.1) / weight, weight, last.2 + pool.2);
            }
            pools.push(pool);
        }
        let moved = pools.iter().flat_map(|&(by, _, members)| std::iter::repeat_n(by, members));
        row.iter().zip(&packed).zip(moved).for_each(|((&spot, at), by)| x[spot] = at + by);
    }
}

fn mean(of: &[usize], at: &[f64]) -> Option<f64> {
    (!of.is_empty()).then(|| of.iter().map(|&spot| at[spot]).sum::<f64>() / of.len() as f64)
}

/// Where each edge leaves its upper box and reaches its lower one: side by side in the order of the other ends.
fn ports(sizes: &[Size], edges: &[Edge], joints: &[Vec<usize>], x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); sizes.len()];
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); sizes.len()];
    for (at, edge) in edges.iter().enumerate() {
        out[edge.from].push(at);
        into[edge.to].push(at);
    }
    let spread = |sides: &mut [Vec<usize>], other: &dyn Fn(usize) -> usize| {
        let mut port = vec![0.0; edges.len()];
        for (at, side) in sides.iter_mut().enumerate() {
            side.sort_by(|&a, &b| x[other(a)].total_cmp(&x[other(b)]));
            let apart = PORT.min(sizes[at].width * 0.8 / side.len().max(1) as f64);
            for (place, &edge) in side.iter().enumerate() {
                port[edge] = x[at] + apart * (place as f64 - (side.len() - 1) as f64 / 2.0);
            }
        }
        port
    };
    let starts = spread(&mut out, &|edge| joints[edge].first().copied().unwrap_or(edges[edge].to));
    let ends = spread(&mut into, &|edge| joints[edge].last().copied().unwrap_or(edges[edge].from));
    (starts, ends)
}
