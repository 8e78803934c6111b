//! Small programs in IR text, run by the reference and compared with numbers computed here.

mod blocks;
#[path = "../../../../tests/operations/mod.rs"]
mod cases;
mod control;
mod definedness;
mod errors;
mod observer;
mod operations;
mod support;
mod tensors;
mod tiles;
