//! What the lanes of a warp compute together.

use super::Fault;
use crate::ptx::code::{Vote, Warp};

/// What one lane brings: its sources.
#[derive(Clone, Copy)]
pub struct Lane {
    pub lane: u32,
    pub s: [u64; 3],
    pub negated: bool,
}

/// What a lane that isn't there is read as; hardware gives anything.
const ABSENT: u64 = 0xcbcb_cbcb;

/// The two results of each lane, in the lanes' order.
pub fn together(kind: Warp, lanes: &[Lane]) -> Result<Vec<[u64; 2]>, Fault> {
    match kind {
        Warp::ShuffleUp | Warp::ShuffleDown | Warp::ShuffleXor | Warp::ShuffleIndex => {
            Ok(lanes.iter().map(|own| shuffle(kind, own, lanes)).collect())
        }
        Warp::Vote(vote) => {
            let holds = lanes.iter().map(|own| (own.lane, (own.s[0] != 0) != own.negated));
            let result = u64::from(count(vote, &holds.collect::<Vec<_>>()));
            Ok(vec![[result, 0]; lanes.len()])
        }
        Warp::Reduce(compute) => {
            let values = lanes.iter().map(|own| own.s[0]);
            let result = values.reduce(|a, b| compute(a, b, 0, 0));
            let result = result.ok_or_else(|| Fault::failed("a warp without lanes"))?;
            Ok(vec![[result, 0]; lanes.len()])
        }
        Warp::MatchAny => {
            let same = |value: u64| {
                lanes.iter().filter(|lane| lane.s[0] == value).fold(0, |all, lane| all | 1 << lane.lane)
            };
            Ok(lanes.iter().map(|own| [same(own.s[0]), 0]).collect())
        }
        Warp::Synchronize => Ok(vec![[0; 2]; lanes.len()]),
    }
}

/// The result of a vote among numbered voters.
pub fn count(vote: Vote, voters: &[(u32, bool)]) -> u32 {
    let yes = voters.iter().filter(|(_, holds)| *holds).count();
    match vote {
        Vote::All => u32::from(yes == voters.len()),
        Vote::Any => u32::from(yes > 0),
        Vote::Uniform => u32::from(yes == 0 || yes == voters.len()),
        Vote::Ballot => voters.iter().filter(|(_, holds)| *holds).fold(0, |all, (lane, _)| all | 1 << lane),
        Vote::Count => yes as u32,
    }
}

/// The source lane by the rule in the PTX ISA's section on `shfl.sync`.
fn shuffle(kind: Warp, own: &Lane, lanes: &[Lane]) -> [u64; 2] {
    let [value, b, c] = own.s;
    let lane = i64::from(own.lane);
    let (b, clamp, segment) = ((b & 31) as i64, (c & 31) as i64, (c >> 8 & 31) as i64);
    let last = lane & segment | clamp & !segment;
    let (from, within) = match kind {
        Warp::ShuffleUp => (lane - b, lane - b >= last),
        Warp::ShuffleDown => (lane + b, lane + b <= last),
        Warp::ShuffleXor => (lane ^ b, (lane ^ b) <= last),
        _ => {
            let from = lane & segment | b & !segment;
            (from, from <= last)
        }
    };
    if !within {
        return [value & 0xffff_ffff, 0];
    }
    let found = lanes.iter().find(|other| i64::from(other.lane) == from);
    [found.map_or(ABSENT, |other| other.s[0] & 0xffff_ffff), 1]
}
