//! What the operations of the language become, by family.

pub(crate) mod attributes;
pub(crate) mod batch;
pub(crate) mod binary;
pub(crate) mod copy;
pub(crate) mod elementwise;
pub(crate) mod gather;
pub(crate) mod generate;
pub(crate) mod masks;
pub(crate) mod matrix;
pub(crate) mod memory;
pub(crate) mod rows;
pub(crate) mod scatter;
pub(crate) mod shape;
pub(crate) mod sort;
pub(crate) mod system;
pub(crate) mod trig;
pub(crate) mod views;
