//! What a device draws, by itself: for tests that hold it against the noise crate.

use crate::{
    Cuda, DeviceBuffers, failed,
    kernel::{Argument, PROBES, WORDS},
};
use cudarc::driver::{CudaSlice, DevicePtr, LaunchConfig, PushKernelArg, sys};
use veracity_core::Refusal;
use veracity_train::{device::Trainings, integer};

/// Blocks of a probe, of one warp each.
const BLOCKS: u32 = 512;

impl Cuda {
    /// The noise integers of the first steps of some trainings: trial after trial, step after step.
    ///
    /// # Errors
    /// As [`Cuda::train_flat`].
    pub fn noise_of(&self, trainings: &Trainings<'_>, steps: u32) -> Result<Vec<i32>, Refusal> {
        let each = trainings.plan.network.parameters();
        self.probe("probe_noise", trainings, steps, each, 4 * (16 + 64 + WORDS))
    }

    /// The batches of the first steps: for each its size, and then rows, with room for the largest.
    ///
    /// # Errors
    /// As [`Cuda::train_flat`].
    pub fn batches_of(&self, trainings: &Trainings<'_>, steps: u32) -> Result<(usize, Vec<i32>), Refusal> {
        let positions = trainings.worlds[0].len();
        let room_for = integer::room_for(trainings.plan, positions)?;
        let crafted = trainings.worlds[0].parts().crafted.len();
        let shared = 4 * (16 + WORDS + crafted.next_multiple_of(4) + 2 * (room_for + 32))
            + 2 * positions.next_multiple_of(8);
        Ok((room_for + 1, self.probe("probe_batches", trainings, steps, room_for + 1, shared)?))
    }

    fn probe(
        &self,
        name: &'static str,
        trainings: &Trainings<'_>,
        steps: u32,
        each: usize,
        shared: usize,
    ) -> Result<Vec<i32>, Refusal> {
        trainings.check()?;
        let (layers, calibrated) = integer::check(trainings.plan)?;
        self.context.bind_to_thread().map_err(failed)?;
        let mut sent = DeviceBuffers { stream: &self.stream, kept: Vec::new() };
        let mut job = integer::job(trainings.plan, layers, &calibrated);
        integer::place(&mut job, trainings, &calibrated, &mut |numbers| sent.place(&numbers))?;
        self.place_plan(&mut job, trainings, &mut sent)?;
        let errors: CudaSlice<u32> = self.stream.alloc_zeros(1).map_err(failed)?;
        job.errors = errors.device_ptr(&self.stream).0;
        let scratch = 4 * 34 * (trainings.plan.network.parameters().div_ceil(32) + 1);
        let memory: CudaSlice<u8> = self.stream.alloc_zeros(scratch * BLOCKS as usize).map_err(failed)?;
        (job.scratch, job.scratch_each) = (memory.device_ptr(&self.stream).0, scratch as u64);
        let out: CudaSlice<i32> =
            self.stream.alloc_zeros(each * steps as usize * trainings.trials.len()).map_err(failed)?;
        let function = self.function(name, PROBES)?;
        let attribute = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        function.set_attribute(attribute, shared as i32).map_err(failed)?;
        let config =
            LaunchConfig { grid_dim: (BLOCKS, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: shared as u32 };
        // SAFETY: as for trainings; `out` has room for every step of every trial.
        #[allow(unsafe_code)]
        unsafe {
            self.stream
                .launch_builder(&function)
                .arg(&Argument(job))
                .arg(&out)
                .arg(&(steps as i32))
                .launch(config)
        }
        .map_err(failed)?;
        let found = self.stream.clone_dtoh(&out).map_err(failed)?;
        self.stream.synchronize().map_err(failed)?;
        match self.stream.clone_dtoh(&errors).map_err(failed)?[0] {
            0 => Ok(found),
            wrong => {
                Err(Refusal::Invalid(format!("a batch or a list of pairs outgrew its memory {wrong} times")))
            }
        }
    }

    /// For how many of all 2³² radius words the kernels' quotient and root are 1e-5 units or more from the correctly rounded ones.
    ///
    /// # Errors
    /// Fails where the driver does.
    pub fn radii_that_differ(&self) -> Result<u64, Refusal> {
        self.counted("every_radius")
    }

    /// How many quick inverses, roots and quotients of floats are not as they are rounded elsewhere.
    ///
    /// # Errors
    /// Fails where the driver does.
    pub fn floats_that_differ(&self) -> Result<u64, Refusal> {
        self.counted("every_float")
    }

    /// What a probe counts.
    fn counted(&self, probe: &'static str) -> Result<u64, Refusal> {
        self.context.bind_to_thread().map_err(failed)?;
        let found: CudaSlice<u64> = self.stream.alloc_zeros(1).map_err(failed)?;
        let function = self.function(probe, PROBES)?;
        let config = LaunchConfig { grid_dim: (1024, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the only argument is the address of a number of the device.
        #[allow(unsafe_code)]
        unsafe { self.stream.launch_builder(&function).arg(&found).launch(config) }.map_err(failed)?;
        let found = self.stream.clone_dtoh(&found).map_err(failed)?;
        self.stream.synchronize().map_err(failed)?;
        Ok(found[0])
    }
}
