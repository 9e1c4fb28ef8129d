// A training by four warps: features of a byte, eight or a multiple of them, and up to ten outputs. Five such teams share a
// multiprocessor, so that others work where one waits. Weights stay in device memory, near enough to be there when they are needed;
// shared memory has their bytes on the way forward, and what a batch adds to them afterwards.
//
// A step is four stages with a meeting after each: forward by sixteen records; back by 32 features; noise and the optimiser's step by
// 512 parameters, whose keystream never leaves the warp that takes them; and weights to bytes, once the largest is known. The warp that
// has the fewest parameters draws the next batch meanwhile.
#pragma once
#include "warp.cuh"

#define WIDE_WARPS 4
#define WIDE_TEAMS 5             // of a multiprocessor
#define MOST_NOTES 512           // of a warp: those of two chunks

namespace wide {

using one_warp::Noise;
using one_warp::Step;
using one_warp::Tile;

struct Memory {
    float* weights;        // of parameter after parameter, biases last; in device memory, with room to the end of a group of 512
    int* sums;             // what a batch adds, in steps of the grid; then noisy sums; with as much room
    u32* bytes;            // for each 64 features three planes of ten rows, as one_warp has them; lie where sums do
    u32* words;            // keystream, 32 blocks a warp; lies where slopes do
    signed char* slopes;
    int slope_stride;
    int* bias_sums;
    float* largest;        // of each warp
    u32* keys;             // noise, batch, init
    Drawn drawn;
    float* velocity;       // in device memory
    uint4* notes;          // of pairs in doubt, `MOST_NOTES` a warp; in device memory
};

// Parts of the memory, one after another; the host adds up the same lengths (src/kernel.rs).
__device__ __forceinline__ void lay_out(Memory& m, const Job& job, u8* shared, u8* scratch) {
    auto next = [&](size_t bytes) { u8* at = shared; shared += (bytes + 15) & ~(size_t)15; return at; };
    const int held = (job.parameters + 511) / 512 * 512;
    m.sums = (int*)next(max(4 * held, 30 * job.width));
    m.bytes = (u32*)m.sums;
    m.slope_stride = job.room_for + 16;
    u8* first = next(max(4 * WIDE_WARPS * 32 * BLOCK_STRIDE, 3 * SLOPE_ROWS * m.slope_stride));
    m.words = (u32*)first;
    m.slopes = (signed char*)first;
    m.bias_sums = (int*)next(4 * 16);
    m.largest = (float*)next(4 * WIDE_WARPS);
    m.keys = (u32*)next(4 * 24);
    m.drawn.rows = (u32*)next(4 * (job.room_for + 32));
    m.drawn.offsets = nullptr;
    m.drawn.each = 0;
    m.drawn.words = m.words + (WIDE_WARPS - 1) * 32 * BLOCK_STRIDE;
    m.drawn.count = (int*)next(16);
    m.drawn.crafted_count = m.drawn.count + 1;
    m.drawn.crafted = (int*)next(4 * job.crafted_count);
    m.drawn.order = (u16*)next(job.batches == SHUFFLED ? 2 * job.positions : 0);
    m.weights = (float*)scratch;
    m.velocity = m.weights + held;
    m.notes = (uint4*)(m.velocity + held);
}

// ---- The way forward.

// The outputs of sixteen records, of which a lane has parts of two: crates/cuda/kernels/warp.cuh for any number of features.
__device__ __forceinline__ Tile outputs(const Job& job, const u32* bytes, u64 first, u64 second, float per_weight, const float (&biases)[3], int row, int quad) {
    const u32* low_from = bytes + 16 * row + 4 * (quad ^ (row >> 1));
    const u32* high_from = bytes + 16 * (8 + (row >> 1 & 1)) + 4 * quad;
    int c[3][4], d[3][4];
#pragma unroll
    for (int plane = 0; plane < 3; ++plane)
#pragma unroll
        for (int k = 0; k < 4; ++k) c[plane][k] = d[plane][k] = 0;
    const u32 nought = (u32)job.count >> 31;
    // The next 128 features are on their way while others are worked on; of the last, more than once.
    auto ahead = [&](int at) { return (u32)min(at, job.width - 64); };
    auto products = [&](const uint4& f, const uint4& s) {
        const u32 x[8] = {f.x ^ nought, s.x ^ nought, f.y ^ nought, s.y ^ nought, f.z ^ nought, s.z ^ nought, f.w ^ nought, s.w ^ nought};
#pragma unroll
        for (int plane = 0; plane < 3; ++plane) {
            const uint4 w = *(const uint4*)(low_from + 160 * plane), v = *(const uint4*)(high_from + 160 * plane);
            product_of_records(c[plane], x[0], x[1], x[2], x[3], w.x, w.y);
            product_of_records(d[plane], x[0], x[1], x[2], x[3], v.x, v.y);
            product_of_records(c[plane], x[4], x[5], x[6], x[7], w.z, w.w);
            product_of_records(d[plane], x[4], x[5], x[6], x[7], v.z, v.w);
        }
        low_from += 480;
        high_from += 480;
    };
    uint4 f[3], s[3];
    auto load = [&](int place, int at) {
        f[place] = sixteen_at(first + ahead(at));
        s[place] = sixteen_at(second + ahead(at));
    };
    load(0, 0);
    load(1, 64);
#pragma unroll 1
    for (int at = 0; at < job.width; at += 192) {
#pragma unroll
        for (int place = 0; place < 3; ++place) {
            if (place > 0 && at + 64 * place >= job.width) break;
            load((place + 2) % 3, at + 64 * place + 128);
            products(f[place], s[place]);
        }
    }
    auto sum = [](int low, int middle, int high) { return fmaf(fmaf((float)high, 256.f, (float)middle), 256.f, (float)low); };
    const int own = quad < 2 ? 0 : 2;
    Tile z;
    z.a[0] = fmaf(sum(c[0][0], c[1][0], c[2][0]), per_weight, biases[0]);
    z.a[1] = fmaf(sum(c[0][1], c[1][1], c[2][1]), per_weight, biases[1]);
    z.b[0] = fmaf(sum(c[0][2], c[1][2], c[2][2]), per_weight, biases[0]);
    z.b[1] = fmaf(sum(c[0][3], c[1][3], c[2][3]), per_weight, biases[1]);
    z.high = own ? fmaf(sum(d[0][2], d[1][2], d[2][2]), per_weight, biases[2]) : fmaf(sum(d[0][0], d[1][0], d[2][0]), per_weight, biases[2]);
    return z;
}

// The biases of the outputs that a lane has.
__device__ __forceinline__ void of_quarter(const Job& job, const float* weights, int quad, float (&biases)[3]) {
    const float* from = weights + job.outputs * job.inputs;
    auto bias = [&](int output) { return output < job.outputs ? from[output] : LOST; };
    biases[0] = bias(one_warp::first_output(quad));
    biases[1] = bias(one_warp::first_output(quad) + 4);
    biases[2] = bias(8 + (quad & 1));
}

__device__ __forceinline__ void forward(const Job& job, const Memory& m, float per_weight, int count, int warp, int lane) {
    const int row = lane >> 2, quad = lane & 3;
    float biases[3];
    of_quarter(job, m.weights, quad, biases);
    int sums[3] = {0, 0, 0};
    const one_warp::Places here = one_warp::places(m.slopes, m.slope_stride, lane);
#pragma unroll 1
    for (int first = 16 * warp; first < count; first += 16 * WIDE_WARPS) {
        const uint2 rows = *(const uint2*)(m.drawn.rows + first + 2 * row);
        const u8* from = job.rows + 16 * quad;
        Tile g = outputs(job, m.bytes, of_row(from, rows.x, job.width), of_row(from, rows.y, job.width), per_weight, biases, row, quad);
        one_warp::lay_slopes(job, here, g, rows, first, quad, sums);
    }
#pragma unroll
    for (int k = 0; k < 3; ++k)
#pragma unroll
        for (int by = 4; by < 32; by *= 2) sums[k] += __shfl_xor_sync(WHOLE_WARP, sums[k], by);
    if (row == 0) {
        const int low = one_warp::first_output(quad), high = 8 + (quad & 1);
        if (low < job.outputs && sums[0] != 0) atomicAdd(m.bias_sums + low, sums[0]);
        if (low + 4 < job.outputs && sums[1] != 0) atomicAdd(m.bias_sums + low + 4, sums[1]);
        if (high < job.outputs && sums[2] != 0) atomicAdd(m.bias_sums + high, sums[2]);
    }
}

// ---- The way back.

// What a batch adds to the weights of 32 features, in steps of the grid.
// What is loaded ahead: four features of the first 32 records, for the first 32 features of a warp and then for the next.
struct Ahead {
    const u8* from;
    u32 four[8];
    __device__ __forceinline__ void load(const Job& job, const Memory& m, const u8* at, int first, int quad) {
        const uint4 near = *(const uint4*)(m.drawn.rows + first + 4 * quad), far = *(const uint4*)(m.drawn.rows + first + 16 + 4 * quad);
        const u32 rows[8] = {near.x, near.y, near.z, near.w, far.x, far.y, far.z, far.w};
#pragma unroll
        for (int i = 0; i < 8; ++i) four[i] = four_at(of_row(at, rows[i], job.width));
    }
};

// What a batch adds to the weights of 32 features, in steps of the grid.
__device__ __forceinline__ void back(const Job& job, const Memory& m, Ahead& ahead, int group, int count, int lane) {
    const int row = lane >> 2, quad = lane & 3;
    int c[4][3][4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int w = 0; w < 3; ++w)
#pragma unroll
            for (int k = 0; k < 4; ++k) c[j][w][k] = 0;
    const int plane = SLOPE_ROWS * m.slope_stride;
    const signed char* low = m.slopes + row * m.slope_stride + 4 * quad;
    const signed char* high = m.slopes + (8 + (row & 1)) * m.slope_stride + 4 * quad;
    // Of the last, once too often.
    const u8* after = 32 * (group + WIDE_WARPS) < job.inputs ? ahead.from + 32 * WIDE_WARPS : ahead.from;
#pragma unroll 1
    for (int first = 0; first < count; first += 32) {
        u32 turned[2][4];
        turn(ahead.four[0], ahead.four[1], ahead.four[2], ahead.four[3], turned[0]);
        turn(ahead.four[4], ahead.four[5], ahead.four[6], ahead.four[7], turned[1]);
        const bool is_last = first + 32 >= count;
        if (is_last) ahead.from = after;
        ahead.load(job, m, ahead.from, is_last ? 0 : first + 32, quad);
#pragma unroll
        for (int w = 0; w < 3; ++w) {
            const signed char *a = low + w * plane + first, *b = high + w * plane + first;
            const u32 a0 = *(const u32*)a, a1 = *(const u32*)b, a2 = *(const u32*)(a + 16), a3 = *(const u32*)(b + 16);
#pragma unroll
            for (int j = 0; j < 4; ++j) product(c[j][w], a0, a1, a2, a3, turned[0][j], turned[1][j]);
        }
    }
    const int feature = 32 * group + 8 * quad;
    if (feature >= job.inputs) return;
    if (row < job.outputs) {
        int4* to = (int4*)(m.sums + row * job.inputs + feature);
#pragma unroll
        for (int k = 0; k < 2; ++k)
            to[k] = make_int4(one_warp::in_steps(job, c[0][0][k], c[0][1][k], c[0][2][k]), one_warp::in_steps(job, c[1][0][k], c[1][1][k], c[1][2][k]),
                              one_warp::in_steps(job, c[2][0][k], c[2][1][k], c[2][2][k]), one_warp::in_steps(job, c[3][0][k], c[3][1][k], c[3][2][k]));
    }
    // All rows have the same two outputs beyond the eighth: each takes one tile of one of them.
    const int output = 8 + (row & 1);
    const bool later = row & 4, odd = row & 2;
    if (output < job.outputs) {
#pragma unroll
        for (int k = 2; k < 4; ++k) {
            int own[3];
#pragma unroll
            for (int w = 0; w < 3; ++w) own[w] = later ? (odd ? c[3][w][k] : c[2][w][k]) : (odd ? c[1][w][k] : c[0][w][k]);
            m.sums[output * job.inputs + feature + 4 * (k - 2) + (row >> 1)] = one_warp::in_steps(job, own[0], own[1], own[2]);
        }
    }
}

// ---- Noise and the step.

// Keystream of 512 parameters' noise, or of their initial values; lanes past the last make words for the next batch. Returns for how
// many rounds of gaps.
__device__ __forceinline__ int draw_words(const Job& job, const Memory& m, u32* words, int chunk, int step, int blocks, int lane) {
    const int block = 32 * chunk + lane;
    const bool initial = step < 0, for_batch = block >= blocks;
    u32 x[16];
    chacha(x, m.keys + (for_batch ? 8 : initial ? 16 : 0), for_batch ? block - blocks : block, for_batch ? step + 1 : initial ? 0 : (u64)step << 20);
    __syncwarp();
    write_block(words + BLOCK_STRIDE * lane, x);
    __syncwarp();
    return min((32 * (chunk + 1) - blocks) / ROUND_BLOCKS, ROUNDS_AT_ONCE);
}

// One parameter after its step, from whole steps of the grid; `sum` is where its noisy sum may be kept. Unless it `counts`, nothing is
// written.
template <bool PLAIN>
__device__ __forceinline__ float moved(const Job& job, const Step& step, bool counts, float w, int steps, int* sum, float* velocity) {
    const float noisy = __double2float_rn(mul(job.granularity, __int2double_rn(steps)));
    if (step.keeps_sums && counts) *sum = __float_as_int(noisy);
    if (PLAIN) return __fsub_rn(w, __fmul_rn(step.scaled, noisy));
    return counts ? stepped(job, w, noisy, step.rate, velocity) : w;
}

// The pairs that were noted take their step, eight at a time; returns the largest weight of the lane.
__device__ __noinline__ float settle(const Job& job, float* weights, int* sums, float* velocity, const uint4* notes, const u32* key, int number_of_step, int count) {
    const int lane = threadIdx.x & 31, weight_count = job.outputs * job.inputs;
    const Noise noise = {key, (u64)number_of_step << 20, number_of_step};
    const Step step = one_warp::of_number(job, number_of_step);
    float most = 0.f;
    __syncwarp();
#pragma unroll 1
    for (int first = 0; first < count; first += 8) {
        const int number = first + (lane >> 2);
        const uint4 note = notes[min(number, count - 1)];
        const uint4 more = one_warp::continuation(noise, note.x, lane);
        if (number < count && (lane & 3) == 0) {
            const int2 found = continued_pair(note.y, note.z, more);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int parameter = note.x + 16 * half;
                const float w = moved<false>(job, step, true, weights[parameter], sums[parameter] + (half ? found.y : found.x), sums + parameter, velocity + parameter);
                weights[parameter] = w;
                if (parameter < weight_count) most = fmaxf(most, fabsf(w));
            }
        }
        __syncwarp();
    }
    return most;
}

// The parameters of a chunk take their step, but for those that are noted; returns the largest weight. Places past the last parameter are
// there, and mean nothing.
template <bool PLAIN>
__device__ __forceinline__ float update(const Job& job, const Memory& m, const Step& step, uint4* notes, int chunk, int& count, int lane) {
    float most = 0.f;
#pragma unroll 1
    for (int first = 0; first < 16; first += 4) {
        if (512 * chunk + 32 * first >= job.parameters) break;
        // Two pairs of a lane at once, since one alone is a long chain of which each link waits for the last.
        const int group = first + (lane >> 4), at = lane & 15, parameter = 512 * chunk + 32 * group + at;
        const u32* from = m.words + BLOCK_STRIDE * (32 * (threadIdx.x >> 5) + 2 * group) + at;
        const u32 radii[2] = {from[0], from[4 * BLOCK_STRIDE]}, angles[2] = {from[BLOCK_STRIDE], from[5 * BLOCK_STRIDE]};
        int* sums = m.sums + parameter;
        float* weights_from = m.weights + parameter;
        float* velocity = m.velocity + parameter;
        const int left = job.outputs * job.inputs - parameter;
        auto off = [](int i) { return 64 * (i >> 1) + 16 * (i & 1); };
        // Weights are on their way while noise is made.
        float w[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) w[i] = weights_from[off(i)];
        int integers[4];
        bool in_doubt[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) in_doubt[i] = pair(radii[i], angles[i], integers[2 * i], integers[2 * i + 1]);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const bool counts = !in_doubt[i >> 1];
            const float after = moved<PLAIN>(job, step, counts, w[i], sums[off(i)] + integers[i], sums + off(i), velocity + off(i));
            // What does not count is written as it was: cheaper than a branch.
            weights_from[off(i)] = counts ? after : w[i];
            most = counts && off(i) < left ? fmaxf(most, fabsf(after)) : most;
        }
        if (__any_sync(WHOLE_WARP, in_doubt[0] || in_doubt[1])) {
#pragma unroll
            for (int i = 0; i < 2; ++i)
                count = one_warp::noted(notes, count, __ballot_sync(WHOLE_WARP, in_doubt[i]), make_uint4(parameter + 64 * i, radii[i], angles[i], 0), lane);
        }
    }
    return most;
}

// First values of a chunk's parameters; returns the largest weight.
__device__ __noinline__ float begin(const Job& job, float* weights, float* velocity, const u32* words, const Noise noise, int chunk, int lane) {
    float most = 0.f;
    for (int i = lane; i < 256; i += 32) {
        const int group = i >> 4, at = i & 15;
        const u32* from = words + 2 * BLOCK_STRIDE * group + at;
        int drawn[2] = {0, 0};
        if (!job.initial) one_warp::drawn_pair(noise, true, 16 * chunk + group, at, from[0], from[BLOCK_STRIDE], drawn[0], drawn[1]);
        for (int half = 0; half < 2; ++half) {
            const int here = 512 * chunk + 32 * group + at + 16 * half;
            if (here >= job.parameters) continue;
            const bool is_bias = here >= job.outputs * job.inputs;
            const float w = job.initial ? job.initial[here] : is_bias ? 0.f : __fmul_rn(job.initial_scale, __double2float_rn(mul(job.start, __int2double_rn(drawn[half]))));
            weights[here] = w;
            if (job.momentum != 0.f) velocity[here] = 0.f;
            if (!is_bias) most = fmaxf(most, fabsf(w));
        }
    }
    return most;
}

// Weights in three bytes each; returns what one of their units is worth in outputs.
__device__ __forceinline__ float round_weights(const Job& job, const Memory& m) {
    float most = m.largest[0];
#pragma unroll
    for (int i = 1; i < WIDE_WARPS; ++i) most = fmaxf(most, m.largest[i]);
    // All weights are below 2^exponent. Those that are no numbers any more are anything.
    const int exponent = max((int)(__float_as_uint(most) >> 23) - 126, -100);
    const float up = __int_as_float((127 + 22 - exponent) << 23);
    const u32 quarter = job.inputs / 4, inverse = 0xffffffffu / quarter + 1;
    const u32 all = job.outputs * quarter;
    auto four_weights = [&](u32 at) { return ((const float4*)m.weights)[min(at, all - 1)]; };
    float4 next = four_weights(threadIdx.x), later = four_weights(threadIdx.x + 32 * WIDE_WARPS);
#pragma unroll 1
    for (u32 at = threadIdx.x; at < all; at += 32 * WIDE_WARPS) {
        const float4 w = next;
        next = later;
        later = four_weights(at + 64 * WIDE_WARPS);
        auto rounded = [&](float w) { return one_warp::bytes_of(__float2int_rn(w * up)); };
        const u32 a = rounded(w.x), b = rounded(w.y), c = rounded(w.z), d = rounded(w.w);
        const u32 ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140), ab2 = __byte_perm(a, b, 0x0062), cd2 = __byte_perm(c, d, 0x0062);
        // Four features of an output: of 64 a piece of sixteen, and where in it.
        const u32 output = __umulhi(at, inverse), four = at - output * quarter;
        const u32 slot = output < 8 ? one_warp::row_of(output) : output, piece = (four >> 2 & 3) ^ (output < 8 ? slot >> 1 : 0);
        u32* to = m.bytes + 480 * (four >> 4) + 16 * slot + 4 * piece + (four & 3);
        to[0] = __byte_perm(ab, cd, 0x5410);
        to[160] = __byte_perm(ab, cd, 0x7632);
        to[320] = __byte_perm(ab2, cd2, 0x5410);
    }
    return job.unit * __int_as_float((127 - 22 + exponent) << 23);
}

// ---- What is read.

__device__ __noinline__ void read_sums(const Job& job, const int* sums, u8* scratch, float* out, int step) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float* said = said_to(job, scratch, out, step);
    for (int at = threadIdx.x; at < job.read_parameter_count; at += 32 * WIDE_WARPS) said[at] = __int_as_float(sums[job.read_parameters[at]]);
    for (int direction = warp; direction < job.read_direction_count; direction += WIDE_WARPS) {
        const float* along = job.read_directions + (size_t)direction * job.parameters;
        double sum = 0;
        for (int at = lane; at < job.parameters; at += 32) sum = fma((double)along[at], (double)__int_as_float(sums[at]), sum);
#pragma unroll
        for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(WHOLE_WARP, sum, by);
        if (lane == 0) said[job.read_parameter_count + direction] = (float)sum;
    }
    __syncthreads();
    if (scores_now(job, step)) {
        score_steps(job, heard_of(job, scratch), tallies_of(job, scratch), out, step / HEARD * HEARD, step, threadIdx.x, 32 * WIDE_WARPS);
        __syncthreads();
    }
}

__device__ __noinline__ void read_outputs(const Job& job, const u32* bytes, const float* weights, float per_weight, float* out) {
    const int lane = threadIdx.x & 31, row = lane >> 2, quad = lane & 3, last = job.probes - 1;
    float biases[3];
    of_quarter(job, weights, quad, biases);
    const u8* from = job.rows + (u64)job.first_probe * job.width + 16 * quad;
    for (int first = 16 * (threadIdx.x >> 5); first < job.probes; first += 16 * WIDE_WARPS) {
        const int a = first + 2 * row, b = a + 1;
        const Tile z = outputs(job, bytes, of_row(from, min(a, last), job.width), of_row(from, min(b, last), job.width), per_weight, biases, row, quad);
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            const int output = one_warp::first_output(quad) + 4 * k;
            if (output < job.outputs && a <= last) out[a * job.outputs + output] = z.a[k];
            if (output < job.outputs && b <= last) out[b * job.outputs + output] = z.b[k];
        }
        const int output = 8 + (quad & 1), own = quad < 2 ? a : b;
        if (output < job.outputs && own <= last) out[own * job.outputs + output] = z.high;
    }
}

// ---- A training.

// All warps take their chunks of parameters, and the last draws the batch of the next step; returns the largest weight of the warp.
__device__ __forceinline__ float take_step(const Job& job, const Memory& m, int at, int step, int warp, int lane) {
    const bool initial = step < 0;
    const int blocks = (job.parameters + 31) / 32 * 2, chunks = (blocks + 31) / 32;
    const Noise noise = {m.keys + (initial ? 16 : 0), initial ? 0 : (u64)step << 20, step};
    const Step how = one_warp::of_number(job, max(step, 0));
    u32* words = m.words + 32 * BLOCK_STRIDE * warp;
    const bool is_plain = job.momentum == 0.f && job.decay == 0.f;
    float most = 0.f;
    uint4* notes = m.notes + MOST_NOTES * warp;
    int count = 0;
    auto settle_all = [&]() {
        most = fmaxf(most, settle(job, m.weights, m.sums, m.velocity, notes, noise.key, step, count));
        count = 0;
    };
    // The last chunk, which may be short, is the last warp's.
#pragma unroll 1
    for (int chunk = chunks - WIDE_WARPS + warp; ; chunk -= WIDE_WARPS) {
        if (chunk < 0) break;
        if (count > MOST_NOTES - 256) settle_all();
        const int made = draw_words(job, m, words, chunk, step, blocks, lane);
        const float largest = initial ? begin(job, m.weights, m.velocity, words, noise, chunk, lane)
                            : is_plain ? update<true>(job, m, how, notes, chunk, count, lane)
                                       : update<false>(job, m, how, notes, chunk, count, lane);
        most = fmaxf(most, largest);
        if (chunk == chunks - 1 && step + 1 < job.steps) {
            draw_batch(job, at, m.keys + 8, step + 1, words + BLOCK_STRIDE * (blocks - 32 * chunk), max(made, 0), {job.guide, job.upper}, m.drawn, lane);
        }
    }
    if (count) settle_all();
    return __uint_as_float(__reduce_max_sync(WHOLE_WARP, __float_as_uint(most)));
}

__device__ __forceinline__ void train(const Job& job, u8* shared) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Memory m;
    lay_out(m, job, shared, job.scratch + (u64)blockIdx.x * job.scratch_each);
    for (int at = blockIdx.x; at < job.count; at += gridDim.x) {
        __syncthreads();
        if (threadIdx.x == 0) begin_trial(job, at, m.drawn);
        if (threadIdx.x < 3) derive(m.keys + 8 * threadIdx.x, threadIdx.x == 0 ? job.noise_key : threadIdx.x == 1 ? job.batch_key : job.init_key, job.trials[at]);
        __syncthreads();
        float per_weight = 0.f;
#pragma unroll 1
        for (int step = -1; step < job.steps; ++step) {
            if (step >= 0) {
                // The next batch is drawn while slow warps are still in this step: its numbers are looked at before.
                const int count = *m.drawn.count, crafted_count = *m.drawn.crafted_count, padded = count + 31 & ~31;
                forward(job, m, per_weight, count, warp, lane);
                // The way back goes by 32 records.
                if (count + 15 >> 4 & 1)
                    for (int i = threadIdx.x; i < 3 * SLOPE_ROWS; i += 32 * WIDE_WARPS) *(uint4*)(m.slopes + i * m.slope_stride + padded - 16) = make_uint4(0, 0, 0, 0);
                __syncthreads();
                // Column n of tile j is feature 4 n + j: a lane has eight features side by side.
                Ahead ahead = {opaque(job.rows + 32 * warp + (lane & ~3), (u32)job.count >> 31)};
                if (32 * warp < job.inputs) ahead.load(job, m, ahead.from, 0, lane & 3);
#pragma unroll 1
                for (int group = warp; 32 * group < job.inputs; group += WIDE_WARPS) back(job, m, ahead, group, padded, lane);
                if (threadIdx.x < job.outputs) m.sums[job.outputs * job.inputs + threadIdx.x] = nearest(mul(__int2double_rn(m.bias_sums[threadIdx.x]), job.fine_bias_steps));
                __syncthreads();
                if (crafted_count > 0) {
                    // Whole numbers of steps.
                    for (int i = warp; i < crafted_count; i += WIDE_WARPS) {
                        const int crafted = m.drawn.crafted[i];
                        for (int entry = job.crafted_starts[crafted] + lane; entry < job.crafted_starts[crafted + 1]; entry += 32) {
                            const uint2 e = job.crafted_entries[entry];
                            atomicAdd(m.sums + e.x, (int)e.y);
                        }
                    }
                    __syncthreads();
                }
            }
            if (threadIdx.x < 16) m.bias_sums[threadIdx.x] = 0;
            const float most = take_step(job, m, at, step, warp, lane);
            if (lane == 0) m.largest[warp] = most;
            __syncthreads();
            if (step >= 0 && (job.read == SUMS || job.read == SCORES)) read_sums(job, m.sums, (u8*)m.weights, job.out + (u64)at * job.out_each, step);
            per_weight = round_weights(job, m);
            __syncthreads();
        }
        float* out = job.out + (u64)at * job.out_each;
        if (job.read == OUTPUTS) read_outputs(job, m.bytes, m.weights, per_weight, out);
        if (job.read == PARAMETERS)
            for (int i = threadIdx.x; i < job.parameters; i += 32 * WIDE_WARPS) out[i] = m.weights[i];
    }
}

}  // namespace wide
