// A training by a team of warps: any shape that a device trains.
#pragma once
#include "score.cuh"

// ---- A team and its memory.

template <int WARPS>
struct Team {
    int thread, warp, lane, row, quad;
    __device__ __forceinline__ Team() {
        thread = WARPS == 1 ? threadIdx.x & 31 : threadIdx.x;
        lane = threadIdx.x & 31;
        warp = WARPS == 1 ? 0 : threadIdx.x >> 5;
        row = lane >> 2;
        quad = lane & 3;
    }
    __device__ __forceinline__ void meet() const {
        if (WARPS == 1) __syncwarp(); else __syncthreads();
    }
};

struct Memory {
    int* numbers;          // noise integers, then noisy sums as floats, by place
    u32* weights;          // for every 64 features and tile of outputs, halves, planes and lanes: four words, as a product takes them
    signed char* slopes;   // three planes of `outer` rows of `slope_stride`: clipped gradients by the outputs of the first layer
    float* biases;         // of the first layer
    i64* bias_sums;
    float* last;           // weights and biases of the last of two layers
    int* last_sums;
    u32* keys;             // noise, batch, init
    u32* doubts;           // the number of pairs in doubt, and the pairs
    float* largest;        // of each warp
    Drawn drawn;
    float* master;         // the weights of the first layer, rows of `width`
    float* velocity;
    int slope_stride;
};

#define MOST_DOUBTS 62
// Pairs that are made before those in doubt are continued: 14 of them, or a few more.
#define PAIRS_AT_ONCE 2048

// Where the four words of a lane are that a product takes for a tile of outputs, 64 features, one half of them and one byte of weights.
__device__ __forceinline__ int fragment(int tiles, int tile, int features, int half, int plane, int lane) {
    return ((((features * tiles + tile) * 2 + half) * 3 + plane) * 32 + lane) * 4;
}

__device__ __forceinline__ int slope_stride(int room_for) { return room_for + 16; }

// Parts of the memory, one after another; the host adds up the same lengths (src/kernel.rs).
template <int MT, int FP, bool HIDDEN, bool LARGE, int WARPS>
__device__ __forceinline__ void lay_out(Memory& m, const Job& job, u8* shared, u8* scratch) {
    auto next = [](u8*& from, size_t bytes) { u8* at = from; from += (bytes + 15) & ~(size_t)15; return at; };
    m.slope_stride = slope_stride(job.room_for);
    const int groups = (job.parameters + 31) / 32 + 2;
    const size_t numbers = (size_t)groups * 34 * 4, planes = (size_t)48 * MT * job.width;
    m.master = (float*)next(scratch, (size_t)4 * job.outer * job.width);
    m.velocity = (float*)next(scratch, (size_t)4 * (job.outer * job.width + job.parameters));
    m.numbers = (int*)next(LARGE ? scratch : shared, numbers);
    m.weights = (u32*)next(LARGE ? scratch : shared, planes);
    // A batch is drawn before there are slopes, so that its words may lie where they will.
    m.drawn.words = (u32*)shared;
    m.slopes = (signed char*)next(shared, max(3 * job.outer * m.slope_stride, 4 * WORDS_AT_ONCE));
    m.biases = (float*)next(shared, 4 * 16 * MT);
    m.bias_sums = (i64*)next(shared, 8 * 16 * MT);
    const int last = HIDDEN ? job.outputs * (job.hidden + 1) : 0;
    m.last = (float*)next(shared, 4 * last);
    m.last_sums = (int*)next(shared, 4 * last);
    m.keys = (u32*)next(shared, 4 * 24);
    m.doubts = (u32*)next(shared, 4 * (MOST_DOUBTS + 2));
    m.largest = (float*)next(shared, 4 * 32);
    m.drawn.rows = (u32*)next(shared, 4 * (job.room_for + 32));
    m.drawn.offsets = (u32*)next(shared, 4 * (job.room_for + 32));
    m.drawn.each = FP * job.width;
    m.drawn.count = (int*)next(shared, 16);
    m.drawn.crafted_count = m.drawn.count + 1;
    m.drawn.crafted = (int*)next(shared, 4 * job.crafted_count);
    m.drawn.order = (u16*)next(shared, job.batches == SHUFFLED ? 2 * job.positions : 0);
}

// ---- Noise.

// A whole number of 32 bits as a double, exactly.
__device__ __forceinline__ double whole(int x) { return __hiloint2double(0x43300000, x ^ (int)0x80000000) - 4503601774854144.0; }

// Continues the pairs that were noted.
template <int WARPS>
__device__ __forceinline__ void continue_pairs(const Team<WARPS>& team, const Job& job, const Memory& m, const u32* key, u64 step, bool initial) {
    const int count = m.doubts[0];
    if (count > MOST_DOUBTS && team.thread == 0) atomicAdd(job.errors, 1);
#pragma unroll 1
    for (int noted = team.thread; noted < min(count, MOST_DOUBTS); noted += 32 * WARPS) {
        const int at = m.doubts[1 + noted], group = at >> 4, from = 34 * group + (at & 15);
        const int within = initial ? group : group & 1023;
        const u64 nonce = initial ? 0 : step << 20 | (u64)(group >> 10);
        u32 x[16];
        chacha(x, key, 1ull << 63 | (u64)(32 * within + (at & 15)), nonce);
        const int2 found = continued_pair(m.numbers[from], m.numbers[from + 17], make_uint4(x[0], x[1], x[2], x[3]));
        m.numbers[from] = found.x;
        m.numbers[from + 17] = found.y;
    }
}

// The integers of a step (or of initial parameters) for so many groups of 32. Threads that are left over make words for the batch; for how
// many rounds, is returned.
template <int WARPS>
__device__ __forceinline__ int draw_noise(const Team<WARPS>& team, const Job& job, const Memory& m, const u32* key, u64 step, bool initial, int groups) {
    constexpr int THREADS = 32 * WARPS;
    const int blocks = 2 * groups;
    const int spare = (blocks + THREADS - 1) / THREADS * THREADS - blocks;
    const int rounds = initial ? 0 : min(spare / ROUND_BLOCKS, ROUNDS_AT_ONCE), ready = rounds * ROUND_BLOCKS;
#pragma unroll 1
    for (int first = 0; first < blocks; first += THREADS) {
        const int block = first + team.thread;
        const bool for_batch = block >= blocks && !initial;
        u32 x[16];
        // Parameters have a stream for every 2^15 of them; initial ones have one.
        const u64 nonce = initial ? 0 : for_batch ? step : step << 20 | (u64)(block >> 11);
        chacha(x, for_batch ? m.keys + 8 : key, initial ? block : for_batch ? block - blocks : block & 2047, nonce);
        if (block < blocks) {
            int* to = m.numbers + 17 * block;
#pragma unroll
            for (int i = 0; i < 16; ++i) to[i] = (int)x[i];
        } else if (block < blocks + ready) {
            write_block(m.drawn.words + BLOCK_STRIDE * (block - blocks), x);
        }
    }
    const int pairs = 16 * groups;
#pragma unroll 1
    for (int first = 0; first < pairs; first += PAIRS_AT_ONCE) {
        if (team.thread == 0) m.doubts[0] = 0;
        team.meet();
        const int end = min(pairs, first + PAIRS_AT_ONCE);
#pragma unroll 2
        for (int at = first + team.thread; at < end; at += THREADS) {
            const int group = at >> 4, from = 34 * group + (at & 15);
            int a, b;
            if (pair(m.numbers[from], m.numbers[from + 17], a, b)) {
                const u32 noted = atomicAdd(m.doubts, 1);
                if (noted < MOST_DOUBTS) m.doubts[1 + noted] = at;
            } else {
                m.numbers[from] = a;
                m.numbers[from + 17] = b;
            }
        }
        team.meet();
        continue_pairs(team, job, m, key, step, initial);
        team.meet();
    }
    return rounds;
}

// ---- The way forward.

// What the first layer makes of the eight records of a tile: for output 16 i + row (and 8 more) and records 2 quad and 2 quad + 1.
template <int MT, int FP>
__device__ __forceinline__ void forward(const Job& job, const Memory& m, const u8* record, float per_weight, int row, int quad, float (&z)[MT][4]) {
    constexpr int LEVELS = FP == 1 ? 3 : 5;
#pragma unroll
    for (int i = 0; i < MT; ++i) {
        int c[LEVELS][4];
#pragma unroll
        for (int l = 0; l < LEVELS; ++l)
#pragma unroll
            for (int k = 0; k < 4; ++k) c[l][k] = 0;
#pragma unroll 2
        for (int at = 0; at < job.width; at += 64) {
            uint4 x[FP];
#pragma unroll
            for (int f = 0; f < FP; ++f) x[f] = *(const uint4*)(record + f * job.width + at + 16 * quad);
#pragma unroll
            for (int w = 0; w < 3; ++w) {
                const uint4 a = *(const uint4*)(m.weights + fragment(MT, i, at >> 6, 0, w, 4 * row + quad));
                const uint4 b = *(const uint4*)(m.weights + fragment(MT, i, at >> 6, 1, w, 4 * row + quad));
#pragma unroll
                for (int f = 0; f < FP; ++f) {
                    if (FP == 3 && f == 2) {
                        product_signed(c[w + f], a.x, a.y, a.z, a.w, x[f].x, x[f].y);
                        product_signed(c[w + f], b.x, b.y, b.z, b.w, x[f].z, x[f].w);
                    } else {
                        product(c[w + f], a.x, a.y, a.z, a.w, x[f].x, x[f].y);
                        product(c[w + f], b.x, b.y, b.z, b.w, x[f].z, x[f].w);
                    }
                }
            }
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            float sum = (float)c[LEVELS - 1][k];
#pragma unroll
            for (int l = LEVELS - 2; l >= 0; --l) sum = fmaf(sum, 256.f, (float)c[l][k]);
            const int output = 16 * i + row + (k >= 2 ? 8 : 0);
            z[i][k] = fmaf(sum, per_weight, m.biases[output]);
        }
    }
}

// Sums over the rows of a warp: those of `a` for lanes below 16, those of `b` for the others.
__device__ __forceinline__ float over_rows(float a, float b, bool far) {
    float kept = (far ? b : a) + __shfl_xor_sync(WHOLE_WARP, far ? a : b, 16);
    kept += __shfl_xor_sync(WHOLE_WARP, kept, 8);
    return kept + __shfl_xor_sync(WHOLE_WARP, kept, 4);
}
__device__ __forceinline__ float most_over_rows(float a, float b, bool far) {
    float kept = fmaxf(far ? b : a, __shfl_xor_sync(WHOLE_WARP, far ? a : b, 16));
    kept = fmaxf(kept, __shfl_xor_sync(WHOLE_WARP, kept, 8));
    return fmaxf(kept, __shfl_xor_sync(WHOLE_WARP, kept, 4));
}
// Both of such a pair, for every lane.
__device__ __forceinline__ void share(float kept, bool far, float& a, float& b) {
    const float other = __shfl_xor_sync(WHOLE_WARP, kept, 16);
    a = far ? other : kept;
    b = far ? kept : other;
}

// From outputs to their gradients, for classes `row` and `row` + 8 of two records: c0, c1 of the first class, c2, c3 of the second.
__device__ __forceinline__ void by_outputs(const Job& job, float (&z)[4], float2 about_a, float2 about_b, int row, bool far) {
    if (job.loss == SOFTMAX) {
        const bool low = row < job.outputs, high = row + 8 < job.outputs;
        const float lowest = -__int_as_float(0x7f800000);
        float ta, tb;
        share(most_over_rows(fmaxf(low ? z[0] : lowest, high ? z[2] : lowest), fmaxf(low ? z[1] : lowest, high ? z[3] : lowest), far), far, ta, tb);
        float p[4];
        p[0] = low ? exponential(z[0] - ta) : 0.f;
        p[1] = low ? exponential(z[1] - tb) : 0.f;
        p[2] = high ? exponential(z[2] - ta) : 0.f;
        p[3] = high ? exponential(z[3] - tb) : 0.f;
        float ia, ib;
        share(__frcp_rn(over_rows(p[0], p[1], far) + over_rows(p[2], p[3], far)), far, ia, ib);
        const int la = __float_as_int(about_a.y), lb = __float_as_int(about_b.y);
        z[0] = fmaf(p[0], ia, la == row ? -1.f : 0.f);
        z[1] = fmaf(p[1], ib, lb == row ? -1.f : 0.f);
        z[2] = fmaf(p[2], ia, la == row + 8 ? -1.f : 0.f);
        z[3] = fmaf(p[3], ib, lb == row + 8 ? -1.f : 0.f);
    } else {
        const bool is_only = row == 0;
        z[0] = is_only ? slope(job.loss, z[0], about_a.y) : 0.f;
        z[1] = is_only ? slope(job.loss, z[1], about_b.y) : 0.f;
        z[2] = z[3] = 0.f;
    }
}

// Cuts gradients off to whole fine units and lays their bytes down for the way back.
__device__ __forceinline__ void lay_slopes(const Memory& m, int plane, int output, int record, int a, int b) {
    int a0, a1, a2, b0, b1, b2;
    digits(a, a0, a1, a2);
    digits(b, b0, b1, b2);
    signed char* at = m.slopes + output * m.slope_stride + record;
    *(u16*)at = (u16)((a0 & 255) | (b0 & 255) << 8);
    *(u16*)(at + plane) = (u16)((a1 & 255) | (b1 & 255) << 8);
    *(u16*)(at + 2 * plane) = (u16)((a2 & 255) | (b2 & 255) << 8);
}

// Outputs of the last layer from those of the first, for one tile: all lanes of a quad know them.
template <int MT>
__device__ __forceinline__ void last_outputs(const Job& job, const Memory& m, const float (&h)[MT][4], int row, bool far, int output, float& a, float& b) {
    float sum_a = 0, sum_b = 0;
#pragma unroll
    for (int i = 0; i < MT; ++i)
#pragma unroll
        for (int up = 0; up < 2; ++up) {
            const int unit = 16 * i + row + 8 * up;
            const float w = unit < job.hidden ? m.last[output * job.hidden + unit] : 0.f;
            sum_a = fmaf(w, h[i][2 * up], sum_a);
            sum_b = fmaf(w, h[i][2 * up + 1], sum_b);
        }
    share(over_rows(sum_a, sum_b, far), far, a, b);
    const float bias = m.last[job.outputs * job.hidden + output];
    a += bias;
    b += bias;
}

// One tile of a batch on its way forward, and as far back as the outputs of the first layer.
template <int MT, int FP, bool HIDDEN>
__device__ __forceinline__ void tile_forward(const Job& job, const Memory& m, float per_weight, int tile, int lane, int (&bias)[MT][2]) {
    const int row = lane >> 2, quad = lane & 3, first = 8 * tile;
    const bool far = lane & 16;
    const u32 ra = m.drawn.rows[first + 2 * quad], rb = m.drawn.rows[first + 2 * quad + 1];
    const float2 about_a = job.about[ra], about_b = job.about[rb];
    float z[MT][4];
    forward<MT, FP>(job, m, job.rows + m.drawn.offsets[first + row], per_weight, row, quad, z);
    const float norm = far ? about_b.x : about_a.x;
    const int plane = job.outer * m.slope_stride;
    if constexpr (!HIDDEN) {
        by_outputs(job, z[0], about_a, about_b, row, far);
        float(&g)[4] = z[0];
        const float square = (over_rows(g[0] * g[0], g[1] * g[1], far) + over_rows(g[2] * g[2], g[3] * g[3], far)) * norm;
        float fa, fb;
        share(shortening(square, job.clip) * job.per_fine, far, fa, fb);
        const int a = __float2int_rz(g[0] * fa), b = __float2int_rz(g[1] * fb), c = __float2int_rz(g[2] * fa), d = __float2int_rz(g[3] * fb);
        if (row < job.outer) lay_slopes(m, plane, row, first + 2 * quad, a, b);
        if (row + 8 < job.outer) lay_slopes(m, plane, row + 8, first + 2 * quad, c, d);
        bias[0][0] += a + b;
        bias[0][1] += c + d;
    } else {
        float h[MT][4], back[MT][4], squares_a = 0, squares_b = 0;
#pragma unroll
        for (int i = 0; i < MT; ++i)
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                h[i][k] = 16 * i + row + (k >= 2 ? 8 : 0) < job.hidden ? fmaxf(z[i][k], 0.f) : 0.f;
                back[i][k] = 0.f;
                if (k & 1) squares_b = fmaf(h[i][k], h[i][k], squares_b); else squares_a = fmaf(h[i][k], h[i][k], squares_a);
            }
        // Output o of the last layer is kept by row o, or by row o - 8.
        float out[4] = {0, 0, 0, 0};
        for (int output = 0; output < job.outputs; ++output) {
            float a, b;
            last_outputs<MT>(job, m, h, row, far, output, a, b);
            if (output == row) { out[0] = a; out[1] = b; }
            if (output == row + 8) { out[2] = a; out[3] = b; }
        }
        by_outputs(job, out, about_a, about_b, row, far);
        const float last_square = over_rows(out[0] * out[0], out[1] * out[1], far) + over_rows(out[2] * out[2], out[3] * out[3], far);
        const float hidden_square = over_rows(squares_a, squares_b, far);
        for (int output = 0; output < job.outputs; ++output) {
            const int from = 4 * (output & 7) + quad;
            const float a = __shfl_sync(WHOLE_WARP, output < 8 ? out[0] : out[2], from), b = __shfl_sync(WHOLE_WARP, output < 8 ? out[1] : out[3], from);
#pragma unroll
            for (int i = 0; i < MT; ++i)
#pragma unroll
                for (int up = 0; up < 2; ++up) {
                    const int unit = 16 * i + row + 8 * up;
                    const float w = unit < job.hidden ? m.last[output * job.hidden + unit] : 0.f;
                    back[i][2 * up] = fmaf(w, a, back[i][2 * up]);
                    back[i][2 * up + 1] = fmaf(w, b, back[i][2 * up + 1]);
                }
        }
        float first_a = 0, first_b = 0;
#pragma unroll
        for (int i = 0; i < MT; ++i)
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                back[i][k] = z[i][k] > 0.f ? back[i][k] : 0.f;
                if (k & 1) first_b = fmaf(back[i][k], back[i][k], first_b); else first_a = fmaf(back[i][k], back[i][k], first_a);
            }
        const float first_square = over_rows(first_a, first_b, far);
        const float square = fmaf(last_square, hidden_square + 1.f, first_square * norm);
        float fa, fb;
        share(shortening(square, job.clip), far, fa, fb);
#pragma unroll
        for (int i = 0; i < MT; ++i)
#pragma unroll
            for (int up = 0; up < 2; ++up) {
                const int a = __float2int_rz(back[i][2 * up] * fa * job.per_fine), b = __float2int_rz(back[i][2 * up + 1] * fb * job.per_fine);
                if (16 * i + row + 8 * up < job.outer) lay_slopes(m, plane, 16 * i + row + 8 * up, first + 2 * quad, a, b);
                bias[i][up] += a + b;
            }
        for (int output = 0; output < job.outputs; ++output) {
            const int from = 4 * (output & 7) + quad;
            const float a = __shfl_sync(WHOLE_WARP, output < 8 ? out[0] : out[2], from) * fa, b = __shfl_sync(WHOLE_WARP, output < 8 ? out[1] : out[3], from) * fb;
            int sums[2 * MT + 1];
#pragma unroll
            for (int i = 0; i < MT; ++i)
#pragma unroll
                for (int up = 0; up < 2; ++up)
                    sums[2 * i + up] = __float2int_rz(a * h[i][2 * up] * job.per_last) + __float2int_rz(b * h[i][2 * up + 1] * job.per_last);
            sums[2 * MT] = __float2int_rz(a * job.per_last) + __float2int_rz(b * job.per_last);
#pragma unroll
            for (int i = 0; i <= 2 * MT; ++i) {
                sums[i] += __shfl_xor_sync(WHOLE_WARP, sums[i], 1);
                sums[i] += __shfl_xor_sync(WHOLE_WARP, sums[i], 2);
            }
            if (quad == 0) {
#pragma unroll
                for (int i = 0; i < 2 * MT; ++i) {
                    const int unit = 16 * (i >> 1) + row + 8 * (i & 1);
                    if (unit < job.hidden) atomicAdd(m.last_sums + output * job.hidden + unit, sums[i]);
                }
                if (row == 0) atomicAdd(m.last_sums + job.outputs * job.hidden + output, sums[2 * MT]);
            }
        }
    }
}

// ---- The way back.

// A sum of fine units with its noise, as a float; it takes the place of the noise.
__device__ __forceinline__ void with_noise(const Job& job, const Memory& m, int parameter, double fine, double fine_steps) {
    int* at = m.numbers + place(parameter);
    double steps = mul(fine, fine_steps);
    steps = add(add(steps, ROUNDER), -ROUNDER);
    *(float*)at = __double2float_rn(mul(job.granularity, add(steps, whole(*at))));
}

template <int LEVELS>
__device__ __forceinline__ double fine(const int (&c)[LEVELS][4], int k) {
    double sum = whole(c[LEVELS - 1][k]);
#pragma unroll
    for (int l = LEVELS - 2; l >= 0; --l) sum = fma(sum, 256.0, whole(c[l][k]));
    return sum;
}

// The sum for 32 features and 16 outputs, with its noise.
template <int MT, int FP>
__device__ __forceinline__ void group_back(const Job& job, const Memory& m, int group, int tile, int count, int lane) {
    constexpr int LEVELS = FP == 1 ? 3 : 5;
    const int row = lane >> 2, quad = lane & 3;
    int c[4][LEVELS][4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int l = 0; l < LEVELS; ++l)
#pragma unroll
            for (int k = 0; k < 4; ++k) c[j][l][k] = 0;
    const u8* from = job.rows + 32 * group + 4 * row;
    const int plane = job.outer * m.slope_stride;
    const signed char* low = m.slopes + min(16 * tile + row, job.outer - 1) * m.slope_stride + 4 * quad;
    const signed char* high = m.slopes + min(16 * tile + row + 8, job.outer - 1) * m.slope_stride + 4 * quad;
#pragma unroll 1
    for (int first = 0; first < count; first += 32) {
        const uint4 near = *(const uint4*)(m.drawn.offsets + first + 4 * quad), far = *(const uint4*)(m.drawn.offsets + first + 16 + 4 * quad);
        const u32 offsets[8] = {near.x, near.y, near.z, near.w, far.x, far.y, far.z, far.w};
        u32 x[FP][8];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const u8* record = from + offsets[i];
#pragma unroll
            for (int f = 0; f < FP; ++f) x[f][i] = *(const u32*)(record + f * job.width);
        }
        u32 turned[FP][2][4];
#pragma unroll
        for (int f = 0; f < FP; ++f) {
            turn(x[f][0], x[f][1], x[f][2], x[f][3], turned[f][0]);
            turn(x[f][4], x[f][5], x[f][6], x[f][7], turned[f][1]);
        }
#pragma unroll
        for (int w = 0; w < 3; ++w) {
            const signed char *a = low + w * plane + first, *b = high + w * plane + first;
            const u32 a0 = *(const u32*)a, a1 = *(const u32*)b, a2 = *(const u32*)(a + 16), a3 = *(const u32*)(b + 16);
#pragma unroll
            for (int j = 0; j < 4; ++j)
#pragma unroll
                for (int f = 0; f < FP; ++f) {
                    if (FP == 3 && f == 2) product_signed(c[j][w + f], a0, a1, a2, a3, turned[f][0][j], turned[f][1][j]);
                    else product(c[j][w + f], a0, a1, a2, a3, turned[f][0][j], turned[f][1][j]);
                }
        }
    }
    // Column n of tile j is feature 4 n + j: a lane has eight features side by side.
#pragma unroll
    for (int up = 0; up < 2; ++up) {
        const int output = 16 * tile + row + 8 * up;
        if (output < job.outer) {
#pragma unroll
            for (int e = 0; e < 8; ++e) {
                const int feature = 32 * group + 8 * quad + e;
                if (feature < job.inputs)
                    with_noise(job, m, output * job.inputs + feature, fine<LEVELS>(c[e & 3], 2 * up + (e >> 2)), job.fine_steps);
            }
        }
    }
}

// All parameters take their step, or their first values; what the largest weight of the first layer is, is left in `largest`.
template <int WARPS, bool HIDDEN>
__device__ __forceinline__ void update(const Job& job, const Team<WARPS>& team, const Memory& m, int step) {
    constexpr int THREADS = 32 * WARPS;
    const bool initial = step < 0;
    const float rate = initial ? 0.f : job.rates[step];
    const int weights = job.outer * job.inputs, quarter = job.width / 4;
    auto begun = [&](int at, int stands, double worth) {
        if (job.initial) return job.initial[at];
        return __fmul_rn(job.initial_scale, __double2float_rn(mul(worth, whole(m.numbers[place(stands)]))));
    };
    float most = 0;
#pragma unroll 1
    for (int at = team.thread; at < job.outer * quarter; at += THREADS) {
        const int output = at / quarter, feature = 4 * (at - output * quarter), parameter = output * job.inputs + feature;
        float4 w = make_float4(0, 0, 0, 0);
        float4 v = make_float4(0, 0, 0, 0);
        if (!initial) w = ((float4*)m.master)[at];
        if (job.momentum != 0.f && !initial) v = ((float4*)m.velocity)[at];
        float* ws = (float*)&w;
        float* vs = (float*)&v;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            if (feature + e < job.inputs) {
                ws[e] = initial ? begun(parameter + e, parameter + e, job.start) : stepped(job, ws[e], __int_as_float(m.numbers[place(parameter + e)]), rate, vs + e);
                most = fmaxf(most, fabsf(ws[e]));
            }
        }
        ((float4*)m.master)[at] = w;
        if (job.momentum != 0.f) ((float4*)m.velocity)[at] = v;
    }
    float* velocity = m.velocity + job.outer * job.width;
    for (int at = team.thread; at < job.outer; at += THREADS) {
        if (initial) {
            m.biases[at] = job.initial ? job.initial[weights + at] : 0.f;
            velocity[at] = 0.f;
        } else {
            m.biases[at] = stepped(job, m.biases[at], __int_as_float(m.numbers[place(weights + at)]), rate, velocity + at);
        }
    }
    if (HIDDEN) {
        const int before = weights + job.outer, last = job.outputs * job.hidden;
        const int stands = (weights + 31) / 32 * 32;
        for (int at = team.thread; at < last + job.outputs; at += THREADS) {
            if (initial) {
                m.last[at] = at < last ? begun(before + at, stands + at, job.start_last) : job.initial ? job.initial[before + at] : 0.f;
                velocity[job.outer + at] = 0.f;
            } else {
                m.last[at] = stepped(job, m.last[at], __int_as_float(m.numbers[place(before + at)]), rate, velocity + job.outer + at);
            }
        }
    }
#pragma unroll
    for (int by = 16; by; by /= 2) most = fmaxf(most, __shfl_xor_sync(WHOLE_WARP, most, by));
    if (team.lane == 0) m.largest[team.warp] = most;
}

// Weights of the first layer in three bytes each; returns what one of their units is worth in outputs.
template <int MT, int WARPS>
__device__ __forceinline__ float round_weights(const Job& job, const Team<WARPS>& team, const Memory& m) {
    constexpr int THREADS = 32 * WARPS;
    float most = m.largest[0];
#pragma unroll
    for (int i = 1; i < WARPS; ++i) most = fmaxf(most, m.largest[i]);
    // All weights are below 2^exponent; those that are no numbers any more are cut off.
    const int exponent = max((int)(__float_as_uint(most) >> 23) - 126, -100);
    const float up = __int_as_float((127 + 22 - exponent) << 23);
    const int quarter = job.width / 4;
#pragma unroll 1
    for (int at = team.thread; at < job.outer * quarter; at += THREADS) {
        const int output = at / quarter, feature = 4 * (at - output * quarter);
        const float4 w = ((const float4*)m.master)[at];
        const float ws[4] = {w.x, w.y, w.z, w.w};
        u32 low = 0, middle = 0, high = 0;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            int d0, d1, d2;
            digits(min(max(__float2int_rn(ws[e] * up), -(1 << 22)), 1 << 22), d0, d1, d2);
            low |= (u32)(d0 & 255) << 8 * e;
            middle |= (u32)(d1 & 255) << 8 * e;
            high |= (u32)(d2 & 255) << 8 * e;
        }
        // Of 64 features a lane has sixteen; the first eight are one half, and a product takes four of them for each of its sides.
        const int within = feature & 15, lane = 4 * (output & 7) + (feature >> 4 & 3);
        u32* to = m.weights + fragment(MT, output >> 4, feature >> 6, within >> 3, 0, lane) + (output >> 3 & 1) + 2 * (within >> 2 & 1);
        to[0] = low;
        to[128] = middle;
        to[256] = high;
    }
    return job.unit * __int_as_float((127 - 22 + exponent) << 23);
}

// ---- What is read.

template <int WARPS>
__device__ __forceinline__ void read_sums(const Job& job, const Team<WARPS>& team, const Memory& m, u8* scratch, float* out, int step) {
    float* said = said_to(job, scratch, out, step);
    for (int at = team.thread; at < job.read_parameter_count; at += 32 * WARPS) said[at] = __int_as_float(m.numbers[place(job.read_parameters[at])]);
    for (int direction = team.warp; direction < job.read_direction_count; direction += WARPS) {
        const float* along = job.read_directions + (size_t)direction * job.parameters;
        double sum = 0;
        for (int at = team.lane; at < job.parameters; at += 32)
            sum = fma((double)along[at], (double)__int_as_float(m.numbers[place(at)]), sum);
#pragma unroll
        for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(WHOLE_WARP, sum, by);
        if (team.lane == 0) said[job.read_parameter_count + direction] = (float)sum;
    }
    if (scores_now(job, step)) {
        team.meet();
        score_steps(job, heard_of(job, scratch), tallies_of(job, scratch), out, step / HEARD * HEARD, step, team.thread, 32 * WARPS);
        team.meet();
    }
}

template <int MT, int FP, bool HIDDEN, int WARPS>
__device__ __forceinline__ void read_outputs(const Job& job, const Team<WARPS>& team, const Memory& m, float per_weight, float* out) {
    const bool far = team.lane & 16;
    for (int tile = team.warp; 8 * tile < job.probes; tile += WARPS) {
        const int own = min(8 * tile + team.row, job.probes - 1), a = 8 * tile + 2 * team.quad, b = a + 1;
        float z[MT][4];
        forward<MT, FP>(job, m, job.rows + (size_t)(job.first_probe + own) * FP * job.width, per_weight, team.row, team.quad, z);
        if constexpr (!HIDDEN) {
#pragma unroll
            for (int up = 0; up < 2; ++up) {
                const int output = team.row + 8 * up;
                if (output < job.outputs && a < job.probes) out[a * job.outputs + output] = z[0][2 * up];
                if (output < job.outputs && b < job.probes) out[b * job.outputs + output] = z[0][2 * up + 1];
            }
        } else {
            float h[MT][4];
#pragma unroll
            for (int i = 0; i < MT; ++i)
#pragma unroll
                for (int k = 0; k < 4; ++k) h[i][k] = 16 * i + team.row + (k >= 2 ? 8 : 0) < job.hidden ? fmaxf(z[i][k], 0.f) : 0.f;
            for (int output = 0; output < job.outputs; ++output) {
                float za, zb;
                last_outputs<MT>(job, m, h, team.row, far, output, za, zb);
                if (team.row == 0 && a < job.probes) out[a * job.outputs + output] = za;
                if (team.row == 0 && b < job.probes) out[b * job.outputs + output] = zb;
            }
        }
    }
}

// ---- A training.

template <int MT, int FP, bool HIDDEN, bool LARGE, int WARPS>
__device__ __forceinline__ void train(const Job& job, u8* shared, int number, int teams) {
    const Team<WARPS> team;
    Memory m;
    lay_out<MT, FP, HIDDEN, LARGE, WARPS>(m, job, shared, job.scratch + (u64)number * job.scratch_each);
    const int groups = (job.parameters + 31) / 32;
    for (int at = number; at < job.count; at += teams) {
        team.meet();
        if (team.thread == 0) begin_trial(job, at, m.drawn);
        if (team.thread < 3) {
            const u32* key = team.thread == 0 ? job.noise_key : team.thread == 1 ? job.batch_key : job.init_key;
            derive(m.keys + 8 * team.thread, key, job.trials[at]);
        }
        for (int i = team.thread; i < 16 * MT; i += 32 * WARPS) m.biases[i] = 0.f;
        team.meet();
        float* out = job.out + (u64)at * job.out_each;
        float per_weight = 0;
#pragma unroll 1
        for (int step = -1; step < job.steps; ++step) {
            const bool initial = step < 0;
            int rounds = 0;
            if (!initial || !job.initial) {
                const int drawn = initial && HIDDEN ? groups + 1 : groups;
                rounds = draw_noise(team, job, m, m.keys + (initial ? 16 : 0), initial ? 0 : step, initial, drawn);
            }
            if (!initial) {
                if (team.warp == WARPS - 1) draw_batch(job, at, m.keys + 8, step, m.drawn.words, rounds, {job.guide, job.upper}, m.drawn, team.lane);
                for (int i = team.thread; i < 16 * MT; i += 32 * WARPS) m.bias_sums[i] = 0;
                if (HIDDEN) for (int i = team.thread; i < job.outputs * (job.hidden + 1); i += 32 * WARPS) m.last_sums[i] = 0;
            }
            team.meet();
            if (!initial) {
                // Crafted gradients are whole numbers of steps: they are added to the noise before anything else is.
                if (team.warp == WARPS - 1) {
                    for (int i = 0; i < *m.drawn.crafted_count; ++i) {
                        const int crafted = m.drawn.crafted[i];
                        for (int entry = job.crafted_starts[crafted] + team.lane; entry < job.crafted_starts[crafted + 1]; entry += 32) {
                            const uint2 e = job.crafted_entries[entry];
                            m.numbers[place(e.x)] += (int)e.y;
                        }
                        __syncwarp();
                    }
                }
                const int count = *m.drawn.count, padded = (count + 31) & ~31;
                int bias[MT][2];
#pragma unroll
                for (int i = 0; i < MT; ++i) bias[i][0] = bias[i][1] = 0;
#pragma unroll 1
                for (int tile = team.warp; 8 * tile < padded; tile += WARPS) tile_forward<MT, FP, HIDDEN>(job, m, per_weight, tile, team.lane, bias);
#pragma unroll
                for (int i = 0; i < MT; ++i)
#pragma unroll
                    for (int up = 0; up < 2; ++up) {
                        i64 sum = bias[i][up];
                        sum += __shfl_xor_sync(WHOLE_WARP, sum, 1);
                        sum += __shfl_xor_sync(WHOLE_WARP, sum, 2);
                        if (team.quad == 0 && sum != 0) atomicAdd((u64*)(m.bias_sums + 16 * i + team.row + 8 * up), (u64)sum);
                    }
                team.meet();
                const int wide = (job.inputs + 31) / 32;
#pragma unroll 1
                for (int part = team.warp; part < wide * MT; part += WARPS) group_back<MT, FP>(job, m, part % wide, part / wide, padded, team.lane);
                for (int i = team.thread; i < job.outer; i += 32 * WARPS)
                    with_noise(job, m, job.outer * job.inputs + i, (double)m.bias_sums[i], job.fine_bias_steps);
                if (HIDDEN)
                    for (int i = team.thread; i < job.outputs * (job.hidden + 1); i += 32 * WARPS)
                        with_noise(job, m, job.outer * (job.inputs + 1) + i, (double)m.last_sums[i], job.last_steps);
            }
            team.meet();
            if (!initial && (job.read == SUMS || job.read == SCORES)) read_sums(job, team, m, job.scratch + (u64)number * job.scratch_each, out, step);
            update<WARPS, HIDDEN>(job, team, m, step);
            team.meet();
            per_weight = round_weights<MT>(job, team, m);
            team.meet();
        }
        if (job.read == OUTPUTS) read_outputs<MT, FP, HIDDEN, WARPS>(job, team, m, per_weight, out);
        if (job.read == PARAMETERS) {
            const int weights = job.outer * job.inputs;
            for (int i = team.thread; i < weights; i += 32 * WARPS) out[i] = m.master[i / job.inputs * job.width + i % job.inputs];
            for (int i = team.thread; i < job.outer; i += 32 * WARPS) out[weights + i] = m.biases[i];
            if (HIDDEN)
                for (int i = team.thread; i < job.outputs * (job.hidden + 1); i += 32 * WARPS) out[weights + job.outer + i] = m.last[i];
        }
    }
}
