//! A sequence of numbers under "add to a range" and "largest of a range".
//!
//! A segment tree whose additions stay at the nodes that cover them, behind a list of additions that nobody has asked
//! about yet. Most steps start without asking, so most additions are only appended; when the list gets long they go
//! into the tree all at once, by one pass over differences.

/// The sequence.
#[derive(Clone, Debug)]
pub struct Profile {
    size: usize,
    /// For each node, the largest number below it, its own addition included.
    largest: Vec<i64>,
    /// For each node, what was added to everything below it.
    added: Vec<i64>,
    /// Additions that aren't in the tree: from, to, amount.
    pending: Vec<(u32, u32, i64)>,
    pending_max: usize,
}

/// Stands for "never the largest".
const GONE: i64 = i64::MIN / 4;

impl Profile {
    /// The sequence that starts as `values`. O(n).
    pub fn new(values: &[i64]) -> Self {
        let size = values.len().next_power_of_two().max(1);
        let mut largest = vec![GONE; 2 * size];
        largest[size..size + values.len()].copy_from_slice(values);
        let mut profile = Profile {
            size,
            largest,
            added: vec![0; 2 * size],
            pending: Vec::new(),
            pending_max: (size / 8).max(64),
        };
        profile.build();
        profile
    }

    /// Adds to the numbers at `from..to`. O(1) amortised, as long as nobody asks.
    pub fn add(&mut self, from: usize, to: usize, amount: i64) {
        if from < to && amount != 0 {
            self.pending.push((from as u32, to as u32, amount));
            if self.pending.len() >= self.pending_max {
                self.rebuild();
            }
        }
    }

    /// The largest of the numbers at `0..to`; very small when there is none. O(log n), and as much for each addition
    /// since the last question.
    pub fn largest_before(&mut self, to: usize) -> i64 {
        self.flush();
        self.largest_below(1, 0, self.size, to)
    }

    /// Takes a number out: it is never the largest again.
    pub fn remove(&mut self, at: usize) {
        self.add(at, at + 1, GONE);
    }

    fn flush(&mut self) {
        let depth = self.size.trailing_zeros() as usize + 1;
        if self.pending.len() * depth > self.size {
            return self.rebuild();
        }
        let mut pending = std::mem::take(&mut self.pending);
        for (from, to, amount) in pending.drain(..) {
            self.add_below(1, 0, self.size, from as usize, to as usize, amount);
        }
        self.pending = pending;
    }

    /// Puts all that is pending and all that was added to nodes into the leaves.
    fn rebuild(&mut self) {
        let mut changes = vec![0i64; self.size + 1];
        for (from, to, amount) in self.pending.drain(..) {
            changes[from as usize] += amount;
            changes[to as usize] -= amount;
        }
        for node in 1..self.size {
            let above = std::mem::take(&mut self.added[node]);
            self.added[2 * node] += above;
            self.added[2 * node + 1] += above;
        }
        let mut change = 0;
        for (leaf, difference) in changes[..self.size].iter().enumerate() {
            change += difference;
            let node = self.size + leaf;
            // A leaf's own addition is in its number already; what came from above isn't.
            let above = std::mem::take(&mut self.added[node]);
            self.largest[node] += above + change;
        }
        self.build();
    }

    fn build(&mut self) {
        for node in (1..self.size).rev() {
            self.largest[node] = self.largest[2 * node].max(self.largest[2 * node + 1]);
        }
    }

    fn add_below(&mut self, node: usize, start: usize, end: usize, from: usize, to: usize, amount: i64) {
        if from <= start && end <= to {
            self.largest[node] += amount;
            if end - start > 1 {
                self.added[node] += amount;
            }
            return;
        }
        let middle = start.midpoint(end);
        if from < middle {
            self.add_below(2 * node, start, middle, from, to, amount);
        }
        if middle < to {
            self.add_below(2 * node + 1, middle, end, from, to, amount);
        }
        self.largest[node] = self.largest[2 * node].max(self.largest[2 * node + 1]) + self.added[node];
    }

    fn largest_below(&self, node: usize, start: usize, end: usize, to: usize) -> i64 {
        if to <= start {
            return GONE;
        }
        if end <= to {
            return self.largest[node];
        }
        let middle = start.midpoint(end);
        let left = self.largest_below(2 * node, start, middle, to);
        let right = self.largest_below(2 * node + 1, middle, end, to);
        left.max(right) + self.added[node]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_a_plain_array() {
        let mut random = 7u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) as usize % below
        };
        for n in [1, 2, 5, 64, 100, 1000] {
            for asks in [1, 7, 200] {
                let mut plain: Vec<i64> = (0..n).map(|_| next(100) as i64).collect();
                let mut profile = Profile::new(&plain);
                for _ in 0..600 {
                    let (from, to, amount) = (next(n), next(n + 1), next(50) as i64 - 25);
                    profile.add(from, to, amount);
                    plain.iter_mut().take(to).skip(from).for_each(|value| *value += amount);
                    if next(asks) == 0 {
                        let to = 1 + next(n);
                        assert_eq!(profile.largest_before(to), *plain[..to].iter().max().unwrap());
                    }
                }
                assert_eq!(profile.largest_before(n), *plain.iter().max().unwrap());
                profile.remove(0);
                assert!(profile.largest_before(1) < -1_000_000);
            }
        }
    }
}
