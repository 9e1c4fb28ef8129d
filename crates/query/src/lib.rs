//! Mechanisms on values, vectors and columns: a question, its bounded answer on a public grid, and noise.
