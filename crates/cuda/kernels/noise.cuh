// The noise crate on a device: ChaCha12 blocks, and the integers round(2^20 Z) that crates/noise/src/vector makes of them, bit for
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

// The first four words of a block, by four lanes that have a column each; every four lanes may want another block.
__device__ __forceinline__ uint4 four_words(const u32* key, u64 counter, u64 nonce, int lane) {
    const int column = lane & 3, mates = lane & ~3;
    const u32 first = column == 0 ? 0x61707865u : column == 1 ? 0x3320646eu : column == 2 ? 0x79622d32u : 0x6b206574u;
    u32 a = first, b = key[column], c = key[4 + column];
    u32 d = (u32)(column < 2 ? counter >> 32 * column : nonce >> 32 * (column - 2));
    const int next = mates | (lane + 1 & 3), across = lane ^ 2, before = mates | (lane + 3 & 3);
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
    return make_uint4(__shfl_sync(WHOLE_WARP, a, mates), __shfl_sync(WHOLE_WARP, a, mates | 1), __shfl_sync(WHOLE_WARP, a, mates | 2), __shfl_sync(WHOLE_WARP, a, mates | 3));
}

// The child of a key under a label: its first eight words with the label as nonce (crates/noise/src/entropy.rs).
__device__ __forceinline__ void derive(u32* child, const u32* key, u64 label) {
    // A key of the job is where four words at once cannot be read.
    alignas(16) u32 own[8];
    u32 x[16];
#pragma unroll
    for (int i = 0; i < 8; ++i) own[i] = key[i];
    chacha<DOUBLE_ROUNDS_OF_KEYS>(x, own, 0, label);
#pragma unroll
    for (int i = 0; i < 8; ++i) child[i] = x[i];
}

// Constants as memory operands: as immediates each takes two moves.
__constant__ double CONSTANTS[20] = {
    4503599627370495.5,                                                       // 0: 2^52 less a half
    0.6931471805599453 * 0x1p41, -0.6931471805599453 * 0x1p61,                // 1: ln 2, times 2^41 and -2^61
    -2.0 * 0x1p41, -0.6666666564545609 * 0x1p41, -0.4000033519092726 * 0x1p41, -0.2853730853990156 * 0x1p41, -0.23582151333460524 * 0x1p41,  // 3: 2 and LOG, times -2^41
    0.0,
    // 9: COS and then SIN, which take h times 2^31.
    3.590491804886236e-6 * 0x1p-248, -2.4274482586587155e-8 * 0x1p-310, -0.00032599170362114516 * 0x1p-186, 0.01585434420402141 * 0x1p-124, -0.30842513753123657 * 0x1p-62,
    -3.657141768663873e-5 * 0x1p-217, 3.085634264354257e-7 * 0x1p-279, 0.002490392478859163 * 0x1p-155, -0.0807455118151637 * 0x1p-93, 0.7853981633788064 * 0x1p-31,
    103079215104.5};                                                          // 19: 1.5 2^36 + 1/2
// Adding it leaves a number below 2^31 rounded to an integer in the low 32 bits.
#define ROUNDER 6755399441055744.0

__device__ __forceinline__ double mul(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ double add(double a, double b) { return __dadd_rn(a, b); }

// Quotient and root within 2^-39 of themselves, where nothing is near the ends of the range: what the units of the device find, and
// one step of Newton's. `every_radius` compares all 2^32 words with the correctly rounded ones.
__device__ __forceinline__ double divide(double a, double b) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
    return mul(a, fma(r, fma(-b, r, 1.0), r));
}
__device__ __forceinline__ double inverse_root(double a) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(a));
    return y;
}
__device__ __forceinline__ double half_of(double x) { return __hiloint2double(__double2hiint(x) - (1 << 20), __double2loint(x)); }

// r = 2^20 sqrt(-2 ln u), nearly 1/r, and the exponent by which u comes to between sqrt(1/2) and sqrt(2).
struct Radius {
    double r, inverse;
    int exponent;
};

// The radius of u = scaled 2^-32: `radius` of kernel.rs; by the device's own quotients and roots, or by correctly rounded ones.
template <bool ROUNDED = false>
__device__ __forceinline__ Radius radius(double scaled) {
    const int high = __double2hiint(scaled), low = __double2loint(scaled);
    const int exponent = (high - (0x3fe6a09e + (32 << 20))) >> 20;
    const double fraction = __hiloint2double(high - ((32 + exponent) << 20), low);
    const double above = add(fraction, -1.0), below = add(fraction, 1.0);
    const double s = ROUNDED ? __ddiv_rn(above, below) : divide(above, below);
    const double z = mul(s, s);
    double p = fma(z, CONSTANTS[7], CONSTANTS[6]);
    p = fma(z, p, CONSTANTS[5]);
    p = fma(z, p, CONSTANTS[4]);
    p = fma(z, p, CONSTANTS[3]);
    // 2^20 - exponent, whose upper word ends in ones; 2^20 ln 2 is taken off again, so that nothing but -exponent ln 2 is rounded.
    const double twos = __hiloint2double(0x41300000 - exponent, 0);
    const double squared = fma(s, p, fma(twos, CONSTANTS[1], CONSTANTS[2]));
    if (ROUNDED) return {__dsqrt_rn(squared), 0.0, exponent};
    const double inverse = inverse_root(squared), near = mul(squared, inverse);
    return {fma(near, fma(-near, half_of(inverse), 0.5), near), inverse, exponent};
}

// The middle of a radius word's cell, times 2^32.
__device__ __forceinline__ double radius_middle(u32 word) { return __hiloint2double(0x43300000, (int)word) - CONSTANTS[0]; }

// The middle of the cell that the low 30 bits of an angle word name, times 2^31.
__device__ __forceinline__ double angle_middle(u32 word) { return __int2double_rn((int)(word << 2 | 2)); }

// Cosine and sine of h pi/4 for h times 2^31: `direction` of kernel.rs.
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

__device__ __forceinline__ int nearest(double x) { return __double2loint(add(x, ROUNDER)); }

__device__ __forceinline__ void reflect(u32 word, int along, int across, int& x, int& y) {
    const int negative = (int)word >> 31;
    along = (along ^ negative) - negative;
    const bool swap = (int)(word << 1) < 0;
    x = swap ? across : along;
    y = swap ? along : across;
}

// A number of ordinary size from above 0, cut off to the 20 digits of its upper word.
__device__ __forceinline__ float cut_off(double x) { return __int_as_float((__double2hiint(x) << 3) + 0x40000000); }

// How far from a half the two of a pair have to be, as 2^16ths in the lowest digits: `margin` of kernel.rs with a little more of ANGLE and
// RADIUS, since r is cut off here, and with two 2^16ths where it has a millionth: half of one for the rounding of what is compared with
// it, two thirds of one for the radius (`every_radius`); the roundings of the bound itself are made up for by what `pair` adds.
__device__ __forceinline__ u32 doubtful(const Radius& of) {
    const float per_u = __int_as_float((127 - of.exponent) << 23);
    const float within = fmaf(__fmul_rn(cut_off(of.inverse), per_u), 183.51f * 65536.f, fmaf(cut_off(of.r), 7.4001e-10f * 65536.f, 8388610.f));
    return __float_as_uint(fminf(within, 8388608.f + 32767.f));
}

// The pair of two words; whether it is in doubt, and not to be used.
__device__ __forceinline__ bool pair(u32 radius_word, u32 angle_word, int& x, int& y) {
    double along, across;
    const Radius of = radius(radius_middle(radius_word));
    direction(angle_middle(angle_word), along, across);
    const double product = mul(of.r, along);
    const double reflected = __hiloint2double(__double2hiint(product) ^ (int)(angle_word & 0x80000000u), __double2loint(product));
    // Rounded down after a half is added: the integer, and then 16 digits that say where between two of them it is.
    const double first = add(reflected, CONSTANTS[19]), second = add(mul(of.r, across), CONSTANTS[19]);
    auto integer = [](double x) { return (int)__funnelshift_r((u32)__double2loint(x), (u32)__double2hiint(x), 16); };
    const bool swap = (int)(angle_word << 1) < 0;
    x = swap ? integer(second) : integer(first);
    y = swap ? integer(first) : integer(second);
    // One more, which makes up for two roundings of the bound. Where all of a unit is doubtful, nothing is beyond both.
    const u32 within = doubtful(of), near = (within << 16) + 0xffff, both = (within << 17) + 0x1ffff;
    return ((u32)__double2loint(first) << 16) + near <= both | ((u32)__double2loint(second) << 16) + near <= both;
}

#include "exactly.cuh"

// 1/(2k + 1), 1/(2k)! and 1/(2k + 1)!.
__constant__ double ODD[12] = {1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
__constant__ double OF_COSINE[10] = {1.0, 1.0 / 2, 1.0 / 24, 1.0 / 720, 1.0 / 40320, 1.0 / 3628800, 1.0 / 479001600, 1.0 / 87178291200, 1.0 / 20922789888000,
                                     1.0 / 6402373705728000};
__constant__ double OF_SINE[10] = {1.0, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880, 1.0 / 39916800, 1.0 / 6227020800, 1.0 / 1307674368000,
                                   1.0 / 355687428096000, 1.0 / 121645100408832000};

template <int TERMS>
__device__ __forceinline__ double series(double z, const double (&terms)[TERMS]) {
    double sum = terms[TERMS - 1];
#pragma unroll
    for (int k = TERMS - 2; k >= 0; --k) sum = fma(sum, z, terms[k]);
    return sum;
}

// The pair of two words and what continues them: crates/noise/src/vector/rare.rs, but nearer to the truth, since what doubles leave in doubt
// keeps a warp waiting here.
__device__ __noinline__ int2 continued_pair(u32 radius_word, u32 angle_word, uint4 words) {
    const u64 more = (u64)words.y << 32 | words.x, more_angle = (u64)words.w << 32 | words.z;
    auto part_of_unit = [](u64 bits) { return mul(add(__ull2double_rn(bits), 0.5), 0x1p-64); };
    int first = 0, second = 0;
    bool is_certain = false;
    if (~radius_word >= (1u << 16)) {
        const double scaled = add(__uint2double_rn(radius_word), part_of_unit(more));
        const int exponent = (__double2hiint(scaled) - (0x3fe6a09e + (32 << 20))) >> 20;
        const double fraction = __hiloint2double(__double2hiint(scaled) - ((32 + exponent) << 20), __double2loint(scaled));
        const double s = __ddiv_rn(add(fraction, -1.0), add(fraction, 1.0));
        const double minus_log = fma((double)-exponent, 0.6931471805599453, mul(mul(-2.0, s), series(mul(s, s), ODD)));
        const double r = __dsqrt_rn(mul(minus_log, 0x1p41));
        const double angle = mul(add((double)((int)(angle_word << 2) >> 2), part_of_unit(more_angle)), 0.7853981633974483 * 0x1p-29), z = -mul(angle, angle);
        const double x = mul(r, series(z, OF_COSINE)), y = mul(r, mul(angle, series(z, OF_SINE)));
        first = nearest(x);
        second = nearest(y);
        // u has 53 digits, which is 1.1e-8 for the smallest radius here; all else is a few last digits of r.
        const double certain = 0.5 - fma(r, 4e-15, 1e-7);
        is_certain = fabs(add(x, -(double)first)) < certain && fabs(add(y, -(double)second)) < certain;
    }
    if (!is_certain) exact_pair(radius_word, angle_word, more, more_angle, first, second);
    int2 found;
    reflect(angle_word, first, second, found.x, found.y);
    return found;
}

// Where a number stands in a buffer: one place in seventeen is left free, so that lanes that write 16 words each meet no bank twice.
__device__ __forceinline__ int place(int at) { return at + (at >> 4); }
