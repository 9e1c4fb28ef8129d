//! The sceptic: independent roads to what the accountant claims, random questions, and a judge.
//!
//! `double_double`, `complex` and `normal_tail` are its own arithmetic; `law` says what one use shows; `once`, `types`,
//! `laplace_series` and `contour` are roads from a law to a [`truth::Truth`]. Nothing here is shared with the crates under
//! test but the names of mechanisms.

pub mod complex;
pub mod contour;
pub mod double_double;
pub mod laplace_series;
pub mod law;
mod nodes;
pub mod normal_tail;
pub mod once;
pub mod roads;
pub mod truth;
pub mod types;
pub mod worlds;
