// A pair by arithmetic of twice the precision, where doubles leave its rounding in doubt: crates/noise/src/vector/exactly.rs.
#pragma once

// The sum of two numbers, of which the second is below half a last digit of the first.
struct Double {
    double high, low;
};

__device__ __forceinline__ Double of(double x) { return {x, 0.0}; }

__device__ __forceinline__ Double exact_sum(double a, double b) {
    const double high = add(a, b), of_b = add(high, -a);
    return {high, add(add(a, -add(high, -of_b)), add(b, -of_b))};
}

__device__ __forceinline__ Double exact_product(double a, double b) {
    const double high = mul(a, b);
    return {high, fma(a, b, -high)};
}

__device__ __noinline__ Double plus(Double a, Double b) {
    const Double high = exact_sum(a.high, b.high), low = exact_sum(a.low, b.low);
    const Double near = exact_sum(high.high, add(high.low, low.high));
    return exact_sum(near.high, add(near.low, low.low));
}

__device__ __noinline__ Double times(Double a, Double b) {
    const Double high = exact_product(a.high, b.high);
    return exact_sum(high.high, add(high.low, add(mul(a.high, b.low), mul(a.low, b.high))));
}

__device__ __noinline__ Double over(Double a, double by) {
    const double high = __ddiv_rn(a.high, by);
    const Double rest = plus(a, exact_product(high, -by));
    return exact_sum(high, __ddiv_rn(rest.high, by));
}

__device__ __forceinline__ Double negative(Double a) { return {-a.high, -a.low}; }

__device__ __forceinline__ int nearest_integer(Double x) {
    const Double shifted = plus(x, of(0.5));
    const double down = floor(shifted.high);
    return (int)down - (shifted.high == down && shifted.low < 0.0);
}

// (bits + 1/2) 2^-64, exactly.
__device__ __forceinline__ Double exact_part_of_unit(u64 bits) {
    const double upper = (double)(u32)(bits >> 32), lower = (double)(u32)bits;
    return plus(of(mul(upper, 0x1p-32)), of(mul(add(lower, 0.5), 0x1p-64)));
}

// e^x for 0 <= x < 70.
__device__ __noinline__ Double exponential(double x) {
    const double twos = rint(mul(x, 1.4426950408889634));
    const Double t = plus(of(x), times({0.6931471805599453, 2.3190468138462996e-17}, of(-twos)));
    Double series = of(1.0);
#pragma unroll 1
    for (int n = 27; n > 0; --n) series = plus(of(1.0), over(times(series, t), (double)n));
    return times(series, of(__hiloint2double((1023 + (int)twos) << 20, 0)));
}

__device__ __noinline__ Double exact_minus_log(u32 word, u64 more) {
    const Double u = times(plus(of((double)word), exact_part_of_unit(more)), of(0x1p-32));
    const double guess = u.high < 0.5 ? -log(u.high) : -log1p(plus(of(-1.0), u).high);
    const Double rest = plus(times(u, exponential(guess)), of(-1.0));
    const Double log_of_rest = plus(rest, times(times(rest, rest), of(-0.5)));
    return plus(of(guess), negative(log_of_rest));
}

__device__ __noinline__ Double exact_series(Double z, int first) {
    Double sum = of(1.0);
#pragma unroll 1
    for (int k = 13; k >= 0; --k) {
        const double n = (double)(2 * k + first);
        sum = plus(of(1.0), over(times(sum, z), mul(n, add(n, 1.0))));
    }
    return sum;
}

__device__ __noinline__ Double exact_root(Double x) {
    const double near = __dsqrt_rn(x.high);
    if (near == 0.0) return of(0.0);
    const Double rest = plus(x, exact_product(near, -near));
    return plus(of(near), over(rest, mul(2.0, near)));
}

// The integers nearest to the first and second normal of a pair, before they are reflected.
__device__ __noinline__ void exact_pair(u32 radius_word, u32 angle_word, u64 more, u64 more_angle, int& first, int& second) {
    const Double r = times(exact_root(times(exact_minus_log(radius_word, more), of(2.0))), of(1048576.0));
    const Double quarters = times(plus(of((double)((int)(angle_word << 2) >> 2)), exact_part_of_unit(more_angle)), of(0x1p-29));
    const Double angle = times(quarters, {0.7853981633974483, 3.061616997868383e-17});
    const Double z = negative(times(angle, angle));
    first = nearest_integer(times(r, exact_series(z, 1)));
    second = nearest_integer(times(r, times(angle, exact_series(z, 2))));
}
