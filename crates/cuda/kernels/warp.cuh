// A training by one warp: 64 features of a byte, up to ten outputs, batches of up to 256 records.
//
// A lane is a row (lane / 4) and a quarter (lane % 4). Of each 32 features it owns, for the output of its
// row, features 4 quarter + j and 16 more for j < 4: the two that one pair of the noise crate belongs to. Outputs 8 and 9 are spread
// over the rows: row r owns output 8 + r % 2 at j = r / 2. So a sum meets its noise, and a weight its sum, without leaving the lane.
#pragma once
#include "score.cuh"

#define MOST_OF_A_WARP 256       // records: with more, two bytes of a sum leave 31 bits
#define LOW_BLOCKS 32            // of keystream for the first 512 parameters
#define HIGH_BLOCKS 10           // and for the others
#define SLOPE_ROWS 10            // of which those beyond the last output are nothing
#define LOST __int_as_float(0xff800000)   // the bias of an output that there is not: it loses against all others

namespace one_warp {

struct Memory {
    u32* words;            // keystream of the first 512 parameters' noise, or noisy sums; lies where slopes do
    // 16 blocks more for an odd step: that of the other parameters, and of a round of gaps. Then the same of the step after it:
    u32* of_even;
    signed char* slopes;   // three planes of `SLOPE_ROWS`
    int slope_stride;
    u32* weights;          // three planes of ten rows of 64 bytes, four pieces of 16 each, turned by half the row's number
    u32* keys;             // noise, batch, init
    Drawn drawn;
    float* owned;          // twenty weights of each lane: for each j, and then for the high output, two of each 32 features; then biases
    float* velocity;       // the same, in device memory
    uint4* notes;          // of pairs in doubt, in device memory; one for every pair
};

// Where a lane's weight is: number k of its places, of which 32 features, and which half of those.
__device__ __forceinline__ int owned_at(int k, int group, int half, int lane) { return 32 * (4 * k + 2 * group + half) + lane; }
#define OWNED_BIASES 640

// Parts of the memory, one after another; the host adds up the same lengths (src/kernel.rs).
__device__ __forceinline__ void lay_out(Memory& m, const Job& job, u8* shared, u8* scratch) {
    auto next = [&](size_t bytes) { u8* at = shared; shared += (bytes + 15) & ~(size_t)15; return at; };
    m.slope_stride = job.room_for + 16;
    u8* first = next(max(4 * (LOW_BLOCKS + 16) * BLOCK_STRIDE, 3 * SLOPE_ROWS * m.slope_stride));
    m.words = (u32*)first;
    m.slopes = (signed char*)first;
    m.of_even = (u32*)next(4 * 16 * BLOCK_STRIDE);
    // A batch is drawn when nothing else is needed there.
    m.drawn.words = m.words;
    m.weights = (u32*)next(3 * 640);
    m.owned = (float*)next(4 * (OWNED_BIASES + 16));
    m.keys = (u32*)next(4 * 24);
    m.drawn.rows = (u32*)next(4 * (job.room_for + 32));
    m.drawn.offsets = nullptr;
    m.drawn.each = 64;
    m.drawn.count = (int*)next(16);
    m.drawn.crafted_count = m.drawn.count + 1;
    m.drawn.crafted = (int*)next(4 * job.crafted_count);
    m.drawn.order = (u16*)next(job.batches == SHUFFLED ? 2 * job.positions : 0);
    m.velocity = (float*)scratch;
    m.notes = (uint4*)(m.velocity + 32 * 21);
}

// The tables of gaps, for all warps of a block.
struct Tables {
    u16 guide[1024];
    u32 upper[1025];
};

// A whole number as a double: by a unit of its own, which is slow and otherwise idle here.
__device__ __forceinline__ double converted(int x) { return __int2double_rn(x); }

// What was made of a step together with the one after it or before.
__device__ __forceinline__ u32* of_step(const Memory& m, int step) { return step & 1 ? m.words + LOW_BLOCKS * BLOCK_STRIDE : m.of_even; }

// The radii and angles of 32 parameters, or their sums.
__device__ __forceinline__ u32* group_at(const Memory& m, int step, int group) {
    return group < LOW_BLOCKS / 2 ? m.words + 2 * BLOCK_STRIDE * group : of_step(m, step) + 2 * BLOCK_STRIDE * (group - LOW_BLOCKS / 2);
}
// Where a parameter's word or sum is.
__device__ __forceinline__ u32* word_at(const Memory& m, int step, int parameter) {
    return group_at(m, step, parameter >> 5) + standing(parameter & 31);
}

// ---- The way forward.

// A quarter has two of the first eight outputs, four apart, so that sums over outputs are added up in the order of kernels/team.cuh.
__device__ __forceinline__ int first_output(int quad) { return 2 * (quad & 1) + (quad >> 1); }
// Which quarter has an output, and at which row its weights are: those of a quarter side by side.
__device__ __forceinline__ int quarter_of(int output) { return 2 * (output & 1) + (output >> 1 & 1); }
__device__ __forceinline__ int row_of(int output) { return 2 * quarter_of(output) + (output >> 2); }

// Bytes of a whole number of at most 2^22, as `digits` has them, in one word.
__device__ __forceinline__ u32 bytes_of(int x) { return (u32)(x + 0x8080) ^ 0x8080u; }

// A lane's part of two records of sixteen: sixteen features of each.
struct Two {
    uint4 p, q;
};

// Records `first` + 2 row and one more of a batch.
__device__ __forceinline__ Two two_at(const Job& job, const Memory& m, int first, int row, int quad) {
    const uint2 rows = *(const uint2*)(m.drawn.rows + first + 2 * row);
    const u8* from = job.rows + 16 * quad;
    return {sixteen_at(of_row(from, rows.x, 64)), sixteen_at(of_row(from, rows.y, 64))};
}

// For two records: two of the first eight outputs for both, and output 8 + quarter % 2 for one of them.
struct Tile {
    float a[2], b[2], high;
};

// The outputs of sixteen records: rows of the tile are records `row` and `row` + 8 of it, which follow each other in the batch.
__device__ __forceinline__ Tile outputs(const Memory& m, const uint4& p, const uint4& q, float per_weight, const float (&biases)[3], u32 nought, int row, int quad) {
    // As a product takes them, side by side: with a nought that the compiler does not know of, or it copies them for every product.
    const u32 x[8] = {p.x ^ nought, q.x ^ nought, p.y ^ nought, q.y ^ nought, p.z ^ nought, q.z ^ nought, p.w ^ nought, q.w ^ nought};
    const int high = 8 + (row >> 1 & 1);
    const u32* low_from = m.weights + 16 * row + 4 * (quad ^ (row >> 1));
    const u32* high_from = m.weights + 16 * high + 4 * quad;
    float low_sums[4], high_sums[2];
#pragma unroll
    for (int plane = 2; plane >= 0; --plane) {
        const uint4 w = *(const uint4*)(low_from + 160 * plane), v = *(const uint4*)(high_from + 160 * plane);
        int c[4], d[4];
        first_product_of_records(c, x[0], x[1], x[2], x[3], w.x, w.y);
        first_product_of_records(d, x[0], x[1], x[2], x[3], v.x, v.y);
        product_of_records(c, x[4], x[5], x[6], x[7], w.z, w.w);
        product_of_records(d, x[4], x[5], x[6], x[7], v.z, v.w);
#pragma unroll
        for (int k = 0; k < 4; ++k) low_sums[k] = plane == 2 ? (float)c[k] : fmaf(low_sums[k], 256.f, (float)c[k]);
        // Columns of the high outputs are there twice: the second two quarters take the second record.
        const int own = quad < 2 ? d[0] : d[2];
        high_sums[0] = plane == 2 ? (float)own : fmaf(high_sums[0], 256.f, (float)own);
    }
    Tile z;
    z.a[0] = fmaf(low_sums[0], per_weight, biases[0]);
    z.a[1] = fmaf(low_sums[1], per_weight, biases[1]);
    z.b[0] = fmaf(low_sums[2], per_weight, biases[0]);
    z.b[1] = fmaf(low_sums[3], per_weight, biases[1]);
    z.high = fmaf(high_sums[0], per_weight, biases[2]);
    return z;
}

__device__ __forceinline__ float summed(float x) {
    x += __shfl_xor_sync(WHOLE_WARP, x, 1);
    return x + __shfl_xor_sync(WHOLE_WARP, x, 2);
}
__device__ __forceinline__ float most_of(float x) {
    x = fmaxf(x, __shfl_xor_sync(WHOLE_WARP, x, 1));
    return fmaxf(x, __shfl_xor_sync(WHOLE_WARP, x, 2));
}
// The sum of the two high outputs of the quarter's own record. It comes last for both records of a lane: what a record adds must not depend
// on where in the batch it stands.
__device__ __forceinline__ float of_both_high(float high) { return high + __shfl_xor_sync(WHOLE_WARP, high, 1); }

// What the first two quarters have made for the first record, and the others for the second: both, for all.
__device__ __forceinline__ void both(float own, bool is_first, float& a, float& b) {
    const float other = __shfl_xor_sync(WHOLE_WARP, own, 2);
    a = is_first ? own : other;
    b = is_first ? other : own;
}

// From outputs to their gradients.
__device__ __forceinline__ void by_outputs(const Job& job, Tile& z, u32 label_a, u32 label_b, int quad) {
    const bool is_first = quad < 2;
    const int low = first_output(quad), high = 8 + (quad & 1);
    // -1 for the label and 0 for others: a compiler would convert it from a whole number.
    auto less = [](u32 label, u32 output) {
        float found;
        asm("{.reg .pred is; setp.eq.u32 is, %1, %2; selp.f32 %0, 0fBF800000, 0f00000000, is;}" : "=f"(found) : "r"(label), "r"(output));
        return found;
    };
    if (job.loss == SOFTMAX) {
        const float lowest = LOST;
        const float ta = most_of(fmaxf(fmaxf(z.a[0], z.a[1]), is_first ? z.high : lowest));
        const float tb = most_of(fmaxf(fmaxf(z.b[0], z.b[1]), is_first ? lowest : z.high));
        z.a[0] = exponential(z.a[0] - ta);
        z.a[1] = exponential(z.a[1] - ta);
        z.b[0] = exponential(z.b[0] - tb);
        z.b[1] = exponential(z.b[1] - tb);
        z.high = exponential(z.high - (is_first ? ta : tb));
        const float sa = summed(z.a[0] + z.a[1]), sb = summed(z.b[0] + z.b[1]);
        const float own = quick_inverse((is_first ? sa : sb) + of_both_high(z.high));
        float ia, ib;
        both(own, is_first, ia, ib);
        z.a[0] = fmaf(z.a[0], ia, less(label_a, low));
        z.a[1] = fmaf(z.a[1], ia, less(label_a, low + 4));
        z.b[0] = fmaf(z.b[0], ib, less(label_b, low));
        z.b[1] = fmaf(z.b[1], ib, less(label_b, low + 4));
        z.high = fmaf(z.high, own, less(is_first ? label_a : label_b, high));
    } else {
        z.a[0] = quad == 0 ? slope(job.loss, z.a[0], __uint_as_float(label_a)) : 0.f;
        z.b[0] = quad == 0 ? slope(job.loss, z.b[0], __uint_as_float(label_b)) : 0.f;
        z.a[1] = z.b[1] = z.high = 0.f;
    }
}

// Where a lane lays slopes down: of its first output, from there of the one four after it, of its high one, and of the next byte.
struct Places {
    signed char* to;
    int four, high, plane;
};
__device__ __forceinline__ Places places(signed char* slopes, int slope_stride, int lane) {
    const int row = lane >> 2, quad = lane & 3, output = first_output(quad);
    return {slopes + output * slope_stride + 2 * row, 4 * slope_stride, (8 + (quad & 1) - output) * slope_stride + (quad < 2 ? 0 : 1), SLOPE_ROWS * slope_stride};
}

// From the outputs of sixteen records back to clipped gradients by them, whose bytes are laid down for the way back; `sums` gathers what
// they add to the biases.
__device__ __forceinline__ void lay_slopes(const Job& job, const Places& places, Tile& g, const uint2& rows, int first, int quad, int (&sums)[3]) {
    const bool is_first = quad < 2;
    const float2 about_a = job.about[rows.x], about_b = job.about[rows.y];
    by_outputs(job, g, __float_as_uint(about_a.y), __float_as_uint(about_b.y), quad);
    const float a = summed(g.a[0] * g.a[0] + g.a[1] * g.a[1]), b = summed(g.b[0] * g.b[0] + g.b[1] * g.b[1]);
    const float square = ((is_first ? a : b) + of_both_high(g.high * g.high)) * (is_first ? about_a.x : about_b.x);
    const float own = quick_shortening(square, job.clip) * job.per_fine;
    float fa, fb;
    both(own, is_first, fa, fb);
    signed char* to = places.to + first;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const int x = __float2int_rz(g.a[k] * fa), y = __float2int_rz(g.b[k] * fb);
        sums[k] += x + y;
        const u32 of_a = bytes_of(x), of_b = bytes_of(y);
        signed char* at = to + k * places.four;
        *(u16*)at = (u16)__byte_perm(of_a, of_b, 0x0040);
        *(u16*)(at + places.plane) = (u16)__byte_perm(of_a, of_b, 0x0051);
        *(u16*)(at + 2 * places.plane) = (u16)__byte_perm(of_a, of_b, 0x0062);
    }
    const int x = __float2int_rz(g.high * own);
    sums[2] += x;
    const u32 of_x = bytes_of(x);
    signed char* at = to + places.high;
    at[0] = (signed char)of_x;
    at[places.plane] = (signed char)(of_x >> 8);
    at[2 * places.plane] = (signed char)(of_x >> 16);
}

// Sixteen records of a batch on their way forward and back to the outputs. The features of the next sixteen are on their way meanwhile.
__device__ __forceinline__ void tile_forward(const Job& job, const Memory& m, const Places& places, Two& two, float per_weight, const float (&biases)[3], int first, int count, int lane, int (&sums)[3]) {
    const int row = lane >> 2, quad = lane & 3;
    const uint2 rows = *(const uint2*)(m.drawn.rows + first + 2 * row);
    Tile g = outputs(m, two.p, two.q, per_weight, biases, (u32)job.count >> 31, row, quad);
    // Of the last, once too often.
    two = two_at(job, m, first + 16 < count ? first + 16 : first, row, quad);
    lay_slopes(job, places, g, rows, first, quad, sums);
}

// ---- The way back.

// A sum of fine units in whole steps of the grid; the lower two of three are a whole number of 32 bits, since records are at most 256.
__device__ __forceinline__ int in_steps(const Job& job, int low, int middle, int high) {
    const double fine = fma(converted(high), 65536.0, converted(middle * 256 + low));
    return nearest(mul(fine, job.fine_steps));
}

// What a batch adds to the weights of 32 features, in steps of the grid: two for each of a lane's places.
__device__ __forceinline__ void back(const Job& job, const Memory& m, int group, int count, int lane, int (&steps)[10]) {
    const int row = lane >> 2, quad = lane & 3;
    int c[4][3][4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int w = 0; w < 3; ++w)
#pragma unroll
            for (int k = 0; k < 4; ++k) c[j][w][k] = 0;
    // Column n of tile j is feature 4 (n / 2) + 16 (n % 2) + j.
    const u8* from = job.rows + 32 * group + 4 * (row >> 1) + 16 * (row & 1);
    const int plane = SLOPE_ROWS * m.slope_stride;
    const signed char* low = m.slopes + row * m.slope_stride + 4 * quad;
    const signed char* high = m.slopes + (8 + (row & 1)) * m.slope_stride + 4 * quad;
    auto load = [&](int first, u32 (&x)[8]) {
        const uint4 near = *(const uint4*)(m.drawn.rows + first + 4 * quad), far = *(const uint4*)(m.drawn.rows + first + 16 + 4 * quad);
        const u32 rows[8] = {near.x, near.y, near.z, near.w, far.x, far.y, far.z, far.w};
#pragma unroll
        for (int i = 0; i < 8; ++i) x[i] = four_at(of_row(from, rows[i], 64));
    };
#pragma unroll 1
    for (int first = 0; first < count; first += 32) {
        u32 x[8];
        load(first, x);
        u32 turned[2][4];
        turn(x[0], x[1], x[2], x[3], turned[0]);
        turn(x[4], x[5], x[6], x[7], turned[1]);
#pragma unroll
        for (int w = 0; w < 3; ++w) {
            const signed char *a = low + w * plane + first, *b = high + w * plane + first;
            const u32 a0 = *(const u32*)a, a1 = *(const u32*)b, a2 = *(const u32*)(a + 16), a3 = *(const u32*)(b + 16);
#pragma unroll
            for (int j = 0; j < 4; ++j) product(c[j][w], a0, a1, a2, a3, turned[0][j], turned[1][j]);
        }
    }
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int k = 0; k < 2; ++k) steps[2 * j + k] = in_steps(job, c[j][0][k], c[j][1][k], c[j][2][k]);
    const bool later = row & 4, odd = row & 2;
#pragma unroll
    for (int k = 2; k < 4; ++k) {
        int own[3];
#pragma unroll
        for (int w = 0; w < 3; ++w) own[w] = later ? (odd ? c[3][w][k] : c[2][w][k]) : (odd ? c[1][w][k] : c[0][w][k]);
        steps[6 + k] = in_steps(job, own[0], own[1], own[2]);
    }
}

// ---- Noise.

// Keystream of a step's noise (of initial weights before the first) and of the batch after it. What the first 512 parameters leave
// over is made for two steps at once, so that no lane is idle.
__device__ __forceinline__ void draw_words(const Memory& m, int step, int lane) {
#pragma unroll 1
    for (int round = step & 1 ? 0 : 1; round < 2; ++round) {
        const int of = round == 0 ? step + (lane >> 4) : step, at = lane & 15;
        const bool for_batch = round == 0 && at >= HIGH_BLOCKS;
        const u32* key = m.keys + (for_batch ? 8 : of < 0 ? 16 : 0);
        const u64 nonce = for_batch ? of + 1 : of < 0 ? 0 : (u64)of << 20;
        u32 x[16];
        chacha(x, key, round == 1 ? lane : for_batch ? at - HIGH_BLOCKS : LOW_BLOCKS + at, nonce);
        write_block(round == 1 ? m.words + BLOCK_STRIDE * lane : of_step(m, of) + BLOCK_STRIDE * at, x);
    }
    __syncwarp();
}

// Where noise comes from.
struct Noise {
    const u32* key;
    u64 nonce;
    int step;
};

// Notes something of the pairs of the lanes in `which`, and returns how many notes there are then. Pairs in doubt are noted and continued
// together: alone, each would hold its warp up.
__device__ __forceinline__ int noted(uint4* notes, int count, u32 which, const uint4& note, int lane) {
    if (which >> lane & 1) notes[count + __popc(which & ((1u << lane) - 1))] = note;
    return count + __popc(which);
}

// No integer of the noise crate.
#define IN_DOUBT (int)0x80000000

// What continues the pair of each four lanes.
__device__ __forceinline__ uint4 continuation(const Noise& noise, u32 number, int lane) {
    return four_words(noise.key, 1ull << 63 | number, noise.nonce, lane);
}

// The pairs in doubt of the lanes that have one, one after another.
__device__ __noinline__ int2 continued(u32 which, const u32* key, u64 nonce, int number, u32 radius_word, u32 angle_word, int2 pair) {
    const int lane = threadIdx.x & 31;
    for (; which; which &= which - 1) {
        const int next = __ffs(which) - 1;
        const uint4 more = continuation({key, nonce, 0}, __shfl_sync(WHOLE_WARP, number, next), lane);
        if (lane == next) pair = continued_pair(radius_word, angle_word, more);
        __syncwarp();
    }
    return pair;
}

// The pair of each lane at a place of a group; where it is there.
__device__ __forceinline__ void drawn_pair(const Noise& noise, bool is_there, int group, int at, u32 radius_word, u32 angle_word, int& a, int& b) {
    const u32 which = __ballot_sync(WHOLE_WARP, pair(radius_word, angle_word, a, b) && is_there);
    if (which) {
        const int2 found = continued(which, noise.key, noise.nonce, 32 * group + at, radius_word, angle_word, make_int2(a, b));
        a = found.x;
        b = found.y;
    }
}

// ---- A step.

// What all parameters do in a step: the learning rate, times the decay, times what sums are scaled by.
struct Step {
    float rate, shrink, scaled;
    bool keeps_sums;
};
__device__ __forceinline__ Step of_number(const Job& job, int step) {
    const float rate = job.rates[step];
    return {rate, __fmul_rn(rate, job.decay), __fmul_rn(rate, job.scale), job.read == SUMS || job.read == SCORES};
}

// One parameter after its step, from whole steps of the grid; `word` is where its sum may be kept. Unless it `counts`, nothing is
// written. Most plans have neither momentum nor decay.
template <bool PLAIN>
__device__ __forceinline__ float moved(const Job& job, const Step& step, bool counts, float w, int steps, u32* word, float* velocity) {
    const float sum = __double2float_rn(mul(job.granularity, converted(steps)));
    if (step.keeps_sums && counts) *(float*)word = sum;
    if (PLAIN) return __fsub_rn(w, __fmul_rn(step.scaled, sum));
    if (job.decay != 0.f) w = __fsub_rn(w, __fmul_rn(step.shrink, w));
    if (job.momentum == 0.f) return __fsub_rn(w, __fmul_rn(step.scaled, sum));
    const float v = __fadd_rn(__fmul_rn(job.momentum, *velocity), __fmul_rn(job.scale, sum));
    if (counts) *velocity = v;
    return __fsub_rn(w, __fmul_rn(step.rate, v));
}

// The pairs that were noted take their step, eight at a time; returns the largest weight of the lane.
__device__ __noinline__ float settle(const Job& job, u32* words, u32* of_even, float* owned, float* velocities, const uint4* notes, const u32* key, int number_of_step, int count) {
    const int lane = threadIdx.x & 31;
    const Noise noise = {key, (u64)number_of_step << 20, number_of_step};
    const Step step = of_number(job, number_of_step);
    Memory m;
    m.words = words;
    m.of_even = of_even;
    float most = 0.f;
    __syncwarp();
#pragma unroll 1
    for (int first = 0; first < count; first += 8) {
        const int number = first + (lane >> 2);
        const uint4 note = notes[min(number, count - 1)];
        const uint4 more = continuation(noise, note.x, lane);
        if (number < count && (lane & 3) == 0) {
            const int group = note.x >> 5, at = note.x & 15, output = group >> 1;
            const bool is_bias = output == job.outputs;
            u32* word = group_at(m, noise.step, group) + at;
            const int2 found = continued_pair(word[0], word[BLOCK_STRIDE], more);
            // Of the lane that owns it.
            const int k = output < 8 ? at & 3 : 4, row = output < 8 ? output : 2 * (at & 3) + (output & 1);
            const int place = is_bias ? OWNED_BIASES + at : owned_at(k, group & 1, 0, 4 * row + (at >> 2));
            float *w = owned + place, *velocity = velocities + place;
            w[0] = moved<false>(job, step, true, w[0], (int)note.y + found.x, word, velocity);
            if (!is_bias) {
                w[32] = moved<false>(job, step, true, w[32], (int)note.z + found.y, word + BLOCK_STRIDE, velocity + 32);
                most = fmaxf(most, fmaxf(fabsf(w[0]), fabsf(w[32])));
            }
        }
        __syncwarp();
    }
    return most;
}

// All parameters take their step; returns the largest weight of the lane. The loop is rolled, and steps move through the first places of
// their registers: unrolled, the code outgrows the instruction cache.
template <bool PLAIN>
__device__ __forceinline__ float update(const Job& job, const Memory& m, const Noise& noise, const Step& step, int (&steps)[2][10], int bias_steps, int& bias_noise, int lane) {
    const int row = lane >> 2, quad = lane & 3;
    float most = 0.f;
    int notes = 0;
#pragma unroll 1
    for (int k = 0; k < 5; ++k) {
        const int output = k < 4 ? row : 8 + (row & 1), at = 4 * quad + (k < 4 ? k : row >> 1);
        const bool is_there = output < job.outputs;
        float* w = m.owned + owned_at(k, 0, 0, lane);
        // Two groups of an output stand side by side. Two pairs at once, since one alone is a long chain of which each link waits for the last.
        u32* word = group_at(m, noise.step, 2 * output) + at;
        float* velocity = m.velocity + owned_at(k, 0, 0, lane);
        bool counts[2], in_doubt[2];
        int a[2], b[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const bool is_certain = !pair(word[2 * BLOCK_STRIDE * i], word[2 * BLOCK_STRIDE * i + BLOCK_STRIDE], a[i], b[i]);
            counts[i] = is_there && is_certain;
            in_doubt[i] = is_there && !is_certain;
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int to = 2 * BLOCK_STRIDE * i;
            const float v = moved<PLAIN>(job, step, counts[i], w[64 * i], steps[i][0] + a[i], word + to, velocity + 64 * i);
            const float u = moved<PLAIN>(job, step, counts[i], w[64 * i + 32], steps[i][1] + b[i], word + to + BLOCK_STRIDE, velocity + 64 * i + 32);
            // What does not count is written as it was: cheaper than a branch.
            w[64 * i] = counts[i] ? v : w[64 * i];
            w[64 * i + 32] = counts[i] ? u : w[64 * i + 32];
            most = counts[i] ? fmaxf(most, fmaxf(fabsf(v), fabsf(u))) : most;
        }
        if (__any_sync(WHOLE_WARP, in_doubt[0] || in_doubt[1])) {
#pragma unroll
            for (int i = 0; i < 2; ++i)
                notes = noted(m.notes, notes, __ballot_sync(WHOLE_WARP, in_doubt[i]), make_uint4(32 * (2 * output + i) + at, steps[i][0], steps[i][1], 0), lane);
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            steps[0][i] = steps[0][i + 2];
            steps[1][i] = steps[1][i + 2];
        }
    }
    // Biases come after all weights, in one group. Where its words are made for two steps at once, each half of the warp draws for one.
    const int group = 2 * job.outputs, at = lane & 15;
    const bool is_for_two = group >= LOW_BLOCKS / 2, is_odd = noise.step & 1;
    u32* word = group_at(m, noise.step, group) + at;
    if (!is_for_two || is_odd || noise.step == 0) {
        const u32* from = is_for_two ? group_at(m, lane < 16, group) + at : word;
        int a, b;
        const bool in_doubt = pair(from[0], from[BLOCK_STRIDE], a, b);
        bias_noise = in_doubt ? IN_DOUBT : a;
    }
    const int a = __shfl_sync(WHOLE_WARP, bias_noise, is_for_two && !is_odd ? at + 16 : at);
    const bool is_certain = a != IN_DOUBT, is_there = lane < job.outputs, counts = is_there && is_certain;
    float* w = m.owned + OWNED_BIASES + at;
    const float before = w[0];
    // Both halves have looked at the same words and biases.
    __syncwarp();
    const float after = moved<PLAIN>(job, step, counts, before, bias_steps + a, word, m.velocity + OWNED_BIASES + at);
    if (counts) w[0] = after;
    notes = noted(m.notes, notes, __ballot_sync(WHOLE_WARP, is_there && !is_certain), make_uint4(32 * group + at, bias_steps, 0, 0), lane);
    if (notes) most = fmaxf(most, settle(job, m.words, m.of_even, m.owned, m.velocity, m.notes, noise.key, noise.step, notes));
    // Others look at weights and sums.
    __syncwarp();
    return most;
}

// Crafted gradients, which are whole numbers of steps, are added to what a batch adds; their place is where words will be.
__device__ __forceinline__ void add_crafted(const Job& job, const Memory& m, int (&steps)[2][10], int& bias_steps, int lane) {
    const int row = lane >> 2, quad = lane & 3;
    int* sums = (int*)m.words;
    for (int i = lane; i < job.parameters; i += 32) sums[i] = 0;
    __syncwarp();
    for (int i = 0; i < *m.drawn.crafted_count; ++i) {
        const int crafted = m.drawn.crafted[i];
        for (int entry = job.crafted_starts[crafted] + lane; entry < job.crafted_starts[crafted + 1]; entry += 32) {
            const uint2 e = job.crafted_entries[entry];
            sums[e.x] += (int)e.y;
        }
        __syncwarp();
    }
#pragma unroll
    for (int k = 0; k < 5; ++k) {
        const int output = k < 4 ? row : 8 + (row & 1), feature = 4 * quad + (k < 4 ? k : row >> 1);
        if (output < job.outputs) {
#pragma unroll
            for (int i = 0; i < 4; ++i) steps[i >> 1][2 * k + (i & 1)] += sums[64 * output + 16 * i + feature];
        }
    }
    if (lane < job.outputs) bias_steps += sums[64 * job.outputs + lane];
    __syncwarp();
}

// First values of all weights; returns the largest weight of the lane.
__device__ __noinline__ float begin(const Job& job, const Memory m, const Noise noise, int lane) {
    const int row = lane >> 2, quad = lane & 3;
    if (lane < 16) m.owned[OWNED_BIASES + lane] = lane >= job.outputs ? LOST : job.initial ? job.initial[64 * job.outputs + lane] : 0.f;
    float most = 0.f;
#pragma unroll 1
    for (int i = 0; i < 10; ++i) {
        const int k = i >> 1, group = i & 1, output = k < 4 ? row : 8 + (row & 1), at = 4 * quad + (k < 4 ? k : row >> 1);
        const bool is_there = output < job.outputs;
        float v = 0.f, u = 0.f;
        int a = 0, b = 0;
        if (!job.initial) {
            const u32* from = group_at(m, noise.step, 2 * output + group) + at;
            drawn_pair(noise, is_there, 2 * output + group, at, from[0], from[BLOCK_STRIDE], a, b);
        }
        if (is_there && job.initial) {
            const float* from = job.initial + 64 * output + 32 * group + at;
            v = from[0];
            u = from[16];
        } else if (is_there) {
            v = __fmul_rn(job.initial_scale, __double2float_rn(mul(job.start, converted(a))));
            u = __fmul_rn(job.initial_scale, __double2float_rn(mul(job.start, converted(b))));
        }
        m.owned[owned_at(k, group, 0, lane)] = v;
        m.owned[owned_at(k, group, 1, lane)] = u;
        most = fmaxf(most, fmaxf(fabsf(v), fabsf(u)));
    }
    for (int i = 0; i < 21; ++i) m.velocity[32 * i + lane] = 0.f;
    return most;
}

// Weights in three bytes each, laid down for the way forward; returns what one of their units is worth in outputs.
__device__ __forceinline__ float round_weights(const Job& job, const Memory& m, float most, int lane) {
    const int row = lane >> 2, quad = lane & 3, slot = row_of(row), high = 8 + (row & 1), j = row >> 1;
    most = __uint_as_float(__reduce_max_sync(WHOLE_WARP, __float_as_uint(most)));
    // All weights are below 2^exponent. Those that are no numbers any more are anything.
    const int exponent = max((int)(__float_as_uint(most) >> 23) - 126, -100);
    const float up = __int_as_float((127 + 22 - exponent) << 23);
    // Sixteen features at a time; rolled, for the sake of the instruction cache.
#pragma unroll 1
    for (int piece = 0; piece < 4; ++piece) {
        const float* from = m.owned + 32 * piece + lane;
        auto rounded = [&](int k) { return bytes_of(__float2int_rn(from[128 * k] * up)); };
        const u32 a = rounded(0), b = rounded(1), c = rounded(2), d = rounded(3), own = rounded(4);
        const u32 ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140), ab2 = __byte_perm(a, b, 0x0062), cd2 = __byte_perm(c, d, 0x0062);
        u32* to = m.weights + 16 * slot + 4 * (piece ^ (slot >> 1)) + quad;
        to[0] = __byte_perm(ab, cd, 0x5410);
        to[160] = __byte_perm(ab, cd, 0x7632);
        to[320] = __byte_perm(ab2, cd2, 0x5410);
        u8* at = (u8*)m.weights + 64 * high + 16 * piece + 4 * quad + j;
        at[0] = (u8)own;
        at[640] = (u8)(own >> 8);
        at[1280] = (u8)(own >> 16);
    }
    __syncwarp();
    return job.unit * __int_as_float((127 - 22 + exponent) << 23);
}

// ---- What is read.

__device__ __forceinline__ void read_sums(const Job& job, const Memory& m, float* out, int step, int lane) {
    __syncwarp();
    float* said = said_to(job, (u8*)m.velocity, out, step);
    for (int at = lane; at < job.read_parameter_count; at += 32) said[at] = __uint_as_float(*word_at(m, step, job.read_parameters[at]));
#pragma unroll 1
    for (int direction = 0; direction < job.read_direction_count; ++direction) {
        const float* along = job.read_directions + (size_t)direction * job.parameters;
        double sum = 0;
        for (int at = lane; at < job.parameters; at += 32) sum = fma((double)along[at], (double)__uint_as_float(*word_at(m, step, at)), sum);
#pragma unroll
        for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(WHOLE_WARP, sum, by);
        if (lane == 0) said[job.read_parameter_count + direction] = (float)sum;
    }
    __syncwarp();
    if (scores_now(job, step)) {
        score_steps(job, heard_of(job, (u8*)m.velocity), tallies_of(job, (u8*)m.velocity), out, step / HEARD * HEARD, step, lane, 32);
        __syncwarp();
    }
}

// The biases of the outputs that a lane has on the way forward.
__device__ __forceinline__ void of_quarter(const Memory& m, int quad, float (&biases)[3]) {
    const float* from = m.owned + OWNED_BIASES;
    biases[0] = from[first_output(quad)];
    biases[1] = from[first_output(quad) + 4];
    biases[2] = from[8 + (quad & 1)];
}

__device__ __noinline__ void read_outputs(const Job& job, const Memory m, float per_weight, float* out, int lane) {
    const int row = lane >> 2, quad = lane & 3;
    float biases[3];
    of_quarter(m, quad, biases);
    for (int first = 0; first < job.probes; first += 16) {
        const int a = first + 2 * row, b = a + 1, last = job.probes - 1;
        const u8* from = job.rows + (size_t)job.first_probe * 64 + 16 * quad;
        const Tile z = outputs(m, *(const uint4*)(from + 64 * min(a, last)), *(const uint4*)(from + 64 * min(b, last)), per_weight, biases, (u32)job.count >> 31, row, quad);
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            const int output = first_output(quad) + 4 * k;
            if (output < job.outputs && a <= last) out[a * job.outputs + output] = z.a[k];
            if (output < job.outputs && b <= last) out[b * job.outputs + output] = z.b[k];
        }
        const int output = 8 + (quad & 1), own = quad < 2 ? a : b;
        if (output < job.outputs && own <= last) out[own * job.outputs + output] = z.high;
    }
}

__device__ __noinline__ void read_parameters(const Job& job, const Memory m, float* out, int lane) {
    const int row = lane >> 2, quad = lane & 3;
    for (int i = 0; i < 20; ++i) {
        const int k = i >> 2, output = k < 4 ? row : 8 + (row & 1), feature = 32 * (i >> 1 & 1) + 16 * (i & 1) + 4 * quad + (k < 4 ? k : row >> 1);
        if (output < job.outputs) out[64 * output + feature] = m.owned[32 * i + lane];
    }
    if (lane < job.outputs) out[64 * job.outputs + lane] = m.owned[OWNED_BIASES + lane];
}

// ---- A training.

// Warps that stay together: eight.
__device__ __forceinline__ void meet() { asm volatile("bar.sync %0, 256;" :: "r"(1 + threadIdx.x / 256) : "memory"); }

template <int OF_BLOCK>
__device__ __forceinline__ void train(const Job& job, u8* shared, u32 shared_each) {
    const int lane = threadIdx.x & 31, within = threadIdx.x / 32, number = blockIdx.x * OF_BLOCK + within;
    Tables& tables = *(Tables*)(shared + OF_BLOCK * shared_each);
    if (job.batches == POISSON) {
        for (int i = threadIdx.x; i < 1024; i += 32 * OF_BLOCK) tables.guide[i] = job.guide[i];
        for (int i = threadIdx.x; i <= job.gaps; i += 32 * OF_BLOCK) tables.upper[i] = job.upper[i];
    }
    __syncthreads();
    Memory m;
    lay_out(m, job, shared + within * shared_each, job.scratch + (u64)number * job.scratch_each);
    for (int first = 0; first < job.count; first += gridDim.x * OF_BLOCK) {
        // Where there are too few for all, each block has some.
        const int at = first + within * gridDim.x + blockIdx.x;
        const bool has_work = at < job.count;
        __syncwarp();
        if (has_work && lane == 0) begin_trial(job, at, m.drawn);
        if (has_work && lane < 3) derive(m.keys + 8 * lane, lane == 0 ? job.noise_key : lane == 1 ? job.batch_key : job.init_key, job.trials[at]);
        __syncwarp();
        float per_weight = 0.f;
        int bias_noise = 0;
#pragma unroll 1
        for (int number_of_step = -1; number_of_step < job.steps; ++number_of_step) {
            // Eight warps do the same at the same time, so that they share what the instruction cache holds: alone each is half as fast.
            meet();
            if (!has_work) continue;
            const bool initial = number_of_step < 0;
            int steps[2][10];
#pragma unroll
            for (int i = 0; i < 20; ++i) steps[i / 10][i % 10] = 0;
            int bias_steps = 0;
            if (!initial) {
                const int count = *m.drawn.count, padded = (count + 31) & ~31;
                float biases[3];
                of_quarter(m, lane & 3, biases);
                int sums[3] = {0, 0, 0};
                const Places here = places(m.slopes, m.slope_stride, lane);
                Two two = two_at(job, m, 0, lane >> 2, lane & 3);
#pragma unroll 1
                for (int first = 0; first < count; first += 16) tile_forward(job, m, here, two, per_weight, biases, first, count, lane, sums);
                // The way back goes by 32 records.
                if (count + 15 >> 4 & 1)
                    for (int i = lane; i < 3 * SLOPE_ROWS; i += 32) *(uint4*)(m.slopes + i * m.slope_stride + padded - 16) = make_uint4(0, 0, 0, 0);
#pragma unroll
                for (int k = 0; k < 3; ++k)
#pragma unroll
                    for (int by = 4; by < 32; by *= 2) sums[k] += __shfl_xor_sync(WHOLE_WARP, sums[k], by);
                // Quarters 0 and 2 share a high output, and so do 1 and 3.
                const int high = sums[2] + __shfl_xor_sync(WHOLE_WARP, sums[2], 2);
                const int low0 = __shfl_sync(WHOLE_WARP, sums[0], quarter_of(lane & 3)), low1 = __shfl_sync(WHOLE_WARP, sums[1], quarter_of(lane & 3));
                bias_steps = nearest(mul(converted(lane >= 8 ? high : lane & 4 ? low1 : low0), job.fine_bias_steps));
                __syncwarp();
#pragma unroll 1
                for (int group = 0; group < 2; ++group) {
#pragma unroll
                    for (int i = 0; i < 10; ++i) steps[0][i] = steps[1][i];
                    back(job, m, group, padded, lane, steps[1]);
                }
                __syncwarp();
                if (*m.drawn.crafted_count > 0) add_crafted(job, m, steps, bias_steps, lane);
            }
            draw_words(m, number_of_step, lane);
            const Noise noise = {m.keys + (initial ? 16 : 0), initial ? 0 : (u64)number_of_step << 20, number_of_step};
            float most;
            if (initial) {
                most = begin(job, m, noise, lane);
            } else {
                const Step step = of_number(job, number_of_step);
                most = job.momentum == 0.f && job.decay == 0.f ? update<true>(job, m, noise, step, steps, bias_steps, bias_noise, lane)
                                                               : update<false>(job, m, noise, step, steps, bias_steps, bias_noise, lane);
                if (step.keeps_sums) read_sums(job, m, job.out + (u64)at * job.out_each, number_of_step, lane);
            }
            per_weight = round_weights(job, m, most, lane);
            if (number_of_step + 1 < job.steps)
                draw_batch(job, at, m.keys + 8, number_of_step + 1, of_step(m, number_of_step) + BLOCK_STRIDE * HIGH_BLOCKS, 1, {tables.guide, tables.upper}, m.drawn, lane);
        }
        if (!has_work) continue;
        float* out = job.out + (u64)at * job.out_each;
        if (job.read == OUTPUTS) read_outputs(job, m, per_weight, out, lane);
        if (job.read == PARAMETERS) read_parameters(job, m, out, lane);
    }
}

}  // namespace one_warp
