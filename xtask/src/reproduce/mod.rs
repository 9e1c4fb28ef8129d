//! Results that anyone can measure again, with the program as users have it: each is one file.

pub mod accuracy;
pub mod clusters;
pub mod ledger;
pub mod opacus;
pub mod panels;
pub mod sql_tour;
