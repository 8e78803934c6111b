//! What the operations of the language become, by family.

pub(crate) mod copy;
pub(crate) mod elementwise;
pub(crate) mod matrix;
pub(crate) mod memory;
pub(crate) mod shape;
pub(crate) mod system;
