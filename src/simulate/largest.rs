//! The largest of a range of numbers that don't change, in O(log numbers).

/// A row of numbers.
#[derive(Clone, Debug)]
pub struct Largest {
    count: usize,
    /// The numbers from `count` on, and above each two their larger one.
    nodes: Vec<u64>,
}

impl Largest {
    /// Over these numbers. O(numbers).
    pub fn new(numbers: &[u64]) -> Largest {
        let count = numbers.len();
        let mut nodes = vec![0; count];
        nodes.extend(numbers);
        for node in (1..count).rev() {
            nodes[node] = nodes[2 * node].max(nodes[2 * node + 1]);
        }
        Largest { count, nodes }
    }

    /// The largest at `from..to`; 0 when there is none.
    pub fn of(&self, from: usize, to: usize) -> u64 {
        let (mut from, mut to) = (from + self.count, to + self.count);
        let mut largest = 0;
        while from < to {
            if from % 2 == 1 {
                largest = self.nodes[from].max(largest);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                largest = self.nodes[to].max(largest);
            }
            from /= 2;
            to /= 2;
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_a_plain_row() {
        for count in [0usize, 1, 2, 5, 13, 64] {
            let numbers: Vec<u64> = (0..count as u64).map(|at| at * 7919 % 101).collect();
            let largest = Largest::new(&numbers);
            for from in 0..count {
                for to in from..=count {
                    assert_eq!(largest.of(from, to), numbers[from..to].iter().copied().max().unwrap_or(0));
                }
            }
        }
    }
}
