//! What tests of fusion share.

pub(crate) mod kernels;
pub(crate) mod order;
