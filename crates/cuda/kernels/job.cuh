// What the host tells a kernel. The same fields in the same order as `Job` of crates/train/src/integer/job.rs.
#pragma once
#include "noise.cuh"

enum Loss { SOFTMAX = 0, LOGISTIC = 1, SQUARED = 2 };
enum Batches { EVERYTHING = 0, POISSON = 1, SHUFFLED = 2 };
enum Read { SUMS = 0, OUTPUTS = 1, PARAMETERS = 2, SCORES = 3 };

struct Job {
    // Records: rows of `planes` x `width` bytes, and for each its squared norm with the bias and its label.
    const u8* rows;
    const float2* about;
    // Batches.
    const u64* limits;
    const u16* guide;          // for each value of ten leading bits, the first gap whose limit lies beyond
    const u32* upper;          // the upper halves of limits, and one that no word is beyond
    // Worlds: one entry for each trial.
    const u64* trials;
    const int* changed;        // pairs: a position or -1, and the row that stands there or -1
    const u32* is_in;          // `planted_words` words of choices
    const int* crafted;        // `crafted_count` numbers of crafted gradients, or -1
    const int* crafted_starts; // where the entries of each begin
    const uint2* crafted_entries; // a parameter, and steps of the grid
    // The learning rate of each step, and the initial parameters where they are given.
    const float* rates;
    const float* initial;
    // What is read.
    const u32* read_parameters;
    const float* read_directions;
    // How noisy sums are scored: what to expect, what is taken away for one along each direction, for each canary what is left of it and
    // the inverse of its variance, and the chance of each number of copies in a batch.
    const float* score_expected;
    const u32* score_stretch;  // whose part of it is that of a step
    const double* score_taken;
    const double2* score_places;
    const double* score_chances;
    float* out;
    // Memory of the teams, and a count of what must not happen.
    u8* scratch;
    u32* errors;
    u64 scratch_each;
    u64 out_each;
    int count, steps;
    int inputs, width, outer, hidden, outputs, parameters;
    int loss, batches, read;
    int gaps, positions, records, unplanted, inside, outside, planted_words, crafted_count, batch;
    int room_for;              // records of a batch for which there is room
    int blank;                 // a row of nothing, whose norm is infinite: nothing of its gradient is left
    int read_parameter_count, read_direction_count, probes, first_probe;
    int score_copies, score_kind;
    u32 score_from;            // where tallies begin in the memory of a team
    float unit;                // what a level is worth
    float clip;                // what gradients are clipped to
    float per_fine;            // fine units in one: gradients are whole numbers of them
    float per_last;            // the same in the last of two layers
    float scale, momentum, decay, initial_scale;
    double fine_steps;         // steps of the grid in one fine unit of a gradient by a weight
    double fine_bias_steps;    // in one of a gradient by a bias
    double last_steps;         // in one of a gradient in the last layer
    double granularity;
    double score_shift;
    double start, start_last;  // what an integer of the noise crate is worth in initial weights
    u32 noise_key[8], batch_key[8], init_key[8];
};
// The host has the same number: a field more on one side alone does not compile.
static_assert(sizeof(Job) == 504, "Job is not what crates/train/src/integer/job.rs has");
