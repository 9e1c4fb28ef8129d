// Batches as crates/train/src/sampling draws them, position for position, and what stands at each.
#pragma once
#include "job.cuh"

// What a team has in shared memory for its batch.
struct Drawn {
    u32* rows;       // the rows of the batch; those beyond the last are blank
    u32* offsets;    // where each begins; or nothing
    u32 each;        // bytes of a row
    u32* words;      // of keystream: 30 blocks, by `standing`
    u16* order;      // of an epoch, where batches are shuffled
    int* count;      // of the batch, then of crafted gradients in it, then what was changed in the world: a position or -1, and a row or -1
    int* crafted;    // the numbers of crafted gradients in the batch, and how many
    int* crafted_count;
};

// The tables of gaps: those of the job, or nearer copies.
struct Gaps {
    const u16* guide;
    const u32* upper;
};

// Words of keystream stand in blocks that are this far apart, so that sixteen are written four at a time and meet no bank twice.
#define BLOCK_STRIDE 20
// Where a word is.
__device__ __forceinline__ int standing(int word) { return word + (word >> 4) * (BLOCK_STRIDE - 16); }

__device__ __forceinline__ void write_block(u32* to, const u32 (&x)[16]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) ((uint4*)to)[i] = make_uint4(x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]);
}

// Blocks that hold the words of one round of gaps, rounds that are made at once, and words of memory that these take.
#define ROUND_BLOCKS 6
#define ROUNDS_AT_ONCE 5
#define WORDS_AT_ONCE (ROUNDS_AT_ONCE * ROUND_BLOCKS * BLOCK_STRIDE)

__device__ __forceinline__ void fill_words(u32* words, const u32* key, u64 first, u64 nonce, int lane) {
    u32 x[16];
    chacha(x, key, first + lane, nonce);
    __syncwarp();
    if (lane < ROUNDS_AT_ONCE * ROUND_BLOCKS) write_block(words + BLOCK_STRIDE * lane, x);
    __syncwarp();
}

// The row at a position: crates/train/src/world.rs.
__device__ __forceinline__ u32 row_at(const Job& job, int trial, int position, const Drawn& drawn) {
    const int2 changed = *(const int2*)(drawn.count + 2);
    if (position == changed.x) return changed.y < 0 ? job.blank : changed.y;
    if (position < job.unplanted) return position;
    if (position < job.records) {
        const int at = position - job.unplanted;
        const bool is_in = job.is_in[(size_t)trial * job.planted_words + (at >> 5)] >> (at & 31) & 1;
        return is_in ? job.inside + at : job.outside >= 0 ? job.outside + at : job.blank;
    }
    const int crafted = job.crafted[(size_t)trial * job.crafted_count + position - job.records];
    if (crafted >= 0) {
        const int at = atomicAdd(drawn.crafted_count, 1);
        if (at < job.crafted_count) drawn.crafted[at] = crafted;
        else atomicAdd(job.errors, 1);
    }
    return job.blank;
}

__device__ __forceinline__ void take(const Job& job, int trial, int position, int at, const Drawn& drawn) {
    const u32 row = row_at(job, trial, position, drawn);
    if (at >= job.room_for) { atomicAdd(job.errors, 1); return; }
    drawn.rows[at] = row;
    if (drawn.offsets) drawn.offsets[at] = row * drawn.each;
}

// Gap after gap, for the few batches in which a word alone does not decide: one lane, as the room does it.
__device__ __noinline__ int draw_slowly(const Job& job, int trial, const u32* key, u64 step, const Drawn drawn, int lane) {
    constexpr int BLOCKS = ROUNDS_AT_ONCE * ROUND_BLOCKS;
    int at = 16 * BLOCKS, count = 0;
    u64 block = 0;
    auto word = [&]() {
        if (at == 16 * BLOCKS) {
            fill_words(drawn.words, key, block, step, lane);
            block += BLOCKS;
            at = 0;
        }
        return drawn.words[standing(at++)];
    };
    auto gap = [&]() {
        u64 before = 0;
        for (;;) {
            const u32 high = word();
            int gap = job.guide[high >> 22];
            while (gap < job.gaps && (u32)(job.limits[gap] >> 32) < high) ++gap;
            if (gap < job.gaps && (u32)(job.limits[gap] >> 32) == high) {
                const u64 both = (u64)high << 32 | word();
                while (gap < job.gaps && job.limits[gap] <= both) ++gap;
            }
            if (gap < job.gaps) return before + gap;
            before += gap;
        }
    };
    u64 next = gap();
    while (next < (u64)job.positions) {
        if (lane == 0) take(job, trial, (int)next, count, drawn);
        ++count;
        next += 1 + gap();
    }
    return count;
}

// One warp draws the Poisson batch of a step: 96 gaps at a time, three a lane, and where they lead by a sum over lanes. The words of
// the first `rounds` of them are at `ready`.
__device__ __forceinline__ int draw_poisson(const Job& job, int trial, const u32* key, u64 step, const u32* ready, int rounds, const Gaps& gaps, const Drawn& drawn, int lane) {
    int reached = 0, count = 0;   // positions that are decided, and records among them
    const u32* words = ready;
#pragma unroll 1
    for (u64 block = ROUND_BLOCKS * rounds;; block += ROUNDS_AT_ONCE * ROUND_BLOCKS) {
#pragma unroll 1
        for (; rounds > 0; --rounds, words += ROUND_BLOCKS * BLOCK_STRIDE) {
            int gap[3];
            u32 high[3], limit[3];
#pragma unroll
            for (int i = 0; i < 3; ++i) {
                high[i] = words[standing(3 * lane + i)];
                gap[i] = gaps.guide[high[i] >> 22];
                limit[i] = gaps.upper[gap[i]];
            }
            // All three at once: each look at the table takes its time.
            while (limit[0] < high[0] || limit[1] < high[1] || limit[2] < high[2]) {
#pragma unroll
                for (int i = 0; i < 3; ++i) {
                    gap[i] += limit[i] < high[i];
                    limit[i] = gaps.upper[gap[i]];
                }
            }
            // Distances in the low bits, records in the high ones: 96 gaps of at most 1024 leave the two apart.
            u32 own[3], sum = 0;
            bool is_tie[3], ends[3];
#pragma unroll
            for (int i = 0; i < 3; ++i) {
                // A gap beyond the table has no record at its end.
                ends[i] = gap[i] < job.gaps;
                is_tie[i] = ends[i] && limit[i] == high[i];
                sum += gap[i] + (ends[i] ? 0x01000001u : 0);
                own[i] = sum;
            }
            u32 before = sum;
#pragma unroll
            for (int by = 1; by < 32; by *= 2) {
                const u32 got = __shfl_up_sync(WHOLE_WARP, before, by);
                if (lane >= by) before += got;
            }
            const u32 total = __shfl_sync(WHOLE_WARP, before, 31);
            before -= sum;
            // A tie matters if it comes before the batch is over.
            bool matters = false;
#pragma unroll
            for (int i = 0; i < 3; ++i) matters |= is_tie[i] && reached + (int)(before + (i ? own[i - 1] : 0) & 0xffffff) < job.positions;
            if (__any_sync(WHOLE_WARP, matters)) {
                __syncwarp();
                if (lane == 0) *drawn.crafted_count = 0;
                __syncwarp();
                return draw_slowly(job, trial, key, step, drawn, lane);
            }
            int last = 0;
#pragma unroll
            for (int i = 0; i < 3; ++i) {
                const u32 upto = before + own[i];
                const int position = reached + (int)(upto & 0xffffff) - 1, at = count + (int)(upto >> 24);
                if (ends[i] && position < job.positions) {
                    take(job, trial, position, at - 1, drawn);
                    last = at;
                }
            }
            count = max(count, (int)__reduce_max_sync(WHOLE_WARP, (u32)last));
            reached += (int)(total & 0xffffff);
            if (reached >= job.positions) return count;
        }
        fill_words(drawn.words, key, block, step, lane);
        words = drawn.words;
        rounds = ROUNDS_AT_ONCE;
    }
}

// One warp shuffles an epoch: Fisher and Yates from the end, with the bits that crates/noise/src/exact/uniform.rs takes.
__device__ __forceinline__ void shuffle(const Job& job, const u32* key, u64 epoch, const Drawn& drawn, int lane) {
    for (int i = lane; i < job.positions; i += 32) drawn.order[i] = (u16)i;
    u64 block = 0, reservoir = 0;
    int left = 0, last = job.positions - 1;
    while (last >= 1) {
        fill_words(drawn.words, key, block, epoch, lane);
        block += ROUNDS_AT_ONCE * ROUND_BLOCKS;
        if (lane == 0) {
            int at = 0;
            while (last >= 1) {
                const int wide = 32 - __clz(last);
                u64 taken;
                if (wide > left) {
                    if (at >= 16 * ROUNDS_AT_ONCE * ROUND_BLOCKS) break;
                    const u64 word = (u64)drawn.words[standing(at + 1)] << 32 | drawn.words[standing(at)];
                    at += 2;
                    const int missing = wide - left;
                    taken = (reservoir & ((1ull << left) - 1)) | (word & ((1ull << missing) - 1)) << left;
                    reservoir = word >> missing;
                    left = 64 - missing;
                } else {
                    taken = reservoir & ((1ull << wide) - 1);
                    reservoir >>= wide;
                    left -= wide;
                }
                if (taken <= (u64)last) {
                    const u16 there = drawn.order[last];
                    drawn.order[last] = drawn.order[taken];
                    drawn.order[taken] = there;
                    --last;
                }
            }
        }
        last = __shfl_sync(WHOLE_WARP, last, 0);
    }
    __syncwarp();
}

// Notes what was changed in the world of a trial; one thread.
__device__ __forceinline__ void begin_trial(const Job& job, int trial, const Drawn& drawn) {
    *(int2*)(drawn.count + 2) = *(const int2*)(job.changed + 2 * trial);
}

// One warp draws the batch of a step; the words of the first `rounds` of gaps are at `ready`.
__device__ __forceinline__ void draw_batch(const Job& job, int trial, const u32* key, int step, const u32* ready, int rounds, const Gaps& gaps, const Drawn& drawn, int lane) {
    if (lane == 0) *drawn.crafted_count = 0;
    __syncwarp();
    int count = 0;
    if (job.batches == POISSON) {
        count = draw_poisson(job, trial, key, step, ready, rounds, gaps, drawn, lane);
    } else if (job.batches == EVERYTHING) {
        count = job.positions;
        for (int at = lane; at < count; at += 32) take(job, trial, at, at, drawn);
    } else {
        const int each = max((job.positions + job.batch - 1) / job.batch, 1);
        const int first = step % each * job.batch;
        if (step % each == 0) shuffle(job, key, step / each, drawn, lane);
        count = min(job.batch, job.positions - first);
        for (int at = lane; at < count; at += 32) take(job, trial, drawn.order[first + at], at, drawn);
    }
    count = min(count, job.room_for);
    // By 32, and never none: whatever is loaded ahead is a row.
    for (int at = count + lane; at < max(count + 31 & ~31, 32); at += 32) {
        drawn.rows[at] = job.blank;
        if (drawn.offsets) drawn.offsets[at] = job.blank * drawn.each;
    }
    __syncwarp();
    if (lane == 0) {
        *drawn.count = count;
        *drawn.crafted_count = min(*drawn.crafted_count, job.crafted_count);
    }
    __syncwarp();
}
