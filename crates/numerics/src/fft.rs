//! The real Fourier transform, through a planner that each thread keeps.

use num_complex::Complex64;
use realfft::RealFftPlanner;
use std::cell::RefCell;

thread_local! {
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

/// Σ_j x_j e^{−2πijk/n} for k = 0 … n/2.
///
/// # Numerics  Each value errs by at most 8 log₂(n) ulp of Σ|x_j|: every path through the butterflies multiplies by
/// at most log₂ n rounded twiddle factors
pub fn forward(mut values: Vec<f64>) -> Vec<Complex64> {
    let plan = PLANNER.with_borrow_mut(|planner| planner.plan_fft_forward(values.len()));
    let mut spectrum = plan.make_output_vec();
    plan.process(&mut values, &mut spectrum).expect("the plan was made for this length");
    spectrum
}
