//! Results that others can repeat, each one file: what is run is printed, and so is what came of it.

pub mod opacus;
