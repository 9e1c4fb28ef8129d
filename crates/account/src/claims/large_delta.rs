//! Warning about a δ that lets a mechanism publish whole records.

use crate::claims::{Count, Delta};
use veracity_core::decimal;

/// Warns where `delta` exceeds 1/n for n `records` (or people, where those are protected).
///
/// A mechanism that publishes one of n records in full, chosen at random, satisfies δ = 1/n with ε = 0. So such a δ promises
/// nobody that their record stays private. Call it only with a number of records that is public.
///
/// # Examples
///
/// ```
/// use veracity_account::claims::large_delta_warning;
/// use veracity_core::{Count, Delta};
///
/// let records = Count::new(2_000)?;
/// let warning = large_delta_warning(Delta::new(0.01)?, records).unwrap_or_default();
/// assert!(warning.starts_with("delta is 0.01, above 1/2000"));
/// assert_eq!(large_delta_warning(Delta::new(1e-5)?, records), None);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn large_delta_warning(delta: Delta, records: Count) -> Option<String> {
    if delta.get() * records.as_f64() <= 1.0 {
        return None;
    }
    let (shown, n) = (decimal::nearest(delta.get(), 3), records.get());
    Some(format!(
        "delta is {shown}, above 1/{n}: a mechanism that publishes one of {n} records in full satisfies it; use a delta far below 1/{n}"
    ))
}
