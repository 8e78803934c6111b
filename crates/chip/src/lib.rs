//! Architectures as data: on-chip buffers and their limits, core counts, alignments.
//!
//! Nothing here computes. Sizes are bytes. Source: `spec/isa.md` §1.1–1.2 and `spec/dsl.md` §5.4; where those quote
//! different sizes for one buffer they mean different limits, kept apart in [`Capacity`] (semantics rule 21).
//!
//! The host-friendly element order: L0A, L0B and L0C hold plain row-major elements here (Left `m×k`, Right `k×n`, Acc
//! `m×n`), not the fractal order of the device. Only a raw dump of those buffers could tell the difference; every
//! instruction that writes or reads them goes through a tile descriptor. Mat (L1) and Vec (UB) keep the device's order.

use std::fmt;
use std::str::FromStr;

/// An instruction-set architecture: A2 and A3 share one, A5 is another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Arch {
    A2a3,
    A5,
}

impl Arch {
    pub const ALL: [Arch; 2] = [Arch::A2a3, Arch::A5];

    pub const fn chip(self) -> &'static Chip {
        match self {
            Arch::A2a3 => &A2A3,
            Arch::A5 => &A5,
        }
    }

    /// `a2a3` or `a5`; the value of `pto.target_arch` for A2/A3 is `a3` (see [`Arch::target_name`]).
    pub const fn name(self) -> &'static str {
        match self {
            Arch::A2a3 => "a2a3",
            Arch::A5 => "a5",
        }
    }

    /// The name in `pto.target_arch`.
    pub const fn target_name(self) -> &'static str {
        match self {
            Arch::A2a3 => "a3",
            Arch::A5 => "a5",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Arch {
    type Err = ();

    /// Accepts platform names (`a2a3`, `a2a3sim`, `a5`, `a5sim`) and `pto.target_arch` values (`a2`, `a3`, `a5`).
    fn from_str(s: &str) -> Result<Arch, ()> {
        match s {
            "a2" | "a3" | "a2a3" | "a2a3sim" => Ok(Arch::A2a3),
            "a5" | "a5sim" => Ok(Arch::A5),
            _ => Err(()),
        }
    }
}

/// An on-chip buffer kind. `Vec` belongs to each vector core, the others to the cube core.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Space {
    /// Unified buffer (UB) of a vector core.
    Vec,
    /// L1.
    Mat,
    /// L0A.
    Left,
    /// L0B.
    Right,
    /// L0C.
    Acc,
    /// Bias table.
    Bias,
    /// Scales: of the fix pipe, one a column, and of the operands of products of scaled formats.
    Scaling,
}

impl Space {
    pub const ALL: [Space; 7] =
        [Space::Vec, Space::Mat, Space::Left, Space::Right, Space::Acc, Space::Bias, Space::Scaling];

    /// The spelling in `.pto` (`loc=vec`).
    pub const fn name(self) -> &'static str {
        match self {
            Space::Vec => "vec",
            Space::Mat => "mat",
            Space::Left => "left",
            Space::Right => "right",
            Space::Acc => "acc",
            Space::Bias => "bias",
            Space::Scaling => "scaling",
        }
    }

    pub const fn core(self) -> Core {
        match self {
            Space::Vec => Core::Vector,
            _ => Core::Cube,
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Space {
    type Err = ();

    fn from_str(s: &str) -> Result<Space, ()> {
        Space::ALL.into_iter().find(|x| x.name() == s).ok_or(())
    }
}

/// A core kind: AIC (cube) or AIV (vector). A cluster is one AIC and two AIVs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Core {
    Cube,
    Vector,
}

/// The three limits of a buffer, in bytes (semantics rule 21).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// What the machine has; an access beyond it traps.
    pub physical: usize,
    /// What `lower` and `assemble` may allocate for programs of the language.
    pub language: usize,
    /// What the assembler enforces for `.pto` files.
    pub assembler: usize,
}

const fn same(bytes: usize) -> Capacity {
    Capacity { physical: bytes, language: bytes, assembler: bytes }
}

/// One architecture.
#[derive(Debug)]
pub struct Chip {
    pub arch: Arch,
    /// Clusters of one device; what `available_cluster_count` answers (semantics rule 23).
    pub clusters: u32,
    pub vector_cores_per_cluster: u32,
    vec: Capacity,
    mat: Capacity,
    left: Capacity,
    right: Capacity,
    acc: Capacity,
    bias: Capacity,
    scaling: Capacity,
    /// Cross-core FIFOs go through global memory (A2/A3) instead of the consumer's own buffer (A5).
    pub fifo_through_global_memory: bool,
    /// Its vector instructions can be fused into one function over registers; how large that may get.
    pub fusion: Option<Fusion>,
}

/// What one fused vector function may use (`spec/pto-assembly.md` §4.6: from there on upstream's planner counts more tiles
/// as a loss; the machine renames 68 registers of 256 bytes, `spec/isa.md` §1.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fusion {
    /// Tiles of which a piece is in a register at the same time.
    pub live_tiles: usize,
    /// Tiles that it loads from its surroundings or stores for them.
    pub parameters: usize,
}

impl Chip {
    pub const fn capacity(&self, space: Space) -> Capacity {
        match space {
            Space::Vec => self.vec,
            Space::Mat => self.mat,
            Space::Left => self.left,
            Space::Right => self.right,
            Space::Acc => self.acc,
            Space::Bias => self.bias,
            Space::Scaling => self.scaling,
        }
    }

    pub const fn vector_cores(&self) -> u32 {
        self.clusters * self.vector_cores_per_cluster
    }
}

/// The most blocks of one launch. The device's descriptor counts them in 15 bits; this machine is more generous, and
/// bounded so that a number read from memory cannot ask for more work units than the host has memory.
pub const MAX_BLOCKS: u32 = 1 << 20;

/// Every tile address is a multiple of this many bytes (one block).
pub const BLOCK_BYTES: usize = 32;
/// Bytes of one fractal of Mat, Left and Right: 16 rows of 32 bytes.
pub const FRACTAL_BYTES: usize = 512;
/// Bytes of one fractal of Acc: 16×16 elements of 4 bytes.
pub const ACC_FRACTAL_BYTES: usize = 1024;
/// Rows of a fractal.
pub const FRACTAL_ROWS: usize = 16;

static A2A3: Chip = Chip {
    arch: Arch::A2a3,
    clusters: 24,
    vector_cores_per_cluster: 2,
    // The instruction library keeps 8 KiB of UB for itself, from 184 KiB on.
    vec: Capacity { physical: 192 << 10, language: 184 << 10, assembler: 192 << 10 },
    mat: same(512 << 10),
    left: same(64 << 10),
    right: same(64 << 10),
    acc: same(128 << 10),
    bias: Capacity { physical: 1 << 10, language: 1 << 10, assembler: 64 << 10 },
    scaling: Capacity { physical: 2 << 10, language: 2 << 10, assembler: 192 << 10 },
    fifo_through_global_memory: true,
    fusion: None,
};

static A5: Chip = Chip {
    arch: Arch::A5,
    clusters: 36,
    vector_cores_per_cluster: 2,
    vec: Capacity { physical: 256 << 10, language: 240 << 10, assembler: 248 << 10 },
    mat: same(512 << 10),
    left: same(64 << 10),
    right: same(64 << 10),
    acc: same(256 << 10),
    bias: Capacity { physical: 4 << 10, language: 4 << 10, assembler: 64 << 10 },
    scaling: Capacity { physical: 4 << 10, language: 4 << 10, assembler: 248 << 10 },
    fifo_through_global_memory: false,
    fusion: Some(Fusion { live_tiles: 10, parameters: 12 }),
};

/// The alignment that `assemble` gives a tile of `space`: a block for Vec, a fractal for the cube's buffers.
pub const fn alignment(space: Space) -> usize {
    match space {
        Space::Vec | Space::Bias | Space::Scaling => BLOCK_BYTES,
        Space::Mat | Space::Left | Space::Right => FRACTAL_BYTES,
        Space::Acc => ACC_FRACTAL_BYTES,
    }
}

/// The alignment of tiles and reserved buffers in kernel files that the assembler plans (`spec/pto-assembly.md` §3.2).
pub const fn assembler_alignment(space: Space) -> usize {
    match space {
        Space::Vec | Space::Mat | Space::Bias | Space::Scaling => 256,
        Space::Left | Space::Right | Space::Acc => 4096,
    }
}

/// The space by the name the language uses (`pl.Mem.Vec` is `Vec`).
pub fn space_from_language_name(name: &str) -> Option<Space> {
    Some(match name {
        "Vec" => Space::Vec,
        "Mat" => Space::Mat,
        "Left" => Space::Left,
        "Right" => Space::Right,
        "Acc" => Space::Acc,
        "Bias" => Space::Bias,
        _ => return None,
    })
}
