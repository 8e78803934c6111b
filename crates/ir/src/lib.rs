//! The intermediate representation of every level: entities, types, the op table, builder, verifier, `.tw` text.
//!
//! Two dialects, one data structure. At the **tensor level** a program is one entry function: global tensors are handles
//! (changed in place), kernel scopes are regions, tiles are values. At the **tile level** each scope has become kernel
//! functions on tile buffers in destination form, and the entry is the orchestration that submits them. The **machine
//! level** is the tile level with [`Properties`]: placed, fused, synced.
//!
//! SSA with structured control flow. Regions may use values of the blocks around them. Entities are typed indices into
//! the arenas of their [`Function`]; nothing is reference-counted.

mod attr;
pub mod builder;
pub mod effects;
mod entity;
mod function;
pub mod infer;
pub mod info;
pub mod ops;
pub mod text;
mod types;
pub mod verify;

pub use attr::{Attr, Attrs};
pub use builder::Builder;
pub use entity::{Arena, Block, Entity, FuncId, Op, Value};
pub use function::{
    BlockData, Def, Direction, Function, FunctionKind, Level, Linkage, OpData, Origin, Param, Program, Properties,
    ValueData,
};
pub use ops::Opcode;
pub use types::{Compact, Dim, LOCAL_SPACES, Layout, MAX_ARRAY, Major, Opaque, Pad, TensorType, TileType, Type};
