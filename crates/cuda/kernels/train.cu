// Private trainings, each by a team of warps from its first step to its last; a persistent grid, one launch.
//
// All products and sums over records are of whole numbers, in the integer units of the tensor cores:
// - a feature is a byte (or three, of a number of 24 bits), a weight is rounded to 23 bits of the largest one, in three bytes;
// - what a record adds to the sum is its clipped gradient by the outputs, cut off to whole fine units towards zero, times its
//   features. So it is never longer than it was clipped to, it depends on the record and the weights alone, and sums are exact and
//   the same in any order.
// The sum is then rounded once to the grid of the noise. A record more or less moves it by what it is clipped to, and the rounding
// of two vectors to the grid: less than crates/train/src/private/rounding.rs allows.
#include "team.cuh"
#include "wide.cuh"

// A kernel for each shape: tiles of 16 outputs in the first layer, bytes of a feature, a second layer or none, where numbers and
// weights are kept, warps of a team, teams of a block, and blocks that should fit on a multiprocessor.
#define KERNEL(name, MT, FP, HIDDEN, LARGE, WARPS, TEAMS, BLOCKS)                                                  \
    extern "C" __global__ void __launch_bounds__(32 * WARPS * TEAMS, BLOCKS) name(const __grid_constant__ Job job, u32 shared_each) { \
        extern __shared__ __align__(128) u8 shared[];                                                              \
        const int within = TEAMS == 1 ? 0 : threadIdx.x / (32 * WARPS);                                            \
        train<MT, FP, HIDDEN, LARGE, WARPS>(job, shared + within * shared_each, blockIdx.x * TEAMS + within, gridDim.x * TEAMS); \
    }

#if defined(LINEAR_64_BYTES)
#define TEAMS 16
extern "C" __global__ void __launch_bounds__(32 * TEAMS, 1) linear_64_bytes(const __grid_constant__ Job job, u32 shared_each) {
    extern __shared__ __align__(128) u8 shared[];
    one_warp::train<TEAMS>(job, shared, shared_each);
}
#elif defined(LINEAR_WIDE_BYTES)
extern "C" __global__ void __launch_bounds__(32 * WIDE_WARPS, WIDE_TEAMS) linear_wide_bytes(const __grid_constant__ Job job, u32) {
    extern __shared__ __align__(128) u8 shared[];
    wide::train(job, shared);
}
#elif defined(LINEAR_SMALL_BYTES)
KERNEL(linear_small_bytes, 1, 1, false, false, 1, 4, 4)
#elif defined(LINEAR_BYTES)
KERNEL(linear_bytes, 1, 1, false, false, 9, 1, 2)
#elif defined(LINEAR_NUMBERS)
KERNEL(linear_numbers, 1, 3, false, false, 9, 1, 1)
#elif defined(LINEAR_LARGE_BYTES)
KERNEL(linear_large_bytes, 1, 1, false, true, 9, 1, 2)
#elif defined(LINEAR_LARGE_NUMBERS)
KERNEL(linear_large_numbers, 1, 3, false, true, 9, 1, 1)
#elif defined(HIDDEN_BYTES)
KERNEL(hidden_bytes, 2, 1, true, false, 9, 1, 1)
#elif defined(HIDDEN_LARGE_BYTES)
KERNEL(hidden_large_bytes, 8, 1, true, true, 9, 1, 1)
#elif defined(HIDDEN_LARGE_NUMBERS)
KERNEL(hidden_large_numbers, 8, 3, true, true, 9, 1, 1)
#elif defined(PROBES)

// ---- Probes, for tests.

// The noise integers of a trial at a step.
extern "C" __global__ void probe_noise(const __grid_constant__ Job job, int* out, int steps) {
    extern __shared__ __align__(128) u8 shared[];
    const Team<1> team;
    Memory m;
    m.numbers = (int*)(job.scratch + blockIdx.x * job.scratch_each);
    m.keys = (u32*)shared;
    m.doubts = m.keys + 16;
    m.drawn.words = m.doubts + MOST_DOUBTS + 2;
    const int groups = (job.parameters + 31) / 32;
    for (int at = blockIdx.x; at < job.count * steps; at += gridDim.x) {
        const int trial = at / steps, step = at % steps;
        __syncwarp();
        if (team.thread == 0) derive(m.keys, job.noise_key, job.trials[trial]);
        __syncwarp();
        draw_noise(team, job, m, m.keys, step, false, groups);
        for (int i = team.thread; i < job.parameters; i += 32) out[(size_t)at * job.parameters + i] = m.numbers[place(i)];
    }
}

// The batch of a trial at a step: its size, and then rows.
extern "C" __global__ void probe_batches(const __grid_constant__ Job job, int* out, int steps) {
    extern __shared__ __align__(128) u8 shared[];
    Drawn drawn;
    u32* keys = (u32*)shared;
    drawn.count = (int*)(keys + 8);
    drawn.crafted_count = drawn.count + 1;
    drawn.words = keys + 16;
    drawn.crafted = (int*)(drawn.words + WORDS_AT_ONCE);
    drawn.rows = (u32*)(drawn.crafted + (job.crafted_count + 3) / 4 * 4);
    drawn.offsets = drawn.rows + job.room_for + 32;
    drawn.each = 0;
    drawn.order = (u16*)(drawn.offsets + job.room_for + 32);
    const int lane = threadIdx.x, each = job.room_for + 1;
    for (int trial = blockIdx.x; trial < job.count; trial += gridDim.x) {
        __syncwarp();
        if (lane == 0) {
            derive(keys, job.batch_key, job.trials[trial]);
            begin_trial(job, trial, drawn);
        }
        __syncwarp();
        for (int step = 0; step < steps; ++step) {
            draw_batch(job, trial, keys, step, nullptr, 0, {job.guide, job.upper}, drawn, lane);
            int* to = out + ((size_t)trial * steps + step) * each;
            if (lane == 0) to[0] = *drawn.count;
            for (int i = lane; i < *drawn.count; i += 32) to[1 + i] = (int)drawn.rows[i];
            __syncwarp();
        }
    }
}

// Counts the radius words for which the quick quotient and root are 1e-5 units or more from the correctly rounded ones.
extern "C" __global__ void every_radius(u64* differing) {
    u64 found = 0;
    for (u64 word = (u64)blockIdx.x * blockDim.x + threadIdx.x; word < 1ull << 32; word += (u64)gridDim.x * blockDim.x) {
        const double middle = radius_middle((u32)word);
        found += !(fabs(radius<false>(middle).r - radius<true>(middle).r) < 1e-5);
    }
    if (found) atomicAdd(differing, found);
}

// Counts where quick inverses, roots and quotients are not as they are rounded: all digits, exponents by which they are used, and some
// norms to clip to.
extern "C" __global__ void every_float(u64* differing) {
    u64 found = 0;
    for (u32 digits = blockIdx.x * blockDim.x + threadIdx.x; digits < 1u << 23; digits += gridDim.x * blockDim.x) {
        auto at = [&](int exponent) { return __uint_as_float((u32)(127 + exponent) << 23 | digits); };
        for (int exponent = -122; exponent < 4; ++exponent) found += quick_inverse(at(exponent)) != __frcp_rn(at(exponent));
        for (int exponent = -90; exponent < 127; ++exponent) found += quick_root(at(exponent)) != __fsqrt_rn(at(exponent));
        for (int exponent = -40; exponent < 64; ++exponent) {
            const float norm = at(exponent), clips[4] = {__uint_as_float(__float_as_uint(norm) * 2654435761u & 0x7fffffu | 127u << 23), 1.f, 0.1f, 3.14159f};
            for (int i = 0; i < 4; ++i) found += quick_quotient(clips[i], norm) != __fdiv_rn(clips[i], norm);
        }
    }
    if (found) atomicAdd(differing, found);
}
#endif
