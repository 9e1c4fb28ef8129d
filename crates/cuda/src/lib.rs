//! Private trainings by the million on a CUDA device, for audits.
//!
//! A team of warps trains one model from its first step to its last, and a launch trains a whole portion of trials. Noise integers
//! and batches are those of the noise crate for the same keys, to the bit. Products and sums over records are of whole numbers, and so
//! exact in any order: neither the grid, nor the portion, nor the device number changes a bit. The theorem is in `kernels/train.cu`.
//!
//! The kernels are CUDA C++ in `kernels`, compiled to the PTX that is checked in beside them by `cargo xtask kernels`; the driver is
//! looked for at run time, so that the same program runs without one.
//!
//! # Examples
//!
//! ```no_run
//! use veracity_train::device::Device;
//!
//! let device = veracity_cuda::open(0)?;
//! println!("{}", device.name());
//! # Ok::<(), veracity_core::Refusal>(())
//! ```

#![warn(clippy::missing_errors_doc)]

mod kernel;
mod probe;
mod streams;

use cudarc::{
    driver::{
        CudaContext, CudaFunction, CudaModule, CudaStream, DevicePtr, DeviceRepr, DriverError,
        sys::{self, CUdevice_attribute_enum as Attribute},
    },
    nvrtc::Ptx,
};
pub use kernel::Family;
use kernel::{Argument, Kernel};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};
use streams::{Launch, Streams};
use veracity_core::Refusal;
use veracity_noise::Purpose;
use veracity_train::{
    Initial, Plan,
    device::{Device, Likelihoods, Reading, Trainings, Worlds},
    integer::{self, Job, Numbers},
};

/// Trainings that are given to a device at once.
const PORTION: usize = 1 << 17;
/// The most numbers that are read of a portion.
const MOST_READ: usize = 1 << 28;

/// A CUDA device.
pub struct Cuda {
    number: u32,
    kind: String,
    context: Arc<CudaContext>,
    /// What trainings read is sent by this one.
    stream: Arc<CudaStream>,
    /// One call trains at a time; others send meanwhile.
    streams: Mutex<Streams>,
    /// Programs that were loaded, by the name of their kernel: the driver needs a second for one.
    loaded: Mutex<BTreeMap<&'static str, Arc<CudaModule>>>,
    /// How long the last launch took on the device.
    seconds: Mutex<f64>,
    /// Multiprocessors, and the shared memory that a block may have.
    processors: u32,
    shared: usize,
    /// The kernels to choose from, where not all of them.
    only: Option<Family>,
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cuda").field("number", &self.number).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Opens a device by its number. Where there is no driver, or no such device, that is said in one line.
///
/// # Errors
/// Refuses a machine without a CUDA driver or without this device.
pub fn open(number: u32) -> Result<Cuda, Refusal> {
    // SAFETY: looks for a library and nothing else; the binding panics without one, so this comes first.
    #[allow(unsafe_code)]
    let is_there = unsafe { sys::is_culib_present() };
    if !is_there {
        return Err(Refusal::Invalid(
            "device is cuda, and no CUDA driver was found on this machine; use cpu".into(),
        ));
    }
    let opened = || -> Result<Cuda, DriverError> {
        let context = CudaContext::new(number as usize)?;
        let attribute = |which| context.attribute(which);
        let processors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32;
        let shared = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as usize;
        let kind = context.name()?;
        let stream = context.new_stream()?;
        let streams = Mutex::new(Streams::new(&context)?);
        let (loaded, seconds) = (Mutex::default(), Mutex::default());
        Ok(Cuda { number, kind, context, stream, streams, loaded, seconds, processors, shared, only: None })
    };
    opened().map_err(|error| {
        Refusal::Invalid(format!("device cuda:{number} cannot be used ({}); use cpu", told(error)))
    })
}

/// How many devices there are; none without a driver.
pub fn count() -> u32 {
    // SAFETY: as in `open`.
    #[allow(unsafe_code)]
    let is_there = unsafe { sys::is_culib_present() };
    if is_there { CudaContext::device_count().map_or(0, |count| count.max(0) as u32) } else { 0 }
}

/// A driver's error in one line.
fn told(error: DriverError) -> String {
    error
        .error_string()
        .ok()
        .and_then(|text| text.to_str().ok().map(str::to_owned))
        .unwrap_or_else(|| format!("{:?}", error.0))
}

fn failed(error: DriverError) -> Refusal {
    Refusal::Invalid(format!("the CUDA device failed: {}", told(error)))
}

impl Device for Cuda {
    fn name(&self) -> String {
        format!("cuda {}", self.kind)
    }

    fn portion(&self, plan: &Plan) -> usize {
        let read = plan.steps.get() as usize * 8 + plan.network.parameters();
        PORTION.min((MOST_READ / read).max(1))
    }

    fn check(&self, plan: &Plan) -> Result<(), Refusal> {
        integer::check(plan).map(drop)
    }

    fn has_scores(&self) -> bool {
        true
    }

    fn train(&self, trainings: &Trainings<'_>) -> Result<Vec<Vec<f32>>, Refusal> {
        let each = trainings.read.len(trainings.plan);
        let read = self.train_flat(trainings)?;
        Ok(if each == 0 {
            vec![Vec::new(); trainings.trials.len()]
        } else {
            read.chunks_exact(each).map(<[f32]>::to_vec).collect()
        })
    }
}

/// Memory of the device that a launch reads.
struct DeviceBuffers<'a> {
    stream: &'a Arc<CudaStream>,
    kept: Vec<Box<dyn std::any::Any>>,
}

impl DeviceBuffers<'_> {
    /// Copies numbers of any kind.
    fn place(&mut self, numbers: &Numbers) -> Result<u64, Refusal> {
        match numbers {
            Numbers::Bytes(numbers) => self.send(numbers),
            Numbers::Pairs(numbers) => self.send(&numbers.concat()),
            Numbers::Words(numbers) => self.send(numbers),
            Numbers::Signed(numbers) => self.send(numbers),
            Numbers::Long(numbers) => self.send(numbers),
        }
    }

    /// Copies numbers to the device and returns where they are; nothing has no place.
    fn send<T: DeviceRepr + 'static>(&mut self, numbers: &[T]) -> Result<u64, Refusal> {
        if numbers.is_empty() {
            return Ok(0);
        }
        let slice = self.stream.clone_htod(numbers).map_err(failed)?;
        let at = slice.device_ptr(self.stream).0;
        self.kept.push(Box::new(slice));
        Ok(at)
    }
}

impl Cuda {
    /// The same device with the kernels of one file alone, to measure what the others are worth. Results are the same to the bit.
    pub fn with_kernels(self, only: Family) -> Cuda {
        Cuda { only: Some(only), ..self }
    }

    /// As [`Device::train`], with all that is read in one vector, training after training.
    ///
    /// # Errors
    /// Refuses plans that the device cannot train, and fails where the driver does.
    pub fn train_flat(&self, trainings: &Trainings<'_>) -> Result<Vec<f32>, Refusal> {
        trainings.check()?;
        let (layers, calibrated) = integer::check(trainings.plan)?;
        if trainings.trials.is_empty() {
            return Ok(Vec::new());
        }
        self.context.bind_to_thread().map_err(failed)?;
        let mut sent = DeviceBuffers { stream: &self.stream, kept: Vec::new() };
        let mut job = integer::job(trainings.plan, layers, &calibrated);
        let planes = integer::place(&mut job, trainings, &calibrated, &mut |numbers| sent.place(&numbers))?;
        must_be_reached(&job, planes)?;
        self.place_plan(&mut job, trainings, &mut sent)?;
        let (kernel, shared, scratch) =
            Kernel::of(&job, planes, self.shared, self.only).ok_or_else(|| {
                Refusal::out_of_range(
                    "batch size",
                    trainings.plan.sampling.planned().get(),
                    "less: records, batch and network do not fit into the shared memory of this device",
                )
            })?;
        let function = self.function(kernel.name, kernel.ptx)?;
        // Tallies and what was heard of some steps come after what a team has otherwise.
        job.score_from = scratch as u32;
        let scratch = match trainings.read {
            Reading::Scores(Likelihoods { parameters, directions, .. }) => {
                let heard = 4 * kernel::HEARD * (parameters.len() + directions.len());
                (scratch + 16 * parameters.len() + heard).next_multiple_of(128)
            }
            _ => scratch,
        };
        let launch = Launch { kernel, function: &function, shared, scratch, processors: self.processors };
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let (read, took) = streams.train(&job, &launch, &self.stream)?;
        *self.seconds.lock().unwrap_or_else(PoisonError::into_inner) = took;
        Ok(read)
    }

    /// What follows from plan and reading, and needs memory.
    fn place_plan(
        &self,
        job: &mut Job,
        trainings: &Trainings<'_>,
        sent: &mut DeviceBuffers<'_>,
    ) -> Result<(), Refusal> {
        let plan = trainings.plan;
        let rates: Vec<f32> =
            (0..plan.steps.get()).map(|step| plan.schedule.rate(step, plan.steps.get())).collect();
        job.rates = sent.send(&rates)?;
        if let Initial::At(initial) = &plan.initial {
            job.initial = sent.send(initial)?;
        }
        if job.batches == 1
            && let Some(limits) = plan.sampling.gap_limits()?
        {
            let guide: Vec<u16> =
                (0..1024u64).map(|lead| limits.partition_point(|limit| limit >> 54 < lead) as u16).collect();
            // No word is beyond the last.
            let upper: Vec<u32> = limits.iter().map(|limit| (limit >> 32) as u32).chain([u32::MAX]).collect();
            job.gaps = limits.len() as i32;
            job.limits = sent.send(&limits)?;
            job.guide = sent.send(&guide)?;
            job.upper = sent.send(&upper)?;
        }
        if let Some((parameters, directions)) = trainings.read.of_sums() {
            job.read_parameter_count = parameters.len() as i32;
            job.read_direction_count = directions.len() as i32;
            job.read_parameters = sent.send(parameters)?;
            job.read_directions = sent.send(&directions.concat())?;
        }
        if let Reading::Scores(attack) = trainings.read {
            place_attack(job, attack, plan.steps.get(), sent)?;
        }
        job.read = match trainings.read {
            Reading::Sums { .. } => 0,
            Reading::Outputs(_) => 1,
            Reading::Parameters => 2,
            Reading::Scores(_) => 3,
        };
        job.out_each = trainings.read.len(plan) as u64;
        job.count = i32::try_from(trainings.trials.len()).map_err(|_| {
            Refusal::out_of_range("trials", trainings.trials.len(), "fewer than 2^31 at once")
        })?;
        let key = |purpose| trainings.entropy.run_key(purpose, trainings.run);
        (job.noise_key, job.batch_key, job.init_key) =
            (key(Purpose::Noise)?, key(Purpose::Batch)?, key(Purpose::Init)?);
        Ok(())
    }

    /// A kernel of a program, loaded once.
    fn function(&self, name: &'static str, ptx: &'static str) -> Result<CudaFunction, Refusal> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let module = match loaded.get(ptx) {
            Some(module) => module.clone(),
            None => {
                let module = self.context.load_module(Ptx::from_src(ptx)).map_err(failed)?;
                loaded.insert(ptx, module.clone());
                module
            }
        };
        module.load_function(name).map_err(failed)
    }

    /// How long the last launch took on the device, in seconds.
    pub fn kernel_seconds(&self) -> f64 {
        *self.seconds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Refuses records whose bytes are beyond an offset of 32 bits: some kernels would look at others.
fn must_be_reached(job: &Job, planes: usize) -> Result<(), Refusal> {
    let bytes = (job.blank as u64 + 1) * job.width as u64 * planes as u64;
    if bytes <= u64::from(u32::MAX) {
        return Ok(());
    }
    Err(Refusal::out_of_range(
        "records",
        job.blank,
        "fewer: all of them may take 4 GiB on a CUDA device; use cpu",
    ))
}

/// What an attacker who sees every step knows.
fn place_attack(
    job: &mut Job,
    attack: &Likelihoods<'_>,
    steps: u64,
    sent: &mut DeviceBuffers<'_>,
) -> Result<(), Refusal> {
    let stretches: Vec<u32> = (0..steps).map(|step| attack.stretch(step, steps) as u32).collect();
    let places: Vec<f64> = attack.places.iter().flat_map(|(scale, inverse)| [*scale, *inverse]).collect();
    job.score_expected = sent.send(attack.expected)?;
    job.score_taken = sent.send(attack.taken)?;
    job.score_places = sent.send(&places)?;
    job.score_chances = sent.send(attack.chances)?;
    job.score_stretch = sent.send(&stretches)?;
    job.score_copies = attack.chances.len() as i32 - 1;
    (job.score_kind, job.score_shift) = match attack.worlds {
        Worlds::Mixed => (0, 0.0),
        Worlds::Opposed => (1, 0.0),
        Worlds::Apart { shift } => (2, shift),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_beyond_an_offset_are_refused() {
        let job = |blank| Job { blank, width: 3072, ..Job::default() };
        assert!(must_be_reached(&job(466_000), 3).is_ok());
        let told = must_be_reached(&job(470_000), 3).unwrap_err().to_string();
        assert!(told.contains("470000") && told.contains("use cpu"), "{told}");
        assert!(must_be_reached(&job(470_000), 1).is_ok());
    }

    #[test]
    fn without_a_driver_or_a_device_there_is_one_clear_line() {
        let told = open(4_000).unwrap_err().to_string();
        assert!(told.contains("cuda") && told.contains("use cpu") && !told.contains('\n'), "{told}");
    }
}
