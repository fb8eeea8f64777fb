//! How fast a card should be by its own figures.

use crate::machine::{ComputeCapability, Rates};

/// Figures that a datasheet would have. `None` where this driver or card doesn't tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speed {
    /// CUDA cores.
    pub cores: Option<u32>,
    /// The largest clock of the cores.
    pub core_clock_mhz: Option<u32>,
    /// The largest clock of the memory.
    pub memory_clock_mhz: Option<u32>,
    /// Wires to the memory.
    pub memory_bus_bits: Option<u32>,
    /// CUDA compute capability.
    pub compute_capability: Option<ComputeCapability>,
    /// PCI Express generation and lanes that card and slot agree on.
    pub pcie: Option<(u32, u32)>,
}

impl Speed {
    /// These figures, and where they are missing the other's.
    pub(super) fn or(self, other: Speed) -> Speed {
        Speed {
            cores: self.cores.or(other.cores),
            core_clock_mhz: self.core_clock_mhz.or(other.core_clock_mhz),
            memory_clock_mhz: self.memory_clock_mhz.or(other.memory_clock_mhz),
            memory_bus_bits: self.memory_bus_bits.or(other.memory_bus_bits),
            compute_capability: self.compute_capability.or(other.compute_capability),
            pcie: self.pcie.or(other.pcie),
        }
    }

    /// What a datasheet would say, and in `usual` what it wouldn't: two operations a core and cycle; two transfers a cycle
    /// of the memory's bus. `None` where neither can be reckoned.
    ///
    /// Double precision runs at half the speed on the data-centre parts, at 1/32 (compute capability 6.1 to 7.5) or 1/64 on
    /// the others (CUDA C++ Programming Guide, "Arithmetic Instructions").
    pub(super) fn rates(&self, usual: Rates) -> Option<Rates> {
        let known = |a: Option<u32>, b: Option<u32>| {
            Some(f64::from(a.filter(|a| *a > 0)?) * f64::from(b.filter(|b| *b > 0)?))
        };
        let flops = known(self.cores, self.core_clock_mhz);
        let memory = known(self.memory_bus_bits, self.memory_clock_mhz);
        if flops.is_none() && memory.is_none() {
            return None;
        }
        let double = match self.compute_capability.map(|cc| (cc.major, cc.minor)) {
            Some((6..=10, 0)) => 1.0 / 2.0,
            Some((6 | 7, _)) => 1.0 / 32.0,
            _ => 1.0 / 64.0,
        };
        let flops_f32 = flops.map_or(usual.flops_f32, |mega| 2.0 * 1e6 * mega);
        Some(Rates {
            flops_f32,
            flops_f64: flops_f32 * double,
            memory_bytes_per_s: memory.map_or(usual.memory_bytes_per_s, |mega| 2.0 * 1e6 * mega / 8.0),
            launch_s: usual.launch_s,
        })
    }
}

/// CUDA cores of one multiprocessor (CUDA C++ Programming Guide, "Compute Capabilities": results a clock cycle of a
/// single-precision add); `None` for what is newer or older than the table.
pub fn cores_of_multiprocessor(capability: ComputeCapability) -> Option<u32> {
    match (capability.major, capability.minor) {
        (6, 0) | (7, _) | (8, 0) => Some(64),
        (5, _) | (6, _) | (8, _) | (9..=12, _) => Some(128),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{DeviceKind, defaults};

    #[test]
    fn figures_give_the_datasheet_rates() {
        let cc = |major, minor| Some(ComputeCapability { major, minor });
        // RTX 4090: 82.6 TFLOP/s and 1008 GB/s (Ada whitepaper). A100: 19.5 and 9.7 TFLOP/s, 1555 GB/s (its datasheet).
        let table = [
            ((16384, 2520, 10501, 384, cc(8, 9)), (82.6e12, 82.6e12 / 64.0, 1008e9)),
            ((6912, 1410, 1215, 5120, cc(8, 0)), (19.5e12, 9.7e12, 1555e9)),
            // RTX 2080 Ti: 14.2 TFLOP/s at its largest clock of 1635 MHz, 616 GB/s (Turing whitepaper).
            ((4352, 1635, 7000, 352, cc(7, 5)), (14.2e12, 14.2e12 / 32.0, 616e9)),
        ];
        let usual = defaults::rates(DeviceKind::Gpu, 8);
        for ((cores, clock, memory, bits, compute_capability), (f32, f64, bytes)) in table {
            let speed = Speed {
                cores: Some(cores),
                core_clock_mhz: Some(clock),
                memory_clock_mhz: Some(memory),
                memory_bus_bits: Some(bits),
                compute_capability,
                pcie: None,
            };
            let rates = speed.rates(usual).expect("figures");
            let near = |got: f64, want: f64| (got / want - 1.0).abs() < 0.01;
            assert!(near(rates.flops_f32, f32) && near(rates.flops_f64, f64), "{rates:?}");
            assert!(near(rates.memory_bytes_per_s, bytes), "{rates:?}");
            assert_eq!(Speed { core_clock_mhz: None, memory_bus_bits: Some(0), ..speed }.rates(usual), None);
        }
    }

    #[test]
    fn cores_by_generation() {
        let cores = |major, minor| cores_of_multiprocessor(ComputeCapability { major, minor });
        // P100 56 x 64, V100 80 x 64, A100 108 x 64, A10 72 x 128, H100 132 x 128 (their datasheets).
        let generations = [cores(6, 0), cores(7, 0), cores(8, 0), cores(8, 6), cores(9, 0), cores(3, 5)];
        assert_eq!(generations, [Some(64), Some(64), Some(64), Some(128), Some(128), None]);
    }
}
