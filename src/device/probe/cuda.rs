//! The CUDA driver: which cards it lets this process use, in plain data.
//!
//! Asking opens no card: contexts are slow to make and take memory, so what is free is NVML's to tell.

use super::Trouble;
use super::speed::Speed;
use crate::units::Bytes;

/// One card, or slice of one, as the driver shows it to this process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CudaGpu {
    /// NVIDIA's name for it.
    pub name: String,
    /// The PCI address as [`normalise_pci`](crate::machine::normalise_pci) writes it; a slice has its card's.
    pub pci: Option<String>,
    /// 8-4-4-4-12 hexadecimal digits; a slice has its own.
    pub uuid: Option<String>,
    /// The size of the memory that it can use.
    pub memory: Option<Bytes>,
    /// Whether it uses the host's memory as its own.
    pub is_integrated: bool,
    /// What its speed can be reckoned from.
    pub speed: Speed,
    /// The driver's numbers of the cards whose memory it can read and write itself.
    pub peers: Vec<u32>,
}

/// What became of asking the driver.
#[derive(Clone, Debug, PartialEq)]
pub enum Driver {
    /// There is none, and why that is.
    Absent(String),
    /// It is there and refuses, in its own words.
    Broken(String),
    /// It answers.
    There {
        /// The CUDA version that it serves: `12.4`.
        version: String,
        /// In the driver's order: the position is the driver's number.
        gpus: Vec<CudaGpu>,
    },
}

impl Driver {
    /// There is none.
    pub fn absent() -> Self {
        Driver::Absent("there is no CUDA driver".to_owned())
    }

    /// The cards that it shows.
    pub fn gpus(&self) -> &[CudaGpu] {
        match self {
            Driver::There { gpus, .. } => gpus,
            Driver::Absent(_) | Driver::Broken(_) => &[],
        }
    }
}

/// What the driver is asked; a test answers from a script.
pub trait Source {
    /// The CUDA version that it serves, as a thousand times the major and ten times the minor number.
    fn version(&self) -> Result<u32, Trouble>;
    /// How many cards it shows.
    fn count(&self) -> Result<u32, Trouble>;
    /// A card without its peers.
    fn card(&self, ordinal: u32) -> Result<CudaGpu, Trouble>;
    /// Whether the first card can read and write the memory of the second.
    fn reaches(&self, ordinal: u32, other: u32) -> Result<bool, Trouble>;
}

/// What the driver shows; `notes` gets a line for whatever went wrong with a card.
pub fn read(notes: &mut Vec<String>) -> Driver {
    #[cfg(feature = "cuda")]
    return crate::device::cuda::probe::read(notes);
    #[cfg(not(feature = "cuda"))]
    {
        let _ = notes;
        Driver::Absent("this build is without CUDA".to_owned())
    }
}

/// As [`read`], from any source.
pub fn read_from(source: &dyn Source, notes: &mut Vec<String>) -> Driver {
    let version = match source.version() {
        Ok(version) => format!("{}.{}", version / 1000, version % 1000 / 10),
        Err(trouble) => return Driver::Broken(format!("it doesn't tell its version: {trouble}")),
    };
    let count = match source.count() {
        Ok(count) => count,
        Err(trouble) => return Driver::Broken(format!("it can't list its cards: {trouble}")),
    };
    let gpus = (0..count).map(|ordinal| {
        let gpu = source.card(ordinal).unwrap_or_else(|trouble| {
            notes.push(format!("the CUDA driver can't tell what card {ordinal} is: {trouble}"));
            CudaGpu::default()
        });
        let reaches = |other: &u32| *other != ordinal && source.reaches(ordinal, *other).unwrap_or(false);
        CudaGpu { peers: (0..count).filter(reaches).collect(), ..gpu }
    });
    Driver::There { version, gpus: gpus.collect() }
}

/// Whether there is a compiler for the driver's kernels, or why there is none.
pub fn compiler() -> Result<(), String> {
    #[cfg(feature = "cuda")]
    return crate::device::cuda::probe::compiler();
    #[cfg(not(feature = "cuda"))]
    Err("this build is without CUDA".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Script(Result<u32, Trouble>, Vec<Result<CudaGpu, Trouble>>);

    impl Source for Script {
        fn version(&self) -> Result<u32, Trouble> {
            self.0.clone()
        }
        fn count(&self) -> Result<u32, Trouble> {
            Ok(self.1.len() as u32)
        }
        fn card(&self, ordinal: u32) -> Result<CudaGpu, Trouble> {
            self.1[ordinal as usize].clone()
        }
        fn reaches(&self, ordinal: u32, other: u32) -> Result<bool, Trouble> {
            if other == 2 { Err(Trouble::NotSupported) } else { Ok(ordinal < other || ordinal == 2) }
        }
    }

    #[test]
    fn trouble_with_a_card_is_noted_and_keeps_the_numbers() {
        let named = |name: &str| Ok(CudaGpu { name: name.to_owned(), ..CudaGpu::default() });
        let lost = Err(Trouble::Failed("it fell off the bus".to_owned()));
        let mut notes = Vec::new();
        let driver = read_from(&Script(Ok(12040), vec![named("A"), lost, named("C")]), &mut notes);
        let Driver::There { version, gpus } = driver else { panic!("{driver:?}") };
        let seen: Vec<_> = gpus.iter().map(|gpu| (gpu.name.as_str(), gpu.peers.as_slice())).collect();
        assert_eq!(version, "12.4");
        assert_eq!(seen, [("A", &[1][..]), ("", &[]), ("C", &[0, 1])]);
        assert_eq!(notes, ["the CUDA driver can't tell what card 1 is: it fell off the bus"]);
        let broken = read_from(&Script(Err(Trouble::NotSupported), vec![]), &mut notes);
        assert_eq!(broken, Driver::Broken("it doesn't tell its version: not supported".to_owned()));
    }
}
