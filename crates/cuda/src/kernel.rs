//! Which kernel trains a job, and how much memory each of its teams needs.

use cudarc::driver::DeviceRepr;
use veracity_train::integer::{Job, SHUFFLED};

/// A job on its way to a kernel.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Argument(pub Job);

// SAFETY: plain numbers in the layout of C, which the kernels read by value.
#[allow(unsafe_code)]
unsafe impl DeviceRepr for Argument {}

/// Words of keystream that are held for a batch.
pub(crate) const WORDS: usize = 600;
/// Pairs in doubt that are noted at once, and their number.
const DOUBTS: usize = 64;
/// What kernels/warp.cuh and kernels/wide.cuh have: the most records of a batch, and words that hold 16 blocks of keystream.
const MOST_OF_ONE_WARP: i32 = 256;
const BLOCKS: usize = 16 * 20;
/// Their rows of slopes: three bytes of ten outputs.
const SLOPES: usize = 3 * 10;
/// Notes of pairs in doubt: all pairs of a step there, and those of two chunks here.
const NOTES_OF_ONE_WARP: usize = 16 * 21;
const NOTES_OF_A_WARP: usize = 512;
/// The tables of gaps that all its warps share.
const TABLES: usize = 2 * 1024 + 4 * 1025;
/// Steps that kernels/score.cuh hears before it scores them.
pub(crate) const HEARD: usize = 32;

/// Kernels by the file that holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `warp.cuh`: one warp a training, for 64 features of a byte and up to ten outputs.
    Warp,
    /// `wide.cuh`: four warps a training, for linear models of more such features.
    Wide,
    /// `team.cuh`: every shape.
    Team,
}

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

const OF_64: Kernel = kernel(compiled!("linear_64_bytes"), 1, false, false, 1, 16);
const SMALL: Kernel = kernel(compiled!("linear_small_bytes"), 1, false, false, 1, 4);
const WIDE: Kernel = kernel(compiled!("linear_wide_bytes"), 1, false, false, 4, 1);
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

/// The parameters whose noise is of one stream of the noise crate.
const MOST_OF_A_STREAM: i32 = 1 << 15;
/// The most parameters of a model that one warp trains.
const MOST_OF_A_WARP: i32 = 1100;

impl Kernel {
    /// The first kernel that a job fits, with the shared and the device memory of each of its teams.
    ///
    /// `most` is the shared memory that a block may have. `only` restricts the choice.
    pub fn of(job: &Job, planes: usize, most: usize, only: Option<Family>) -> Option<(Kernel, usize, usize)> {
        let mut candidates: Vec<Kernel> = Vec::new();
        match (job.hidden > 0, planes) {
            (false, 1) => {
                if is_for_one_warp(job) {
                    candidates.push(OF_64);
                }
                if job.width == 64 && job.parameters <= MOST_OF_A_WARP {
                    candidates.push(SMALL);
                }
                if is_for_four_warps(job) {
                    candidates.push(WIDE);
                }
                candidates.extend(LINEAR_BYTES);
            }
            (false, _) => candidates.extend(LINEAR_NUMBERS),
            (true, 1) => candidates.extend(HIDDEN_BYTES),
            (true, _) => candidates.extend(HIDDEN_NUMBERS),
        }
        candidates.retain(|kernel| only.is_none_or(|family| kernel.family() == family));
        candidates.into_iter().find_map(|kernel| {
            let (shared, scratch) = kernel.memory(job);
            let fits = kernel.shared_of_block(shared) <= most && job.outer as usize <= 16 * kernel.tiles;
            fits.then_some((kernel, shared, scratch))
        })
    }

    fn family(&self) -> Family {
        match self.name {
            name if name == OF_64.name => Family::Warp,
            name if name == WIDE.name => Family::Wide,
            _ => Family::Team,
        }
    }

    /// The shared memory of a block whose teams have so much each.
    pub fn shared_of_block(&self, each: usize) -> usize {
        self.teams as usize * each + if self.name == OF_64.name { TABLES } else { 0 }
    }

    /// What `lay_out` of kernels/team.cuh or kernels/warp.cuh takes for one team: shared memory and device memory.
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
        if self.name == OF_64.name {
            let shared = up((3 * 4 * BLOCKS).max(SLOPES * slope_stride))
                + 4 * BLOCKS
                + 3 * 640
                + 4 * 656
                + up(4 * 24)
                + up(4 * (room_for + 32))
                + 16
                + up(crafted)
                + up(order);
            return (shared.next_multiple_of(128), 4 * 32 * 21 + 16 * NOTES_OF_ONE_WARP);
        }
        if self.name == WIDE.name {
            let held = 4 * parameters.next_multiple_of(512);
            let warps = self.warps as usize;
            let shared = held.max(30 * width)
                + up((4 * warps * 2 * BLOCKS).max(SLOPES * slope_stride))
                + up(4 * 16)
                + up(4 * warps)
                + up(4 * 24)
                + up(4 * (room_for + 32))
                + 16
                + up(crafted)
                + up(order);
            return (shared.next_multiple_of(128), 2 * held + 16 * NOTES_OF_A_WARP * warps);
        }
        let mut shared = up((3 * outer * slope_stride).max(4 * WORDS))
            + up(4 * 16 * self.tiles)
            + up(8 * 16 * self.tiles)
            + 2 * up(4 * last)
            + up(4 * 24)
            + up(4 * DOUBTS)
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

/// Whether sums of a batch are so small that they are held in 29 bits.
fn has_small_sums(job: &Job) -> bool {
    f64::from(job.room_for) * f64::from(job.clip) / job.granularity < f64::from(1u32 << 29)
}

/// Whether there are at most ten outputs and 256 records, small sums, and quick quotients by the norm to clip to.
fn has_ordinary_numbers(job: &Job) -> bool {
    let reach = f32::from_bits((127 + 40) << 23);
    job.outputs <= 10
        && job.room_for <= MOST_OF_ONE_WARP
        && has_small_sums(job)
        && (1.0 / reach..=reach).contains(&job.clip)
}

/// Whether kernels/warp.cuh trains it: 64 bytes a record, ten outputs, and small sums.
fn is_for_one_warp(job: &Job) -> bool {
    job.inputs == 64 && has_ordinary_numbers(job)
}

/// Whether kernels/wide.cuh does: any number of eight features, ten outputs, small sums, and noise of one stream.
fn is_for_four_warps(job: &Job) -> bool {
    job.inputs % 8 == 0 && job.parameters <= MOST_OF_A_STREAM && has_ordinary_numbers(job)
}

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
            room_for: 160,
            clip: 1.0,
            granularity: 1e-6,
            ..Job::default()
        }
    }

    #[test]
    fn every_shape_has_its_kernel() {
        let most = 227 << 10;
        let name = |job: &Job, planes| Kernel::of(job, planes, most, None).map(|(kernel, _, _)| kernel.name);
        assert_eq!(name(&job(64, 10, 0), 1), Some("linear_64_bytes"));
        // Other widths, larger batches and finer grids are for a warp that keeps its sums in doubles.
        for other in [
            job(63, 10, 0),
            job(64, 11, 0),
            Job { room_for: 288, ..job(64, 10, 0) },
            Job { granularity: 1e-7, ..job(64, 10, 0) },
        ] {
            assert_eq!(name(&other, 1), Some("linear_small_bytes"));
        }
        assert_eq!(name(&job(64, 10, 0), 3), Some("linear_numbers"));
        assert_eq!(name(&job(784, 10, 0), 1), Some("linear_wide_bytes"));
        // The noise of more parameters is of more than one stream.
        assert_eq!(name(&job(3272, 10, 0), 1), Some("linear_wide_bytes"));
        for other in [job(3280, 10, 0), job(4096, 8, 0)] {
            assert_eq!(name(&other, 1), Some("linear_large_bytes"));
        }
        // Nor are norms to clip to at the ends of the range for quick quotients.
        for other in [
            job(783, 10, 0),
            job(784, 11, 0),
            Job { granularity: 1e-7, ..job(784, 10, 0) },
            Job { clip: 1e-13, granularity: 1e-20, ..job(784, 10, 0) },
        ] {
            assert_eq!(name(&other, 1), Some("linear_bytes"));
        }
        assert_eq!(name(&job(8000, 10, 0), 1), Some("linear_large_bytes"));
        assert_eq!(name(&job(8000, 10, 0), 3), Some("linear_large_numbers"));
        assert_eq!(name(&job(784, 32, 32), 1), Some("hidden_bytes"));
        assert_eq!(name(&job(784, 128, 128), 1), Some("hidden_large_bytes"));
        assert_eq!(name(&job(784, 32, 32), 3), Some("hidden_large_numbers"));
        // What fits nowhere has none: a batch whose gradients are more than a multiprocessor holds.
        assert_eq!(name(&Job { room_for: 2016, ..job(784, 128, 128) }, 1), None);
        // Every shape that a special kernel trains has a general one.
        for (inputs, special, general) in [
            (64, Family::Warp, "linear_small_bytes"),
            (64, Family::Wide, "linear_small_bytes"),
            (784, Family::Wide, "linear_bytes"),
        ] {
            let of = |only| Kernel::of(&job(inputs, 10, 0), 1, most, Some(only)).map(|found| found.0);
            assert_eq!(of(special).map(|kernel| kernel.family()), Some(special));
            assert_eq!(of(Family::Team).map(|kernel| kernel.name), Some(general));
        }
        assert!(Kernel::of(&job(784, 10, 0), 1, most, Some(Family::Warp)).is_none());
    }

    #[test]
    fn a_team_has_all_that_its_kernel_lays_out() {
        let small = Job { room_for: 288, ..job(64, 10, 0) };
        let (kernel, shared, scratch) = Kernel::of(&small, 1, 227 << 10, None).unwrap();
        // Noise of 21 groups and two more, weights, slopes; then weights and momentum in device memory.
        let parts = 23 * 34 * 4 + 48 * 64 + 3 * 10 * 304;
        assert!((parts..20_000).contains(&shared), "{shared}");
        assert!(scratch >= 4 * (2 * 640 + 650) && kernel.teams == 4);
        assert!(shared.is_multiple_of(128) && scratch.is_multiple_of(128));
        // Slopes or keystream of 48 blocks, 16 blocks more, three bytes and a float for each weight, rows; then momentum.
        let (kernel, shared, scratch) = Kernel::of(&job(64, 10, 0), 1, 227 << 10, None).unwrap();
        let parts = 3 * 10 * (160 + 16) + 4 * BLOCKS + 3 * 640 + 4 * 656 + 4 * 24 + 4 * (160 + 32) + 16;
        assert!(
            (parts..parts + 256).contains(&shared) && scratch == 4 * 32 * 21 + 16 * 16 * 21,
            "{shared} {scratch}"
        );
        // Less would be left for the records in the first cache.
        assert!(kernel.teams == 16 && kernel.shared_of_block(shared) <= 195 << 10);
    }
}
