//! Small programs in IR text, run by the reference and compared with numbers computed here.

mod blocks;
mod control;
mod definedness;
mod errors;
mod observer;
mod support;
mod tensors;
mod tiles;
