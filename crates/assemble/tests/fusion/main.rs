//! Fusion: small cases, random kernels, upstream's model kernels, and a model of the scheduler that went wrong.

mod cases;
mod corpus;
mod kernels;
mod order;
mod random;
mod sketch;
mod upstream;
mod upstream_scheduler;
