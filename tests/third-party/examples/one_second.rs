//! A delay of one second before every block of an array and of rows, the originals beside them.

use std::time::{Duration, Instant};

use outcrop::collections::Array;
use outcrop::session::Session;
use third_party::{Delay, Ragged, delayed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let array = Array::arange(0.0, 1.0, 8).rechunk(&[4]);
    let rows = Ragged::from_rows("kelvin", vec![vec![1.0], vec![2.0, 3.0], vec![]], 1)?;
    let originals = (array, rows);
    let delay = Delay::of(Duration::from_secs(1));
    let slow = delayed(&originals, &delay)?;
    let started = Instant::now();
    let ((fast, rows), (slow, slow_rows)) = Session::new(Default::default()).compute(&(originals, slow))?;
    assert!(fast == slow && rows == slow_rows);
    println!("{} blocks were delayed; all took {:.1} s", delay.passed(), started.elapsed().as_secs_f64());
    Ok(())
}
