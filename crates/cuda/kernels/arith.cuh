// What all trainings are made of: products of bytes, exponentials, slopes, clipping and a step of the optimiser.
#pragma once
#include "batch.cuh"

// ---- Products of bytes.

__device__ __forceinline__ void product(int (&c)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void product_signed(int (&c)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// The same with the bytes of records on the left and those of weights on the right.
__device__ __forceinline__ void product_of_records(int (&c)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
// The same, from nothing.
__device__ __forceinline__ void first_product_of_records(int (&c)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
        : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(0));
}

// A whole number of at most 2^22 in three signed bytes, the lowest first.
__device__ __forceinline__ void digits(int x, int& d0, int& d1, int& d2) {
    d0 = (int)(signed char)x;
    x = (x - d0) >> 8;
    d1 = (int)(signed char)x;
    d2 = (x - d1) >> 8;
}

// e^x for x <= 0, and a little above, by its definition in correctly rounded steps; below -86 as at -86.
__device__ __forceinline__ float exponential(float x) {
    x = fmaxf(x, -86.f);
    // The whole part of x log2(e) is in the lowest bits, and what is left is its fraction.
    const float shifted = fmaf(x, 1.44269504f, 12582912.f), n = __fadd_rn(shifted, -12582912.f);
    float f = fmaf(x, 1.44269504f, -n);
    f = fmaf(x, 1.925963033e-8f, f);
    float p = fmaf(f, 1.535336188e-4f, 1.339887440e-3f);
    p = fmaf(f, p, 9.618437357e-3f);
    p = fmaf(f, p, 5.550332471e-2f);
    p = fmaf(f, p, 2.402264791e-1f);
    p = fmaf(f, p, 6.931472028e-1f);
    p = fmaf(f, p, 1.0f);
    return __int_as_float(__float_as_int(p) + (__float_as_int(shifted) << 23));
}

// The slope of the loss by a single output: crates/train/src/loss.rs.
__device__ __forceinline__ float slope(int loss, float output, float label) {
    if (loss == SQUARED) return output - label;
    const bool positive = __float_as_int(label) == 1;
    const float margin = positive ? output : -output, small = exponential(-fabsf(margin));
    const float miss = __fdiv_rn(margin < 0.f ? 1.f : small, 1.f + small);
    return positive ? -miss : miss;
}

// What a gradient with this squared norm is multiplied with; nothing of it is left where that is not finite.
__device__ __forceinline__ float shortening(float square, float clip) {
    if (!(square < __int_as_float(0x7f800000))) return 0.f;
    const float norm = __fsqrt_rn(square);
    return norm > clip ? __fdiv_rn(clip, norm) : 1.f;
}

// 1/x, the root of x and a/b, rounded as they are elsewhere: what a compiler makes of them where nothing is near the ends of the range,
// without its looks whether that is so. `every_float` compares them.
__device__ __forceinline__ float quick_inverse(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return fmaf(y, fmaf(-x, y, 1.f), y);
}
__device__ __forceinline__ float quick_root(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    const float near = __fmul_rn(x, y);
    return fmaf(fmaf(-near, near, x), __fmul_rn(y, 0.5f), near);
}
__device__ __forceinline__ float quick_quotient(float a, float b) {
    const float y = quick_inverse(b), near = __fmul_rn(a, y);
    return fmaf(y, fmaf(-b, near, a), near);
}

// The same as `shortening`, without a branch, for norms to clip to from 2^-40 to 2^40. A root that is wrong, of what is far below, is not used.
__device__ __forceinline__ float quick_shortening(float square, float clip) {
    const float norm = quick_root(square), shorter = quick_quotient(clip, norm);
    const float kept = norm > clip ? shorter : 1.f;
    return square < __int_as_float(0x7f800000) ? kept : 0.f;
}

// An address as it is, of which the compiler does not know what it is made of; `nought` is 0. It would take it apart again.
__device__ __forceinline__ const u8* opaque(const u8* from, u32 nought) { return (const u8*)((u64)from ^ nought); }
// Where a row has what `from` is of the first: one instruction.
__device__ __forceinline__ u64 of_row(const u8* from, u32 row, u32 width) {
    u64 at;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(at) : "r"(row), "r"(width), "l"(from));
    return at;
}
// Records, which nothing writes.
__device__ __forceinline__ u32 four_at(u64 at) {
    u32 x;
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(x) : "l"(at));
    return x;
}
__device__ __forceinline__ uint4 sixteen_at(u64 at) {
    uint4 x;
    asm("ld.global.nc.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(at));
    return x;
}

// Four records' bytes of four features, turned: byte i of word j was byte j of word i.
__device__ __forceinline__ void turn(u32 a, u32 b, u32 c, u32 d, u32 (&t)[4]) {
    const u32 ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140);
    const u32 ab2 = __byte_perm(a, b, 0x7362), cd2 = __byte_perm(c, d, 0x7362);
    t[0] = __byte_perm(ab, cd, 0x5410);
    t[1] = __byte_perm(ab, cd, 0x7632);
    t[2] = __byte_perm(ab2, cd2, 0x5410);
    t[3] = __byte_perm(ab2, cd2, 0x7632);
}

// ---- A step of the optimiser: crates/train/src/optimiser.
__device__ __forceinline__ float stepped(const Job& job, float w, float sum, float rate, float* velocity) {
    if (job.decay != 0.f) w = __fsub_rn(w, __fmul_rn(__fmul_rn(rate, job.decay), w));
    if (job.momentum == 0.f) return __fsub_rn(w, __fmul_rn(__fmul_rn(rate, job.scale), sum));
    const float v = __fadd_rn(__fmul_rn(job.momentum, *velocity), __fmul_rn(job.scale, sum));
    *velocity = v;
    return __fsub_rn(w, __fmul_rn(rate, v));
}
