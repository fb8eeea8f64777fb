//! A sequence of numbers under "add to a range" and "largest of a range", both O(log n): a segment tree
//! whose additions stay at the nodes that cover them.

/// The sequence.
#[derive(Clone, Debug)]
pub struct Profile {
    size: usize,
    /// For each node, the largest number below it, its own addition included.
    largest: Vec<i64>,
    /// For each node, what was added to everything below it.
    added: Vec<i64>,
}

/// Stands for "never the largest".
const GONE: i64 = i64::MIN / 4;

impl Profile {
    /// The sequence that starts as `values`.
    pub fn new(values: &[i64]) -> Self {
        let size = values.len().next_power_of_two().max(1);
        let mut largest = vec![GONE; 2 * size];
        largest[size..size + values.len()].copy_from_slice(values);
        for node in (1..size).rev() {
            largest[node] = largest[2 * node].max(largest[2 * node + 1]);
        }
        Profile { size, largest, added: vec![0; 2 * size] }
    }

    /// Adds to the numbers at `from..to`.
    pub fn add(&mut self, from: usize, to: usize, amount: i64) {
        if from < to && amount != 0 {
            self.add_below(1, 0, self.size, from, to, amount);
        }
    }

    /// The largest of the numbers at `0..to`; very small when there is none.
    pub fn largest_before(&self, to: usize) -> i64 {
        self.largest_below(1, 0, self.size, to)
    }

    /// Takes a number out: it is never the largest again.
    pub fn remove(&mut self, at: usize) {
        self.add(at, at + 1, GONE);
    }

    fn add_below(&mut self, node: usize, start: usize, end: usize, from: usize, to: usize, amount: i64) {
        if from <= start && end <= to {
            self.largest[node] += amount;
            self.added[node] += amount;
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
        for n in [1, 2, 5, 64, 100] {
            let mut plain: Vec<i64> = (0..n).map(|_| next(100) as i64).collect();
            let mut profile = Profile::new(&plain);
            for _ in 0..300 {
                let (from, to, amount) = (next(n), next(n + 1), next(50) as i64 - 25);
                profile.add(from, to, amount);
                plain.iter_mut().take(to).skip(from).for_each(|value| *value += amount);
                let to = 1 + next(n);
                assert_eq!(profile.largest_before(to), *plain[..to].iter().max().unwrap());
            }
            profile.remove(0);
            assert!(profile.largest_before(1) < -1_000_000);
        }
    }
}
