// The noise room on a device: ChaCha20 blocks, and the integers round(2^20 Z) that crates/noise/src/vector makes of them, bit for
// bit. Compiled without contraction: every operation is the one that is written, and correctly rounded.
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

// The 16 words of one block: crates/noise/src/keystream.rs. The loop stays rolled: unrolled it outgrows the instruction cache.
__device__ __forceinline__ void chacha(u32 (&x)[16], const u32* key, u64 counter, u64 nonce) {
    const uint4 low = *(const uint4*)key, high = *(const uint4*)(key + 4);
    const u32 c0 = (u32)counter, c1 = (u32)(counter >> 32), n0 = (u32)nonce, n1 = (u32)(nonce >> 32);
    x[0] = 0x61707865u; x[1] = 0x3320646eu; x[2] = 0x79622d32u; x[3] = 0x6b206574u;
    x[4] = low.x; x[5] = low.y; x[6] = low.z; x[7] = low.w;
    x[8] = high.x; x[9] = high.y; x[10] = high.z; x[11] = high.w;
    x[12] = c0; x[13] = c1; x[14] = n0; x[15] = n1;
#pragma unroll 1
    for (int round = 0; round < 10; ++round) {
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

// The first two words of a block, by a whole warp: four lanes have a column each, and every four do the same.
__device__ __forceinline__ uint2 two_words(const u32* key, u64 counter, u64 nonce, int lane) {
    const int column = lane & 3;
    const u32 first = column == 0 ? 0x61707865u : column == 1 ? 0x3320646eu : column == 2 ? 0x79622d32u : 0x6b206574u;
    u32 a = first, b = key[column], c = key[4 + column];
    u32 d = (u32)(column < 2 ? counter >> 32 * column : nonce >> 32 * (column - 2));
    const int next = lane & ~3 | (lane + 1 & 3), across = lane ^ 2, before = lane & ~3 | (lane + 3 & 3);
#pragma unroll 1
    for (int round = 0; round < 10; ++round) {
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
    return make_uint2(__shfl_sync(WHOLE_WARP, a, 0), __shfl_sync(WHOLE_WARP, a, 1));
}

// The child of a key under a label: its first eight words with the label as nonce (crates/noise/src/entropy.rs).
__device__ __forceinline__ void derive(u32* child, const u32* key, u64 label) {
    u32 x[16];
    chacha(x, key, 0, label);
#pragma unroll
    for (int i = 0; i < 8; ++i) child[i] = x[i];
}

// Constants as memory operands: as immediates each takes two moves.
__constant__ double CONSTANTS[22] = {
    4503599627370495.5,                                                       // 0: 2^52 less a half
    0.6931471805599453,                                                       // 1: ln 2
    2199023255552.0,                                                          // 2: 2^41
    0.2853730853990156, 0.23582151333460524, 0.4000033519092726, 0.6666666564545609,   // 3: LOG 2, 3, 1, 0
    4503601774854144.0,                                                       // 7: 2^52 + 2^31
    2097153.0,                                                                // 8: 2^21 + 1
    3.590491804886236e-6, -2.4274482586587155e-8, -0.00032599170362114516, 0.01585434420402141, -0.30842513753123657,  // 9: COS
    -3.657141768663873e-5, 3.085634264354257e-7, 0.002490392478859163, -0.0807455118151637, 0.7853981633788064,        // 14: SIN
    6755399441055744.0,                                                       // 19: 1.5 2^52
    0.7853981633974483, 1048576.0};                                           // 20: pi/4, 2^20

__device__ __forceinline__ double mul(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ double add(double a, double b) { return __dadd_rn(a, b); }

// A whole number of 32 bits as a double, exactly.
__device__ __forceinline__ double whole(int x) {
    return __hiloint2double(0x43300000, x ^ (int)0x80000000) - CONSTANTS[7];
}

// Quotient and root, correctly rounded, where nothing is near the ends of the range: Newton's steps without the branch of the
// general ones, so that several can be in flight. `every_radius` compares all 2^32 words with the general ones.
__device__ __forceinline__ double divide(double a, double b) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
    double e = fma(-b, r, 1.0);
    e = fma(e, e, e);
    r = fma(r, e, r);
    e = fma(-b, r, 1.0);
    r = fma(r, e, r);
    const double q = mul(a, r);
    return fma(r, fma(-b, q, a), q);
}
__device__ __forceinline__ double root(double a) {
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(a));
    const double e = fma(a, -mul(y, y), 1.0);
    y = fma(fma(e, 0.375, 0.5), mul(y, e), y);
    const double s = mul(a, y);
    const double half = __hiloint2double(__double2hiint(y) - (1 << 20), __double2loint(y));
    return fma(fma(s, -s, a), half, s);
}

// 2^20 sqrt(-2 ln u) for u = (word + 1/2) 2^-32: `radius` of kernel.rs.
template <bool GENERAL = false>
__device__ __forceinline__ double radius(u32 word) {
    const double u = __hiloint2double(0x43300000, (int)word) - CONSTANTS[0];
    const int high = __double2hiint(u), low = __double2loint(u);
    const int exponent = (high - (0x3fe6a09e + (32 << 20))) >> 20;
    const double fraction = __hiloint2double(high - ((32 + exponent) << 20), low);
    const double t = add(fraction, -1.0);
    const double s = GENERAL ? __ddiv_rn(t, add(2.0, t)) : divide(t, add(2.0, t));
    const double z = mul(s, s);
    double p = add(CONSTANTS[3], mul(z, CONSTANTS[4]));
    p = add(CONSTANTS[5], mul(z, p));
    p = add(CONSTANTS[6], mul(z, p));
    p = mul(s, add(2.0, mul(z, p)));
    const double x = mul(add(mul(whole(-exponent), CONSTANTS[1]), -p), CONSTANTS[2]);
    return GENERAL ? __dsqrt_rn(x) : root(x);
}

// Cosine and sine of the angle in the low 30 bits: `direction` of kernel.rs.
__device__ __forceinline__ void direction(u32 word, double& along, double& across) {
    // ((word << 2) | 2) as a signed number times 2^-31, exact at every stage.
    const double h = __hiloint2double(0x43300000 - (31 << 20), (int)(((word << 2) | 2u) ^ 0x80000000u)) - CONSTANTS[8];
    const double z = mul(h, h);
    double c = add(CONSTANTS[9], mul(z, CONSTANTS[10]));
    c = add(CONSTANTS[11], mul(z, c));
    c = add(CONSTANTS[12], mul(z, c));
    c = add(CONSTANTS[13], mul(z, c));
    along = add(1.0, mul(z, c));
    double s = add(CONSTANTS[14], mul(z, CONSTANTS[15]));
    s = add(CONSTANTS[16], mul(z, s));
    s = add(CONSTANTS[17], mul(z, s));
    s = add(CONSTANTS[18], mul(z, s));
    across = mul(h, s);
}

__device__ __forceinline__ int nearest(double x) { return __double2loint(add(x, CONSTANTS[19])); }

__device__ __forceinline__ void reflect(u32 word, int along, int across, int& x, int& y) {
    const int negative = (int)word >> 31;
    along = (along ^ negative) - negative;
    const bool swap = word & (1u << 30);
    x = swap ? across : along;
    y = swap ? along : across;
}

__device__ __forceinline__ void pair(u32 radius_word, u32 angle_word, int& x, int& y) {
    double along, across;
    const double r = radius(radius_word);
    direction(angle_word, along, across);
    reflect(angle_word, nearest(mul(r, along)), nearest(mul(r, across)), x, y);
}

// Radii that 32 bits do not determine: beyond 3.9 and below 0.0055.
__device__ __forceinline__ bool is_rare(u32 radius_word) { return radius_word + (1u << 16) < (1u << 21) + (1u << 16); }

// 1/(2k + 1), and 1/(n(n + 1)) for n = 2k + 1 and n = 2k + 2: what the series of a rare pair are made of.
__constant__ double ODD[12] = {1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
__constant__ double OF_COSINE[10] = {1.0 / 2, 1.0 / 12, 1.0 / 30, 1.0 / 56, 1.0 / 90, 1.0 / 132, 1.0 / 182, 1.0 / 240, 1.0 / 306, 1.0 / 380};
__constant__ double OF_SINE[10] = {1.0 / 6, 1.0 / 20, 1.0 / 42, 1.0 / 72, 1.0 / 110, 1.0 / 156, 1.0 / 210, 1.0 / 272, 1.0 / 342, 1.0 / 420};

// The pair of a rare radius, continued by 64 bits: crates/noise/src/vector/rare.rs.
__device__ __noinline__ int2 rare_pair(u32 radius_word, u64 more, u32 angle_word) {
    auto on_unit = [](u32 word, u64 more) {
        const double unit = 0x1p-32;
        return mul(add(__uint2double_rn(word), mul(mul(add(__ull2double_rn(more), 0.5), unit), unit)), unit);
    };
    double minus_log;
    if (~radius_word < (1u << 16)) {
        const double u = on_unit(~radius_word, ~more);
        minus_log = mul(u, add(1.0, mul(u, add(1.0 / 2.0, mul(u, add(1.0 / 3.0, mul(u, 1.0 / 4.0)))))));
    } else {
        const double u = on_unit(radius_word, more);
        const int exponent = (__double2hiint(u) - 0x3fe6a09e) >> 20;
        const double fraction = __hiloint2double(__double2hiint(u) - (exponent << 20), __double2loint(u));
        const double t = add(fraction, -1.0);
        const double s = __ddiv_rn(t, add(2.0, t));
        const double z = mul(s, s);
        double series = 0.0;
#pragma unroll 1
        for (int k = 11; k >= 0; --k) series = add(mul(series, z), ODD[k]);
        minus_log = add(mul(-(double)exponent, CONSTANTS[1]), -mul(mul(2.0, s), series));
    }
    const double r = mul(CONSTANTS[21], __dsqrt_rn(mul(2.0, minus_log)));
    const double angle = mul(mul((double)(int)((angle_word << 2) | 2u), 0x1p-31), CONSTANTS[20]);
    const double z = -mul(angle, angle);
    double cosine = 1.0, sine = 1.0;
#pragma unroll 1
    for (int k = 9; k >= 0; --k) {
        cosine = add(1.0, mul(mul(cosine, z), OF_COSINE[k]));
        sine = add(1.0, mul(mul(sine, z), OF_SINE[k]));
    }
    int2 found;
    reflect(angle_word, nearest(mul(r, cosine)), nearest(mul(r, mul(angle, sine))), found.x, found.y);
    return found;
}

// Where a number stands in a buffer: one place in seventeen is left free, so that lanes that write 16 words each meet no bank twice.
__device__ __forceinline__ int place(int at) { return at + (at >> 4); }
