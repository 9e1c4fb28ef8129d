//! Transforms by realfft, which chooses the fastest algorithm for the machine.

use num_complex::Complex64;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use std::{cell::RefCell, sync::Arc};

thread_local! {
    // Planning computes all twiddle factors: as dear as several transforms.
    static PLANNER: RefCell<RealFftPlanner<f64>> = RefCell::new(RealFftPlanner::new());
}

/// Transforms of one length.
pub(super) struct Plan {
    forward: Arc<dyn RealToComplex<f64>>,
}

impl Plan {
    pub(super) fn new(len: usize) -> Plan {
        Plan { forward: PLANNER.with_borrow_mut(|planner| planner.plan_fft_forward(len)) }
    }

    pub(super) fn forward(&self, values: &mut [f64]) -> Vec<Complex64> {
        let mut spectrum = self.forward.make_output_vec();
        self.forward.process(values, &mut spectrum).expect("both lengths come from this plan");
        spectrum
    }

    /// N times the sequence.
    pub(super) fn inverse(&self, spectrum: &mut [Complex64]) -> Vec<f64> {
        let len = self.forward.len();
        let plan: Arc<dyn ComplexToReal<f64>> =
            PLANNER.with_borrow_mut(|planner| planner.plan_fft_inverse(len));
        let mut values = plan.make_output_vec();
        plan.process(spectrum, &mut values).expect("both lengths come from this plan");
        values
    }
}
