//! Results that anyone can measure again, with the program as users have it: each is one file and writes Markdown to docs.

pub mod accuracy;
