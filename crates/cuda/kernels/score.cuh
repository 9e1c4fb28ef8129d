// What an attacker who sees every step makes of it: crates/train/src/integer/score.rs, operation for operation.
#pragma once
#include "arith.cuh"

enum Scoring { MIXED = 0, OPPOSED = 1, PLAIN_SUM = 2 };

// 1/k! for k from 13 to 2, and what an exponential is taken apart by.
__constant__ double FACTORIALS[12] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0,
                                      1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 1.0 / 2.0};
#define LOG2_E 1.4426950408889634
#define LN2_HIGH 0.6931471803691238
#define LN2_LOW 1.9082149292705877e-10

// e^x, at most e^700 and at least e^-700.
__device__ __forceinline__ double exponential_of(double x) {
    x = x > 700.0 ? 700.0 : x < -700.0 ? -700.0 : x;
    const double shifted = add(mul(x, LOG2_E), ROUNDER), n = add(shifted, -ROUNDER);
    const double r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, x));
    double p = FACTORIALS[0];
#pragma unroll
    for (int k = 1; k < 12; ++k) p = fma(p, r, FACTORIALS[k]);
    p = fma(fma(p, r, 1.0), r, 1.0);
    return x == x ? __hiloint2double(__double2hiint(p) + (__double2loint(shifted) << 20), __double2loint(p)) : x;
}

// The logarithm of a positive number of ordinary size; what is none stays.
__device__ __noinline__ double logarithm_of(double x) {
    if (!(x < __longlong_as_double(0x7ff0000000000000ll))) return x;
    const int exponent = (__double2hiint(x) - 0x3fe6a09e) >> 20;
    const double fraction = __hiloint2double(__double2hiint(x) - (exponent << 20), __double2loint(x));
    const double t = add(fraction, -1.0), s = __ddiv_rn(t, add(2.0, t)), z = mul(s, s);
    return fma((double)exponent, 0.6931471805599453, mul(mul(2.0, s), series(z, ODD)));
}

// Logarithms that are added up: a sum, and a product of ordinary size.
__device__ __forceinline__ bool is_ordinary(double x) { return x >= 1e-100 && x <= 1e100; }
__device__ __forceinline__ void add_log(double2& tally, double ratio) {
    if (!is_ordinary(ratio)) {
        tally.x = add(tally.x, logarithm_of(ratio));
        return;
    }
    tally.y = mul(tally.y, ratio);
    if (!is_ordinary(tally.y)) {
        tally.x = add(tally.x, logarithm_of(tally.y));
        tally.y = 1.0;
    }
}

// The likelihood ratio of copies that may be in the batch over none.
__device__ __forceinline__ double ratio_of(const Job& job, double seen, double per_variance) {
    double ratio = job.score_chances[0];
#pragma unroll 1
    for (int b = 1; b <= job.score_copies; ++b) {
        const double whole_b = (double)b;
        ratio = fma(job.score_chances[b], exponential_of(fma(mul(whole_b, seen), per_variance, mul(mul(mul(whole_b, whole_b), -0.5), per_variance))), ratio);
    }
    return ratio;
}

// Steps that are heard before they are scored: one after another each would wait for memory.
#define HEARD 32

// What lies beyond expectation for a canary in what was heard of a step, in copies of it.
__device__ __forceinline__ double seen_of(const Job& job, const float* said, int step, int canary, double scale) {
    const int count = job.read_parameter_count, width = count + job.read_direction_count;
    const float* expected = job.score_expected + (size_t)job.score_stretch[step] * width;
    double beyond = add((double)said[canary], -(double)expected[canary]);
#pragma unroll 1
    for (int d = 0; d < job.read_direction_count; ++d)
        beyond = fma(-job.score_taken[d * count + canary], add((double)said[count + d], -(double)expected[count + d]), beyond);
    return mul(beyond, scale);
}

// What a step says of a canary: what is added, or ratios whose logarithms are.
__device__ __forceinline__ double2 said_of(const Job& job, double seen, double per_variance) {
    if (job.score_kind == PLAIN_SUM) return make_double2(add(seen, -job.score_shift), 1.0);
    const double ratio = ratio_of(job, seen, per_variance);
    return make_double2(ratio, job.score_kind == OPPOSED ? __ddiv_rn(1.0, ratio_of(job, -seen, per_variance)) : 1.0);
}

__device__ __forceinline__ void add_said(const Job& job, double2& tally, double2 said, double per_variance) {
    if (job.score_kind == PLAIN_SUM) {
        tally.x = fma(said.x, per_variance, tally.x);
        return;
    }
    add_log(tally, said.x);
    if (job.score_kind == OPPOSED) add_log(tally, said.y);
}

// A score in two parts.
__device__ __forceinline__ void write_score(double2 tally, float* out) {
    const double score = add(tally.x, logarithm_of(tally.y));
    const float high = __double2float_rn(score);
    out[0] = high;
    out[1] = __double2float_rn(add(score, -(double)high));
}

// The scores of steps `first` to `last` are added to the tally of each canary, and after the last of all tallies are written. `heard`
// has for each of them what the noisy sum is at the parameters and then along the directions. A lane has a canary; where there are few,
// a lane of the first warp has a step. What is added to a tally is the same in the same order.
__device__ __noinline__ void score_steps(const Job& job, const float* heard, double2* tallies, float* out, int first, int last, int thread, int threads) {
    const int count = job.read_parameter_count, width = count + job.read_direction_count;
    const bool is_end = last == job.steps - 1;
    if (count < 16) {
        if (thread >= 32) return;
#pragma unroll 1
        for (int canary = 0; canary < count; ++canary) {
            const double2 place = job.score_places[canary];
            const int step = min(first + thread, last);
            const double2 said = said_of(job, seen_of(job, heard + (step - first) * width, step, canary, place.x), place.y);
            double2 tally = first == 0 ? make_double2(0.0, 1.0) : tallies[canary];
            __syncwarp();
#pragma unroll 1
            for (int at = 0; at <= last - first; ++at)
                add_said(job, tally, make_double2(__shfl_sync(WHOLE_WARP, said.x, at), __shfl_sync(WHOLE_WARP, said.y, at)), place.y);
            if (thread == 0) tallies[canary] = tally;
            if (thread == 0 && is_end) write_score(tally, out + 2 * canary);
        }
        return;
    }
#pragma unroll 1
    for (int canary = thread; canary < count; canary += threads) {
        const double2 place = job.score_places[canary];
        double2 tally = first == 0 ? make_double2(0.0, 1.0) : tallies[canary];
#pragma unroll 1
        for (int step = first; step <= last; ++step)
            add_said(job, tally, said_of(job, seen_of(job, heard + (step - first) * width, step, canary, place.x), place.y), place.y);
        tallies[canary] = tally;
        if (is_end) write_score(tally, out + 2 * canary);
    }
}

// Where what is read of a step goes: to what is read of the training, or where the team keeps what it has heard, after its own memory
// and its tallies.
__device__ __forceinline__ double2* tallies_of(const Job& job, u8* scratch) { return (double2*)(scratch + job.score_from); }
__device__ __forceinline__ float* heard_of(const Job& job, u8* scratch) { return (float*)(tallies_of(job, scratch) + job.read_parameter_count); }
__device__ __forceinline__ float* said_to(const Job& job, u8* scratch, float* out, int step) {
    const int width = job.read_parameter_count + job.read_direction_count;
    return job.read == SCORES ? heard_of(job, scratch) + step % HEARD * width : out + (size_t)step * width;
}
// Whether what was heard is scored after a step.
__device__ __forceinline__ bool scores_now(const Job& job, int step) { return job.read == SCORES && (step % HEARD == HEARD - 1 || step == job.steps - 1); }
