//! CUDA streams: two, each with its own memory, so that one trains while results of the other are copied to the host. Memory is kept from call to call, since asking for it takes as long as thousands of trainings.

use crate::{Argument, failed, kernel::Kernel};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DevicePtr, DriverError, LaunchConfig,
    PinnedHostSlice, PushKernelArg, sys,
};
use std::sync::Arc;
use veracity_core::Refusal;
use veracity_train::integer::Job;

/// Numbers that are read of a part at most, where a part has several rounds of the device all the same.
const READ_AT_ONCE: usize = 1 << 22;
/// The fewest rounds of a part: at the end of each, some teams wait for others.
const FEWEST_ROUNDS: usize = 4;

/// A stream, and what the trainings on it need.
#[derive(Debug)]
struct StreamMemory {
    stream: Arc<CudaStream>,
    /// Memory of the teams.
    scratch: CudaSlice<u8>,
    /// What is read, there and here.
    out: CudaSlice<f32>,
    home: PinnedHostSlice<f32>,
    /// A count of what must not happen.
    errors: CudaSlice<u32>,
}

impl StreamMemory {
    fn new(context: &Arc<CudaContext>) -> Result<StreamMemory, DriverError> {
        let stream = context.new_stream()?;
        let (scratch, out) = (stream.alloc_zeros(1)?, stream.alloc_zeros(1)?);
        let errors = stream.alloc_zeros(1)?;
        Ok(StreamMemory { home: pinned(context, 1)?, stream, scratch, out, errors })
    }

    /// Sees that there is room for so many bytes of scratch and so many numbers.
    fn make_room(&mut self, scratch: usize, numbers: usize) -> Result<(), DriverError> {
        if self.scratch.len() < scratch {
            self.scratch = self.stream.alloc_zeros(scratch)?;
        }
        if self.out.len() < numbers {
            self.out = self.stream.alloc_zeros(numbers)?;
        }
        if self.home.len() < numbers {
            self.home = pinned(self.stream.context(), numbers)?;
        }
        Ok(())
    }
}

/// Memory of this machine that a device writes to by itself.
fn pinned(context: &Arc<CudaContext>, numbers: usize) -> Result<PinnedHostSlice<f32>, DriverError> {
    // SAFETY: any bits are numbers, and none is looked at before the device has written it.
    #[allow(unsafe_code)]
    unsafe {
        context.alloc_pinned_with_flags(numbers, 0)
    }
}

/// A kernel that is ready for a job.
pub(crate) struct Launch<'a> {
    pub kernel: Kernel,
    pub function: &'a CudaFunction,
    /// Shared memory and scratch of a team.
    pub shared: usize,
    pub scratch: usize,
    /// Multiprocessors of the device.
    pub processors: u32,
}

/// Both streams.
#[derive(Debug)]
pub(crate) struct Streams([StreamMemory; 2]);

impl Streams {
    pub fn new(context: &Arc<CudaContext>) -> Result<Streams, DriverError> {
        Ok(Streams([StreamMemory::new(context)?, StreamMemory::new(context)?]))
    }

    /// Trains, and returns what was read, training after training, with the seconds that it took on the device. What the job refers
    /// to was sent by `sent`.
    pub fn train(
        &mut self,
        job: &Job,
        launch: &Launch<'_>,
        sent: &CudaStream,
    ) -> Result<(Vec<f32>, f64), Refusal> {
        let parts = launch.parts(job).map_err(failed)?;
        let mut run = || -> Result<(Vec<f32>, f64, u32), DriverError> {
            for stream in &mut self.0 {
                stream.make_room(
                    launch.scratch * parts.teams,
                    (parts.each.min(parts.all) * parts.numbers).max(1),
                )?;
                stream.stream.memset_zeros(&mut stream.errors)?;
                stream.stream.join(sent)?;
            }
            let mut read = Vec::with_capacity(parts.all * parts.numbers);
            let begun = self.event(0)?;
            let mut ended = Vec::new();
            let starts: Vec<usize> = (0..parts.all).step_by(parts.each).collect();
            for (number, first) in starts.iter().enumerate() {
                if let Some(before) = number.checked_sub(2) {
                    self.take_home(before % 2, parts.count(starts[before]) * parts.numbers, &mut read)?;
                }
                let stream = &mut self.0[number % 2];
                launch.start(job, *first, parts.count(*first), stream)?;
                ended.push(stream.stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))?);
                let numbers = parts.count(*first) * parts.numbers;
                if numbers > 0 {
                    stream.stream.memcpy_dtoh(&stream.out.slice(..numbers), &mut stream.home)?;
                }
            }
            for (number, first) in starts.iter().enumerate().skip(starts.len().saturating_sub(2)) {
                self.take_home(number % 2, parts.count(*first) * parts.numbers, &mut read)?;
            }
            let mut wrong = 0;
            for stream in &self.0 {
                wrong += stream.stream.clone_dtoh(&stream.errors)?[0];
                stream.stream.synchronize()?;
            }
            let mut took = 0f32;
            for ended in &ended {
                took = took.max(begun.elapsed_ms(ended)?);
            }
            Ok((read, f64::from(took) / 1e3, wrong))
        };
        match run().map_err(failed)? {
            (read, took, 0) => Ok((read, took)),
            (_, _, wrong) => Err(Refusal::Invalid(format!(
                "a batch or its noise outgrew the memory of the device {wrong} times; nothing is read of these trainings"
            ))),
        }
    }

    fn event(&self, stream: usize) -> Result<CudaEvent, DriverError> {
        self.0[stream].stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT))
    }

    /// Waits for what a stream has read, and appends it.
    fn take_home(&self, stream: usize, numbers: usize, read: &mut Vec<f32>) -> Result<(), DriverError> {
        if numbers > 0 {
            read.extend_from_slice(&self.0[stream].home.as_slice()?[..numbers]);
        }
        Ok(())
    }
}

/// How trainings are cut into parts.
struct Parts {
    all: usize,
    /// Trainings of a part, but for the last.
    each: usize,
    /// Numbers that are read of a training.
    numbers: usize,
    /// Teams that run at once.
    teams: usize,
}

impl Parts {
    /// How many there are from a first one on.
    fn count(&self, first: usize) -> usize {
        self.each.min(self.all - first)
    }
}

impl Launch<'_> {
    fn threads(&self) -> u32 {
        32 * self.kernel.warps * self.kernel.teams
    }

    fn shared_of_block(&self) -> usize {
        self.kernel.shared_of_block(self.shared)
    }

    /// Whole rounds of the device, as few as what is read of them allows.
    fn parts(&self, job: &Job) -> Result<Parts, DriverError> {
        self.function.set_attribute(
            sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            self.shared_of_block() as i32,
        )?;
        let fitting = self.function.occupancy_max_active_blocks_per_multiprocessor(
            self.threads(),
            self.shared_of_block(),
            None,
        )?;
        let (all, numbers) = (job.count as usize, job.out_each as usize);
        let teams = (fitting.max(1) * self.processors * self.kernel.teams) as usize;
        let rounds = (READ_AT_ONCE / (teams * numbers).max(1)).max(FEWEST_ROUNDS);
        // All parts alike, so that the last one does not end with a few.
        let parts = all.div_ceil(teams).div_ceil(rounds).max(1);
        let each = all.div_ceil(teams).div_ceil(parts).max(1) * teams;
        Ok(Parts { all, each, numbers, teams: teams.min(all.next_multiple_of(self.kernel.teams as usize)) })
    }

    /// Trains `count` models from the `first` on.
    fn start(
        &self,
        job: &Job,
        first: usize,
        count: usize,
        stream: &mut StreamMemory,
    ) -> Result<(), DriverError> {
        let StreamMemory { stream, scratch, out, errors, .. } = stream;
        let from = |at: u64, each: usize| if at == 0 { 0 } else { at + (first * each) as u64 };
        let job = Job {
            trials: from(job.trials, 8),
            changed: from(job.changed, 8),
            is_in: from(job.is_in, 4 * job.planted_words as usize),
            crafted: from(job.crafted, 4 * job.crafted_count as usize),
            count: count as i32,
            scratch: scratch.device_ptr(stream).0,
            scratch_each: self.scratch as u64,
            out: out.device_ptr(stream).0,
            errors: errors.device_ptr(stream).0,
            ..*job
        };
        let fitting = self.function.occupancy_max_active_blocks_per_multiprocessor(
            self.threads(),
            self.shared_of_block(),
            None,
        )?;
        let blocks = (fitting.max(1) * self.processors).min((count as u32).div_ceil(self.kernel.teams));
        let config = LaunchConfig {
            grid_dim: (blocks, 1, 1),
            block_dim: (self.threads(), 1, 1),
            shared_mem_bytes: self.shared_of_block() as u32,
        };
        let each = self.shared as u32;
        // SAFETY: the kernel's arguments are a `Job` of its own layout, whose addresses are of memory that lives until it has ended,
        // and a number.
        #[allow(unsafe_code)]
        unsafe { stream.launch_builder(self.function).arg(&Argument(job)).arg(&each).launch(config) }
            .map(drop)
    }
}
