// The noise room on a device: ChaCha12 blocks, and the integers round(2^20 Z) that crates/noise/src/vector makes of them, bit for
// bit: a pair whose rounding is in doubt is continued, so arithmetic of any kind finds the same one. Compiled without contraction: what
// is fused is written so.
#pragma once
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define WHOLE_WARP 0xffffffffu

__device__ __forceinline__ u32 turn16(u32 x) { return __byte_perm(x, x, 0x1032); }
__device__ __forceinline__ u32 turn8(u32 x) { return __byte_perm(x, x, 0x2103); }
__device__ __forceinline__ u32 turn12(u32 x) { return __funnelshift_l(x, x, 12); }
__device__ __forceinline__ u32 turn7(u32 x) { return __funnelshift_l(x, x, 7); }

#define QUARTER(a, b, c, d)         \
    a += b; d = turn16(d ^ a);      \
    c += d; b = turn12(b ^ c);      \
    a += b; d = turn8(d ^ a);       \
    c += d; b = turn7(b ^ c);

// Rounds of streams, two at a time: crates/noise/src/keystream.rs. Keys are derived with more.
#define DOUBLE_ROUNDS 6
#define DOUBLE_ROUNDS_OF_KEYS 10

// The 16 words of one block. The loop stays rolled: unrolled it outgrows the instruction cache.
template <int DOUBLES = DOUBLE_ROUNDS>
__device__ __forceinline__ void chacha(u32 (&x)[16], const u32* key, u64 counter, u64 nonce) {
    const uint4 low = *(const uint4*)key, high = *(const uint4*)(key + 4);
    const u32 c0 = (u32)counter, c1 = (u32)(counter >> 32), n0 = (u32)nonce, n1 = (u32)(nonce >> 32);
    x[0] = 0x61707865u; x[1] = 0x3320646eu; x[2] = 0x79622d32u; x[3] = 0x6b206574u;
    x[4] = low.x; x[5] = low.y; x[6] = low.z; x[7] = low.w;
    x[8] = high.x; x[9] = high.y; x[10] = high.z; x[11] = high.w;
    x[12] = c0; x[13] = c1; x[14] = n0; x[15] = n1;
#pragma unroll 1
    for (int round = 0; round < DOUBLES; ++round) {
        QUARTER(x[0], x[4], x[8], x[12]) QUARTER(x[1], x[5], x[9], x[13])
        QUARTER(x[2], x[6], x[10], x[14]) QUARTER(x[3], x[7], x[11], x[15])
        QUARTER(x[0], x[5], x[10], x[15]) QUARTER(x[1], x[6], x[11], x[12])
        QUARTER(x[2], x[7], x[8], x[13]) QUARTER(x[3], x[4], x[9], x[14])
    }
    x[0] += 0x61707865u; x[1] += 0x3320646eu; x[2] += 0x79622d32u; x[3] += 0x6b206574u;
    x[4] += low.x; x[5] += low.y; x[6] += low.z; x[7] += low.w;
    x[8] += high.x; x[9] += high.y; x[10] += high.z; x[11] += high.w;
    x[12] += c0; x[13] += c1; x[14] += n0; x[15] += n1;
}

// The first four words of a block, by a whole warp: four lanes have a column each, and every four do the same.
__device__ __forceinline__ uint4 four_words(const u32* key, u64 counter, u64 nonce, int lane) {
    const int column = lane & 3;
    const u32 first = column == 0 ? 0x61707865u : column == 1 ? 0x3320646eu : column == 2 ? 0x79622d32u : 0x6b206574u;
    u32 a = first, b = key[column], c = key[4 + column];
    u32 d = (u32)(column < 2 ? counter >> 32 * column : nonce >> 32 * (column - 2));
    const int next = lane & ~3 | (lane + 1 & 3), across = lane ^ 2, before = lane & ~3 | (lane + 3 & 3);
#pragma unroll 1
    for (int round = 0; round < DOUBLE_ROUNDS; ++round) {
        QUARTER(a, b, c, d)
        b = __shfl_sync(WHOLE_WARP, b, next);
        c = __shfl_sync(WHOLE_WARP, c, across);
        d = __shfl_sync(WHOLE_WARP, d, before);
        QUARTER(a, b, c, d)
        b = __shfl_sync(WHOLE_WARP, b, before);
        c = __shfl_sync(WHOLE_WARP, c, across);
        d = __shfl_sync(WHOLE_WARP, d, next);
    }
    a += first;
    return make_uint4(__shfl_sync(WHOLE_WARP, a, 0), __shfl_sync(WHOLE_WARP, a, 1), __shfl_sync(WHOLE_WARP, a, 2), __shfl_sync(WHOLE_WARP, a, 3));
}

// The child of a key under a label: its first eight words with the label as nonce (crates/noise/src/entropy.rs).
__device__ __forceinline__ void derive(u32* child, const u32* key, u64 label) {
    u32 x[16];
    chacha<DOUBLE_ROUNDS_OF_KEYS>(x, key, 0, label);
#pragma unroll
    for (int i = 0; i < 8; ++i) child[i] = x[i];
}

// Constants as memory operands: as immediates each takes two moves.
__constant__ double CONSTANTS[24] = {
    4503599627370495.5,                                                       // 0: 2^52 less a half
    0.6931471805599453 * 0x1p41,                                              // 1: ln 2, times 2^41
    -2.0 * 0x1p41, -0.6666666564545609 * 0x1p41, -0.4000033519092726 * 0x1p41, -0.2853730853990156 * 0x1p41, -0.23582151333460524 * 0x1p41,  // 2: 2 and LOG, times -2^41
    4503601774854144.0,                                                       // 7: 2^52 + 2^31
    2097153.0,                                                                // 8: 2^21 + 1
    3.590491804886236e-6, -2.4274482586587155e-8, -0.00032599170362114516, 0.01585434420402141, -0.30842513753123657,  // 9: COS
    -3.657141768663873e-5, 3.085634264354257e-7, 0.002490392478859163, -0.0807455118151637, 0.7853981633788064,        // 14: SIN
    6755399441055744.0,                                                       // 19: 1.5 2^52
    0.499999, 7.4e-10, 183.5,                                                 // 20: HALF, ANGLE, RADIUS
    0x1p-64};                                                                 // 23

__device__ __forceinline__ double mul(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ double add(double a, double b) { return __dadd_rn(a, b); }

// A whole number of 32 bits as a double, exactly.
__device__ __forceinline__ double whole(int x) {
    return __hiloint2double(0x43300000, x ^ (int)0x80000000) - CONSTANTS[7];
}

// Quotient and root within 2^-48 of themselves, where nothing is near the ends of the range: what the units of the device find, and
// one step of the third order. `every_radius` compares all 2^32 words with the correctly rounded ones.
__device__ __forceinline__ double divide(double a, double b) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
    const double e = fma(-b, r, 1.0);
    return mul(a, fma(r, fma(e, e, e), r));
}
__device__ __forceinline__ double root(double a) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(a));
    const double near = mul(a, y), e = fma(-near, y, 1.0);
    return fma(near, mul(e, fma(e, 0.375, 0.5)), near);
}

// 2^20 sqrt(-2 ln u), its square, and the power of two by which u comes to between sqrt(1/2) and sqrt(2).
struct Radius {
    double r, squared, power;
};

// The radius of u = scaled 2^-32: `radius` of kernel.rs.
template <bool GENERAL = false>
__device__ __forceinline__ Radius radius(double scaled) {
    const int high = __double2hiint(scaled), low = __double2loint(scaled);
    const int exponent = (high - (0x3fe6a09e + (32 << 20))) >> 20;
    const double fraction = __hiloint2double(high - ((32 + exponent) << 20), low);
    const double above = add(fraction, -1.0), below = add(fraction, 1.0);
    const double s = GENERAL ? __ddiv_rn(above, below) : divide(above, below);
    const double z = mul(s, s);
    double p = fma(z, CONSTANTS[6], CONSTANTS[5]);
    p = fma(z, p, CONSTANTS[4]);
    p = fma(z, p, CONSTANTS[3]);
    p = fma(z, p, CONSTANTS[2]);
    Radius found;
    found.squared = fma(s, p, mul(whole(-exponent), CONSTANTS[1]));
    found.r = GENERAL ? __dsqrt_rn(found.squared) : root(found.squared);
    found.power = __hiloint2double((1023 - exponent) << 20, 0);
    return found;
}

// The middle of a radius word's cell, times 2^32.
__device__ __forceinline__ double radius_middle(u32 word) { return __hiloint2double(0x43300000, (int)word) - CONSTANTS[0]; }

// The middle of the cell that the low 30 bits of an angle word name: ((word << 2) | 2) as a signed number times 2^-31, exact at every stage.
__device__ __forceinline__ double angle_middle(u32 word) {
    return __hiloint2double(0x43300000 - (31 << 20), (int)(((word << 2) | 2u) ^ 0x80000000u)) - CONSTANTS[8];
}

// Cosine and sine of h pi/4: `direction` of kernel.rs.
__device__ __forceinline__ void direction(double h, double& along, double& across) {
    const double z = mul(h, h);
    double c = fma(z, CONSTANTS[10], CONSTANTS[9]);
    c = fma(z, c, CONSTANTS[11]);
    c = fma(z, c, CONSTANTS[12]);
    c = fma(z, c, CONSTANTS[13]);
    along = fma(z, c, 1.0);
    double s = fma(z, CONSTANTS[15], CONSTANTS[14]);
    s = fma(z, s, CONSTANTS[16]);
    s = fma(z, s, CONSTANTS[17]);
    s = fma(z, s, CONSTANTS[18]);
    across = mul(h, s);
}

__device__ __forceinline__ int nearest(double x) { return __double2loint(add(x, CONSTANTS[19])); }

// The nearest integer, and how far from it a number is.
__device__ __forceinline__ int nearest(double x, double& off) {
    const double rounded = add(x, CONSTANTS[19]);
    off = fabs(x - (rounded - CONSTANTS[19]));
    return __double2loint(rounded);
}

__device__ __forceinline__ void reflect(u32 word, int along, int across, int& x, int& y) {
    const int negative = (int)word >> 31;
    along = (along ^ negative) - negative;
    const bool swap = word & (1u << 30);
    x = swap ? across : along;
    y = swap ? along : across;
}

// The pair of two words; whether it is in doubt, and not to be used.
__device__ __forceinline__ bool pair(u32 radius_word, u32 angle_word, int& x, int& y) {
    double along, across, off, other;
    const Radius of = radius(radius_middle(radius_word));
    direction(angle_middle(angle_word), along, across);
    const int first = nearest(mul(of.r, along), off), second = nearest(mul(of.r, across), other);
    reflect(angle_word, first, second, x, y);
    const double farther = off > other ? off : other;
    return fma(CONSTANTS[20] - farther, of.r, fma(of.squared, -CONSTANTS[21], mul(of.power, -CONSTANTS[22]))) < 0.0;
}

#include "exactly.cuh"

// The pair of two words and what continues them: crates/noise/src/vector/rare.rs.
__device__ __noinline__ int2 continued_pair(u32 radius_word, u32 angle_word, uint4 words) {
    const u64 more = (u64)words.y << 32 | words.x, more_angle = (u64)words.w << 32 | words.z;
    auto part_of_unit = [](u64 bits) { return mul(add(__ull2double_rn(bits), 0.5), CONSTANTS[23]); };
    int first, second;
    bool is_certain = false;
    if (~radius_word >= (1u << 16)) {
        double along, across, off, other;
        const double r = radius(add(__uint2double_rn(radius_word), part_of_unit(more))).r;
        direction(mul(add((double)((int)(angle_word << 2) >> 2), part_of_unit(more_angle)), 0x1p-29), along, across);
        first = nearest(mul(r, along), off);
        second = nearest(mul(r, across), other);
        const double certain = 0.5 - fma(r, 2e-12, 2.5e-6);
        is_certain = off < certain && other < certain;
    }
    if (!is_certain) exact_pair(radius_word, angle_word, more, more_angle, first, second);
    int2 found;
    reflect(angle_word, first, second, found.x, found.y);
    return found;
}

// Where a number stands in a buffer: one place in seventeen is left free, so that lanes that write 16 words each meet no bank twice.
__device__ __forceinline__ int place(int at) { return at + (at >> 4); }
