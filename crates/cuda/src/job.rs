//! What a kernel is told: the same fields in the same order as `Job` of kernels/job.cuh, and how much memory a team needs.

use cudarc::driver::DeviceRepr;

/// The arguments of a kernel. Addresses are those of the device.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Job {
    pub rows: u64,
    pub about: u64,
    pub limits: u64,
    pub guide: u64,
    pub trials: u64,
    pub changed: u64,
    pub is_in: u64,
    pub crafted: u64,
    pub crafted_starts: u64,
    pub crafted_entries: u64,
    pub rates: u64,
    pub initial: u64,
    pub read_parameters: u64,
    pub read_directions: u64,
    pub out: u64,
    pub scratch: u64,
    pub errors: u64,
    pub scratch_each: u64,
    pub out_each: u64,
    pub count: i32,
    pub steps: i32,
    pub inputs: i32,
    pub width: i32,
    pub outer: i32,
    pub hidden: i32,
    pub outputs: i32,
    pub parameters: i32,
    pub loss: i32,
    pub batches: i32,
    pub read: i32,
    pub gaps: i32,
    pub positions: i32,
    pub records: i32,
    pub unplanted: i32,
    pub inside: i32,
    pub outside: i32,
    pub planted_words: i32,
    pub crafted_count: i32,
    pub batch: i32,
    pub room_for: i32,
    pub read_parameter_count: i32,
    pub read_direction_count: i32,
    pub probes: i32,
    pub first_probe: i32,
    pub unit: f32,
    pub clip: f32,
    pub per_fine: f32,
    pub per_last: f32,
    pub scale: f32,
    pub momentum: f32,
    pub decay: f32,
    pub initial_scale: f32,
    pub fine_steps: f64,
    pub fine_bias_steps: f64,
    pub last_steps: f64,
    pub granularity: f64,
    pub start: f64,
    pub start_last: f64,
    pub noise_key: [u32; 8],
    pub batch_key: [u32; 8],
    pub init_key: [u32; 8],
}

// SAFETY: plain numbers in the layout of C, which the kernels read by value.
#[allow(unsafe_code)]
unsafe impl DeviceRepr for Job {}

/// The most crafted gradients in one batch.
pub(crate) const MOST_CRAFTED: usize = 1024;
/// Words of keystream that are held for a batch.
const WORDS: usize = 544;
/// Rare radii that are noted at once, and their number.
const RARE: usize = 64;
/// Batches of shuffled records.
pub(crate) const SHUFFLED: i32 = 2;

/// A kernel and what its teams are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kernel {
    pub name: &'static str,
    /// The program that holds it, compiled.
    pub ptx: &'static str,
    /// Tiles of 16 outputs of the first layer.
    tiles: usize,
    /// Whether there is a second layer.
    has_hidden: bool,
    /// Whether noise and weights are kept in device memory.
    is_large: bool,
    /// Warps of a team.
    pub warps: u32,
    /// Teams of a block.
    pub teams: u32,
}

/// The name of a kernel and the program that was compiled for it.
macro_rules! compiled {
    ($name:literal) => {
        ($name, include_str!(concat!("../kernels/ptx/", $name, ".ptx")))
    };
}

/// The program with what tests probe.
pub(crate) const PROBES: &str = include_str!("../kernels/ptx/probes.ptx");

const fn kernel(
    (name, ptx): (&'static str, &'static str),
    tiles: usize,
    has_hidden: bool,
    is_large: bool,
    warps: u32,
    teams: u32,
) -> Kernel {
    Kernel { name, ptx, tiles, has_hidden, is_large, warps, teams }
}

const SMALL: Kernel = kernel(compiled!("linear_small_bytes"), 1, false, false, 1, 4);
const LINEAR_BYTES: [Kernel; 2] = [
    kernel(compiled!("linear_bytes"), 1, false, false, 9, 1),
    kernel(compiled!("linear_large_bytes"), 1, false, true, 9, 1),
];
const LINEAR_NUMBERS: [Kernel; 2] = [
    kernel(compiled!("linear_numbers"), 1, false, false, 9, 1),
    kernel(compiled!("linear_large_numbers"), 1, false, true, 9, 1),
];
const HIDDEN_BYTES: [Kernel; 2] = [
    kernel(compiled!("hidden_bytes"), 2, true, false, 9, 1),
    kernel(compiled!("hidden_large_bytes"), 8, true, true, 9, 1),
];
const HIDDEN_NUMBERS: [Kernel; 1] = [kernel(compiled!("hidden_large_numbers"), 8, true, true, 9, 1)];

/// The most outputs of the first layer where there is a second.
pub(crate) const MOST_HIDDEN: usize = 128;
/// The most outputs of a network.
pub(crate) const MOST_OUTPUTS: usize = 16;
/// The most parameters of a model that one warp trains.
const MOST_OF_A_WARP: i32 = 1100;

impl Kernel {
    /// The first kernel that a job fits, with the shared and the device memory of each of its teams.
    ///
    /// `most` is the shared memory that a block may have.
    pub fn of(job: &Job, planes: usize, most: usize) -> Option<(Kernel, usize, usize)> {
        let mut candidates: Vec<Kernel> = Vec::new();
        match (job.hidden > 0, planes) {
            (false, 1) => {
                if job.width == 64 && job.parameters <= MOST_OF_A_WARP {
                    candidates.push(SMALL);
                }
                candidates.extend(LINEAR_BYTES);
            }
            (false, _) => candidates.extend(LINEAR_NUMBERS),
            (true, 1) => candidates.extend(HIDDEN_BYTES),
            (true, _) => candidates.extend(HIDDEN_NUMBERS),
        }
        candidates.into_iter().find_map(|kernel| {
            let (shared, scratch) = kernel.memory(job);
            let fits = shared * kernel.teams as usize <= most && job.outer as usize <= 16 * kernel.tiles;
            fits.then_some((kernel, shared, scratch))
        })
    }

    /// What `lay_out` of kernels/train.cu takes for one team: shared memory and device memory.
    fn memory(&self, job: &Job) -> (usize, usize) {
        let up = |bytes: usize| bytes.next_multiple_of(16);
        let (outer, width, parameters) = (job.outer as usize, job.width as usize, job.parameters as usize);
        let room_for = job.room_for as usize;
        let slope_stride = room_for + 16;
        let numbers = up((parameters.div_ceil(32) + 2) * 34 * 4);
        let planes = up(48 * self.tiles * width);
        let last = if self.has_hidden { job.outputs as usize * (job.hidden as usize + 1) } else { 0 };
        let crafted = 4 * job.crafted_count as usize;
        let order = if job.batches == SHUFFLED { 2 * job.positions as usize } else { 0 };
        let mut shared = up((3 * outer * slope_stride).max(4 * WORDS))
            + up(4 * 16 * self.tiles)
            + up(8 * 16 * self.tiles)
            + 2 * up(4 * last)
            + up(4 * 24)
            + up(4 * RARE)
            + up(4 * 32)
            + 2 * up(4 * (room_for + 32))
            + 16
            + up(crafted)
            + up(order);
        let mut scratch = up(4 * outer * width) + up(4 * (outer * width + parameters));
        let of_size = if self.is_large { &mut scratch } else { &mut shared };
        *of_size += numbers + planes;
        (shared.next_multiple_of(128), scratch.next_multiple_of(128))
    }
}

// kernels/job.cuh has the same number.
const _: () = assert!(size_of::<Job>() == 432);

#[cfg(test)]
mod tests {
    use super::*;

    fn job(inputs: i32, outer: i32, hidden: i32) -> Job {
        let outputs = if hidden > 0 { 10 } else { outer };
        Job {
            inputs,
            width: (inputs as u32).next_multiple_of(64) as i32,
            outer,
            hidden,
            outputs,
            parameters: (inputs + 1) * outer + if hidden > 0 { (hidden + 1) * outputs } else { 0 },
            room_for: 288,
            ..Job::default()
        }
    }

    #[test]
    fn every_shape_has_its_kernel() {
        let most = 227 << 10;
        let name = |job: &Job, planes| Kernel::of(job, planes, most).map(|(kernel, _, _)| kernel.name);
        assert_eq!(name(&job(64, 10, 0), 1), Some("linear_small_bytes"));
        assert_eq!(name(&job(64, 10, 0), 3), Some("linear_numbers"));
        assert_eq!(name(&job(784, 10, 0), 1), Some("linear_bytes"));
        assert_eq!(name(&job(8000, 10, 0), 1), Some("linear_large_bytes"));
        assert_eq!(name(&job(8000, 10, 0), 3), Some("linear_large_numbers"));
        assert_eq!(name(&job(784, 32, 32), 1), Some("hidden_bytes"));
        assert_eq!(name(&job(784, 128, 128), 1), Some("hidden_large_bytes"));
        assert_eq!(name(&job(784, 32, 32), 3), Some("hidden_large_numbers"));
        // What fits nowhere has none: a batch whose gradients are more than a multiprocessor holds.
        assert_eq!(name(&Job { room_for: 2016, ..job(784, 128, 128) }, 1), None);
    }

    #[test]
    fn a_team_has_all_that_its_kernel_lays_out() {
        let small = job(64, 10, 0);
        let (kernel, shared, scratch) = Kernel::of(&small, 1, 227 << 10).unwrap();
        // Noise of 21 groups and two more, weights, slopes; then weights and momentum in device memory.
        let parts = 23 * 34 * 4 + 48 * 64 + 3 * 10 * 304;
        assert!((parts..20_000).contains(&shared), "{shared}");
        assert!(scratch >= 4 * (2 * 640 + 650) && kernel.teams == 4);
        assert!(shared.is_multiple_of(128) && scratch.is_multiple_of(128));
    }
}
