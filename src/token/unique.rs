//! Tokens that nothing else has.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::{Token, Tokenizer};

impl Token {
    /// A token unequal to every other, in this process and elsewhere: for content that can't be told from other
    /// content, such as what an unregistered function makes.
    pub fn unique() -> Token {
        static PROCESS: OnceLock<Token> = OnceLock::new();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut token = *PROCESS.get_or_init(process);
        let count = scattered(NEXT.fetch_add(1, Ordering::Relaxed)).to_le_bytes();
        token.0.iter_mut().zip(count).for_each(|(byte, other)| *byte ^= other);
        token.0[15] |= 1;
        token
    }
}

/// SplitMix64's finaliser (Steele, Lea and Flood, 2014): one to one, so that no two counts give the same bits.
fn scattered(count: u64) -> u64 {
    let mixed = (count ^ (count >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The standard library's random hash keys, the time and the process's number: no two processes agree in all three.
fn process() -> Token {
    let random = |salt: u8| RandomState::new().hash_one(salt) as i64;
    let time = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as i64);
    let number = std::process::id().into();
    Tokenizer::new("process").ints([random(0), random(1), time, number].into_iter()).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_equal() {
        let tokens: std::collections::HashSet<Token> = (0..1000).map(|_| Token::unique()).collect();
        assert_eq!(tokens.len(), 1000);
    }
}
