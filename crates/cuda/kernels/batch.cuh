// Batches as crates/train/src/sampling draws them, position for position, and what stands at each.
#pragma once
#include "job.cuh"

// What a team has in shared memory for its batch.
struct Drawn {
    u32* rows;       // the rows of the batch; those beyond the last are blank
    u32* offsets;    // where each begins, a blank one where the first does; or nothing
    u32 each;        // bytes of a row
    u32* words;      // 512 words of keystream
    u16* order;      // of an epoch, where batches are shuffled
    int* count;
    int* crafted;    // the numbers of crafted gradients in the batch, and how many
    int* crafted_count;
};

// No row: its other bits are those of the first.
#define BLANK 0x80000000u

__device__ __forceinline__ void fill_words(u32* words, const u32* key, u64 first, u64 nonce, int lane) {
    u32 x[16];
    chacha(x, key, first + lane, nonce);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 16; ++i) words[place(16 * lane + i)] = x[i];
    __syncwarp();
}

// The row at a position: crates/train/src/world.rs.
__device__ __forceinline__ u32 row_at(const Job& job, int trial, int position, const Drawn& drawn) {
    const int changed = job.changed[2 * trial];
    if (position == changed) return min((u32)job.changed[2 * trial + 1], BLANK);
    if (position < job.unplanted) return position;
    if (position < job.records) {
        const int at = position - job.unplanted;
        const bool is_in = job.is_in[(size_t)trial * job.planted_words + (at >> 5)] >> (at & 31) & 1;
        return is_in ? job.inside + at : job.outside >= 0 ? job.outside + at : BLANK;
    }
    const int crafted = job.crafted[(size_t)trial * job.crafted_count + position - job.records];
    if (crafted >= 0) {
        const int at = atomicAdd(drawn.crafted_count, 1);
        if (at < job.crafted_count) drawn.crafted[at] = crafted;
        else atomicAdd(job.errors, 1);
    }
    return BLANK;
}

__device__ __forceinline__ void take(const Job& job, int trial, int position, int at, const Drawn& drawn) {
    const u32 row = row_at(job, trial, position, drawn);
    if (at >= job.room_for) { atomicAdd(job.errors, 1); return; }
    drawn.rows[at] = row;
    if (drawn.offsets) drawn.offsets[at] = row == BLANK ? 0 : row * drawn.each;
}

// Gap after gap, for the few batches in which a word alone does not decide: one lane, as the room does it.
__device__ __noinline__ int draw_slowly(const Job& job, int trial, const u32* key, u64 step, const Drawn drawn, int lane) {
    int at = 512, count = 0;
    u64 block = 0;
    auto word = [&]() {
        if (at == 512) {
            fill_words(drawn.words, key, block, step, lane);
            block += 32;
            at = 0;
        }
        return drawn.words[place(at++)];
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

// One warp draws the Poisson batch of a step: 32 gaps at a time, and where they lead by a sum over lanes. The words of the first
// `ready` blocks, an even number, are there.
__device__ __forceinline__ int draw_poisson(const Job& job, int trial, const u32* key, u64 step, int ready, const Drawn& drawn, int lane) {
    int reached = 0, count = 0;   // positions that are decided, and records among them
    int rounds = ready / 2;
#pragma unroll 1
    for (u64 block = ready;; block += 32) {
#pragma unroll 1
        for (int round = 0; round < rounds; ++round) {
            const u32 high = drawn.words[place(32 * round + lane)];
            int gap = job.guide[high >> 22];
            u32 limit = gap < job.gaps ? (u32)(job.limits[gap] >> 32) : 0;
            while (gap < job.gaps && limit < high) { ++gap; limit = gap < job.gaps ? (u32)(job.limits[gap] >> 32) : 0; }
            const bool is_tie = gap < job.gaps && limit == high, ends = gap < job.gaps;
            // A gap beyond the table has no record at its end. Sums stop far beyond the last position.
            u32 upto = min(gap + (ends ? 1 : 0), job.positions + 1);
#pragma unroll
            for (int by = 1; by < 32; by *= 2) {
                const u32 before = __shfl_up_sync(WHOLE_WARP, upto, by);
                if (lane >= by) upto = min(upto + before, (u32)job.positions + 1);
            }
            const int position = reached + (int)upto - 1;
            // A tie matters if it comes before the batch is over.
            const int start = __shfl_up_sync(WHOLE_WARP, position, 1);
            const bool matters = is_tie && (lane == 0 ? reached < job.positions : start < job.positions - 1);
            if (__any_sync(WHOLE_WARP, matters)) {
                __syncwarp();
                if (lane == 0) *drawn.crafted_count = 0;
                __syncwarp();
                return draw_slowly(job, trial, key, step, drawn, lane);
            }
            const bool is_in = ends && position < job.positions;
            const u32 all = __ballot_sync(WHOLE_WARP, is_in);
            if (is_in) take(job, trial, position, count + __popc(all & ((1u << lane) - 1)), drawn);
            count += __popc(all);
            reached += __shfl_sync(WHOLE_WARP, upto, 31);
            if (reached >= job.positions) return count;
        }
        fill_words(drawn.words, key, block, step, lane);
        rounds = 16;
    }
}

// One warp shuffles an epoch: Fisher and Yates from the end, with the bits that crates/noise/src/exact/uniform.rs takes.
__device__ __forceinline__ void shuffle(const Job& job, const u32* key, u64 epoch, const Drawn& drawn, int lane) {
    for (int i = lane; i < job.positions; i += 32) drawn.order[i] = (u16)i;
    u64 block = 0, reservoir = 0;
    int left = 0, last = job.positions - 1;
    while (last >= 1) {
        fill_words(drawn.words, key, block, epoch, lane);
        block += 32;
        if (lane == 0) {
            int at = 0;
            while (last >= 1) {
                const int wide = 32 - __clz(last);
                u64 taken;
                if (wide > left) {
                    if (at >= 512) break;
                    const u64 word = (u64)drawn.words[place(at + 1)] << 32 | drawn.words[place(at)];
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

// One warp draws the batch of a step.
__device__ __forceinline__ void draw_batch(const Job& job, int trial, const u32* key, int step, int ready, const Drawn& drawn, int lane) {
    if (lane == 0) *drawn.crafted_count = 0;
    __syncwarp();
    int count = 0;
    if (job.batches == POISSON) {
        count = draw_poisson(job, trial, key, step, ready, drawn, lane);
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
    for (int at = count + lane; at < ((count + 31) & ~31); at += 32) {
        drawn.rows[at] = BLANK;
        if (drawn.offsets) drawn.offsets[at] = 0;
    }
    __syncwarp();
    if (lane == 0) {
        *drawn.count = count;
        *drawn.crafted_count = min(*drawn.crafted_count, job.crafted_count);
    }
    __syncwarp();
}
