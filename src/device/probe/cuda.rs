//! The CUDA driver: which cards it lets this process use. Beside `device::cuda` the one file that names cudarc.
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
    return loaded::read(notes);
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
    return loaded::compiler();
    #[cfg(not(feature = "cuda"))]
    Err("this build is without CUDA".to_owned())
}

#[cfg(feature = "cuda")]
mod loaded {
    use std::ffi::{CStr, c_char, c_int, c_void};

    use cudarc::driver::result::{self, DriverError};
    use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute, CUresult};

    use super::{CudaGpu, Driver, Source};
    use crate::device::probe::Trouble;
    use crate::device::probe::speed::{Speed, cores_of_multiprocessor};
    use crate::machine::{ComputeCapability, normalise_pci};
    use crate::units::Bytes;

    /// Every function that is called here: cudarc panics where one is missing.
    const FUNCTIONS: [&str; 11] = [
        "cuDeviceCanAccessPeer",
        "cuDeviceGet",
        "cuDeviceGetAttribute",
        "cuDeviceGetCount",
        "cuDeviceGetName",
        "cuDeviceGetPCIBusId",
        "cuDeviceGetUuid_v2",
        "cuDeviceTotalMem_v2",
        "cuDriverGetVersion",
        "cuGetErrorString",
        "cuInit",
    ];

    pub(super) fn read(notes: &mut Vec<String>) -> Driver {
        // SAFETY: loading a driver runs its initialisers, which is what it is for.
        if !unsafe { sys::is_culib_present() } {
            return Driver::absent();
        }
        // SAFETY: the library was just found to be there.
        let library = unsafe { sys::culib() };
        // SAFETY: the function isn't called, only looked for.
        let is_there = |name: &str| unsafe { library.get::<*const c_void>(name.as_bytes()) }.is_ok();
        if let Some(function) = FUNCTIONS.into_iter().find(|name| !is_there(name)) {
            return Driver::Broken(format!("it is too old: it has no function {function}"));
        }
        match result::init() {
            // How it says that the process may use none.
            Ok(()) | Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => super::read_from(&Loaded, notes),
            Err(error) => Driver::Broken(Trouble::from(error).to_string()),
        }
    }

    pub(super) fn compiler() -> Result<(), String> {
        // SAFETY: loading a compiler runs its initialisers, which is what it is for.
        match unsafe { cudarc::nvrtc::sys::is_culib_present() } {
            true => Ok(()),
            false => Err("the CUDA compiler NVRTC isn't found".to_owned()),
        }
    }

    /// The driver after `cuInit`, with all of [`FUNCTIONS`].
    struct Loaded;

    impl Source for Loaded {
        fn version(&self) -> Result<u32, Trouble> {
            let mut version = 0;
            // SAFETY: one number is written.
            unsafe { sys::cuDriverGetVersion(&mut version) }.result()?;
            Ok(version.unsigned_abs())
        }

        fn count(&self) -> Result<u32, Trouble> {
            match result::device::get_count() {
                // Where `cuInit` found no device, nothing else is answered.
                Err(DriverError(CUresult::CUDA_ERROR_NOT_INITIALIZED | CUresult::CUDA_ERROR_NO_DEVICE)) => {
                    Ok(0)
                }
                count => Ok(count?.unsigned_abs()),
            }
        }

        fn card(&self, ordinal: u32) -> Result<CudaGpu, Trouble> {
            let device = device(ordinal)?;
            // SAFETY: the device is the driver's own answer.
            let memory = unsafe { result::device::total_mem(device) }.ok().filter(|bytes| *bytes > 0);
            Ok(CudaGpu {
                name: result::device::get_name(device)?,
                pci: pci(device).as_deref().and_then(normalise_pci),
                uuid: uuid(device),
                memory: memory.map(|bytes| Bytes(bytes as u64)),
                is_integrated: number(device, CUdevice_attribute::CU_DEVICE_ATTRIBUTE_INTEGRATED).is_some(),
                speed: speed(device),
                peers: Vec::new(),
            })
        }

        fn reaches(&self, ordinal: u32, other: u32) -> Result<bool, Trouble> {
            let mut can = 0;
            // SAFETY: one number is written, and the devices are the driver's own answers.
            unsafe { sys::cuDeviceCanAccessPeer(&mut can, device(ordinal)?, device(other)?) }.result()?;
            Ok(can != 0)
        }
    }

    fn device(ordinal: u32) -> Result<CUdevice, DriverError> {
        result::device::get(ordinal as c_int)
    }

    fn pci(device: CUdevice) -> Option<String> {
        let mut text: [c_char; 32] = [0; 32];
        // SAFETY: the driver writes at most so many bytes, and a zero after the text.
        unsafe { sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), text.len() as c_int, device) }.result().ok()?;
        // SAFETY: the text ends within the array, whose last byte nothing but a zero was written to.
        Some(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
    }

    /// The second version of the call: the first gives a slice its card's UUID.
    fn uuid(device: CUdevice) -> Option<String> {
        let mut uuid = sys::CUuuid { bytes: [0; 16] };
        // SAFETY: sixteen bytes are written.
        unsafe { sys::cuDeviceGetUuid_v2(&mut uuid, device) }.result().ok()?;
        let hex: String = uuid.bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
        Some([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
    }

    fn speed(device: CUdevice) -> Speed {
        use CUdevice_attribute::*;
        let capability = ComputeCapability {
            major: number(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR).unwrap_or_default(),
            minor: number(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR).unwrap_or_default(),
        };
        let multiprocessors = number(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        Speed {
            cores: multiprocessors.and_then(|count| count.checked_mul(cores_of_multiprocessor(capability)?)),
            core_clock_mhz: number(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE).map(|khz| khz / 1000),
            memory_clock_mhz: number(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).map(|khz| khz / 1000),
            memory_bus_bits: number(device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
            compute_capability: (capability.major > 0).then_some(capability),
            pcie: None,
        }
    }

    /// An attribute that is above 0.
    fn number(device: CUdevice, attribute: CUdevice_attribute) -> Option<u32> {
        // SAFETY: the device is the driver's own answer.
        let value = unsafe { result::device::get_attribute(device, attribute) }.ok()?;
        u32::try_from(value).ok().filter(|value| *value > 0)
    }

    impl From<DriverError> for Trouble {
        fn from(error: DriverError) -> Trouble {
            if error.0 == CUresult::CUDA_ERROR_NOT_SUPPORTED {
                return Trouble::NotSupported;
            }
            let number = error.0 as u32;
            Trouble::Failed(match error.error_string() {
                Ok(words) => format!("{} (error {number})", words.to_string_lossy()),
                Err(_) => format!("error {number}"),
            })
        }
    }
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
