//! What the CUDA driver shows to this process, in plain data. A card that it doesn't show can't be driven through it.

use crate::units::Bytes;

/// The CUDA side of the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cuda {
    /// The cards in the driver's order; empty where there is no driver.
    pub gpus: Vec<CudaGpu>,
    /// Whether the driver was there and answered: then a card that isn't listed is hidden from this process.
    pub answered: bool,
    /// Why the driver, which is there, can't be used.
    pub trouble: Option<String>,
    /// Why no kernels can be compiled for its cards, if so.
    pub no_compiler: Option<String>,
}

/// One card, or slice of one, as the driver shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CudaGpu {
    /// NVIDIA's name for it.
    pub name: String,
    /// The PCI address as [`normalise_pci`](crate::machine::normalise_pci) writes it.
    pub pci: Option<String>,
    /// `GPU-` or `MIG-` and 8-4-4-4-12 hexadecimal digits.
    pub uuid: Option<String>,
    /// Bytes of memory that it can use; the host's where `is_integrated`.
    pub memory: Option<Bytes>,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// Whether it uses the host's memory.
    pub is_integrated: bool,
    /// The version of CUDA that the driver speaks: 12.4.
    pub version: String,
    /// UUIDs of the cards whose memory it reaches by itself.
    pub peers: Vec<String>,
}

/// Asks the driver; `notes` gets a line for whatever went wrong. A missing driver is nothing to talk about.
pub fn read(notes: &mut Vec<String>) -> Cuda {
    #[cfg(feature = "cuda")]
    let cuda = crate::device::cuda::probe();
    #[cfg(not(feature = "cuda"))]
    let cuda = Cuda {
        no_compiler: Some("this build of Outcrop has no CUDA backend (feature `cuda`)".to_owned()),
        ..Cuda::default()
    };
    notes.extend(
        cuda.trouble.iter().map(|trouble| format!("NVIDIA cards can't be used through CUDA: {trouble}")),
    );
    cuda
}
