//! Independent checkers over IR and records, and the faults that prove that checkers can fail.
//!
//! Nothing here shares logic with the passes that it judges.

pub mod mutate;
