//! What a kernel is told: the same fields in the same order as `Job` of crates/cuda/kernels/job.cuh.

/// The arguments of a kernel. Addresses are those of the device, or whatever whoever sends numbers there calls them.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs)] // They are explained where the kernels have them.
pub struct Job {
    pub rows: u64,
    pub about: u64,
    pub limits: u64,
    pub guide: u64,
    pub upper: u64,
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
    pub score_expected: u64,
    pub score_stretch: u64,
    pub score_taken: u64,
    pub score_places: u64,
    pub score_chances: u64,
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
    pub blank: i32,
    pub read_parameter_count: i32,
    pub read_direction_count: i32,
    pub probes: i32,
    pub first_probe: i32,
    pub score_copies: i32,
    pub score_kind: i32,
    pub score_from: u32,
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
    pub score_shift: f64,
    pub start: f64,
    pub start_last: f64,
    pub noise_key: [u32; 8],
    pub batch_key: [u32; 8],
    pub init_key: [u32; 8],
}

/// The most crafted gradients in one batch.
pub(crate) const MOST_CRAFTED: usize = 1024;
/// Batches of shuffled records.
pub const SHUFFLED: i32 = 2;

/// The most outputs of the first layer where there is a second.
pub(crate) const MOST_HIDDEN: usize = 128;
/// The most outputs of a network.
pub(crate) const MOST_OUTPUTS: usize = 16;

// kernels/job.cuh has the same number.
const _: () = assert!(size_of::<Job>() == 504);
