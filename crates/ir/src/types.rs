//! Types of IR values.

use std::fmt;

use chip::Space;
use dtype::DType;

/// An extent known at compile time, or at run time only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dim {
    Static(u64),
    Dynamic,
}

impl Dim {
    pub fn known(self) -> Option<u64> {
        match self {
            Dim::Static(n) => Some(n),
            Dim::Dynamic => None,
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Static(n) => write!(f, "{n}"),
            Dim::Dynamic => f.write_str("?"),
        }
    }
}

/// A handle to a strided view of global memory. Rank 1 to 5; strides in elements, known or not.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TensorType {
    pub dtype: DType,
    pub shape: Vec<Dim>,
    pub strides: Vec<Dim>,
}

impl TensorType {
    /// Row-major and packed. Strides left of a dynamic extent are dynamic.
    pub fn packed(dtype: DType, shape: Vec<Dim>) -> TensorType {
        let mut strides = vec![Dim::Static(1); shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = match (strides[i], shape[i]) {
                (Dim::Static(s), Dim::Static(n)) => Dim::Static(s * n),
                _ => Dim::Dynamic,
            };
        }
        TensorType { dtype, shape, strides }
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    pub fn static_shape(&self) -> Option<Vec<u64>> {
        self.shape.iter().map(|d| d.known()).collect()
    }

    pub fn is_packed(&self) -> bool {
        self.strides == TensorType::packed(self.dtype, self.shape.clone()).strides
    }
}

/// The order of a tile's elements in its buffer (`spec/isa.md` §3.1): boxes row- or column-major, and inside a box.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    pub blayout: Major,
    /// `None` is `none_box`: no inner boxes.
    pub slayout: Option<Major>,
    /// Bytes of an inner box: 512 (Mat, Left, Right) or 1024 (Acc); 512 also where there are no boxes.
    pub fractal: u32,
    pub compact: Compact,
}

/// How the boxes or rows of a buffer that is not fully valid lie (`spec/isa.md` §3.1): a matter of bytes that only dumps
/// and buffers on the same bytes see.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Compact {
    /// As if all were valid.
    #[default]
    Null,
    /// A column of boxes ends with the last valid one.
    Normal,
    /// A row (or column, if column-major) more than there are lies between its ends.
    RowPlusOne,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Major {
    Row,
    Col,
}

impl Layout {
    pub const ROW_MAJOR: Layout = Layout { blayout: Major::Row, slayout: None, fractal: 512, compact: Compact::Null };
    pub const COL_MAJOR: Layout = Layout { blayout: Major::Col, slayout: None, fractal: 512, compact: Compact::Null };
    /// Mat, and Left on A5.
    pub const NZ: Layout =
        Layout { blayout: Major::Col, slayout: Some(Major::Row), fractal: 512, compact: Compact::Null };
    /// Right.
    pub const ZN: Layout =
        Layout { blayout: Major::Row, slayout: Some(Major::Col), fractal: 512, compact: Compact::Null };
    /// Left on A2/A3.
    pub const ZZ: Layout =
        Layout { blayout: Major::Row, slayout: Some(Major::Row), fractal: 512, compact: Compact::Null };
    /// Acc.
    pub const ACC: Layout =
        Layout { blayout: Major::Col, slayout: Some(Major::Row), fractal: 1024, compact: Compact::Null };

    /// Scales of a left operand, two along k beside each other.
    pub const SCALE_LEFT: Layout =
        Layout { blayout: Major::Row, slayout: Some(Major::Row), fractal: 32, compact: Compact::Null };
    /// Scales of a right operand.
    pub const SCALE_RIGHT: Layout =
        Layout { blayout: Major::Col, slayout: Some(Major::Col), fractal: 32, compact: Compact::Null };

    /// The layout that a tile of `space` has unless something says otherwise. Vec tiles of one column are column-major.
    pub fn of(space: Space, arch: chip::Arch, shape: &[u64]) -> Layout {
        match space {
            Space::Vec if shape.len() == 2 && shape[1] == 1 && shape[0] > 1 => Layout::COL_MAJOR,
            Space::Vec | Space::Bias | Space::Scaling => Layout::ROW_MAJOR,
            Space::Mat => Layout::NZ,
            Space::Left if arch == chip::Arch::A2a3 => Layout::ZZ,
            Space::Left => Layout::NZ,
            Space::Right => Layout::ZN,
            Space::Acc => Layout::ACC,
        }
    }
}

/// What a `tfillpad` or a padding load writes outside the valid region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Pad {
    #[default]
    Null,
    Zero,
    /// +infinity, or the largest integer.
    Max,
    /// −infinity, or the smallest integer.
    Min,
}

/// A tile.
///
/// At the tensor level a *value* of rank 1 to 5 without a space. At the tile and machine levels a *buffer*: rank 2, with
/// a space and a layout. `valid` is an origin-anchored box, `valid[i] <= shape[i]`; its dynamic extents travel with the
/// value at run time (set by the operation that made it).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TileType {
    pub dtype: DType,
    pub shape: Vec<u64>,
    pub valid: Vec<Dim>,
    pub space: Option<Space>,
    pub layout: Layout,
    pub pad: Pad,
}

impl TileType {
    /// A fully valid tensor-level tile value.
    pub fn value(dtype: DType, shape: Vec<u64>) -> TileType {
        let valid = shape.iter().map(|&n| Dim::Static(n)).collect();
        TileType { dtype, shape, valid, space: None, layout: Layout::ROW_MAJOR, pad: Pad::Null }
    }

    /// A fully valid tile buffer with the default layout of its space.
    pub fn buffer(dtype: DType, rows: u64, cols: u64, space: Space, arch: chip::Arch) -> TileType {
        TileType {
            space: Some(space),
            layout: Layout::of(space, arch, &[rows, cols]),
            ..TileType::value(dtype, vec![rows, cols])
        }
    }

    pub fn with_valid(mut self, valid: Vec<Dim>) -> TileType {
        self.valid = valid;
        self
    }

    pub fn is_fully_valid(&self) -> bool {
        self.shape.iter().zip(&self.valid).all(|(&n, v)| *v == Dim::Static(n))
    }

    pub fn rows(&self) -> u64 {
        self.shape[..self.shape.len() - 1].iter().product()
    }

    pub fn cols(&self) -> u64 {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Bytes of the whole physical extent.
    pub fn bytes(&self) -> u64 {
        let size = self.dtype.size() as u64;
        if self.layout.compact == Compact::RowPlusOne {
            let (rows, cols) = (self.rows(), self.cols());
            let (major, minor) = if self.layout.blayout == Major::Row { (rows, cols) } else { (cols, rows) };
            return (major.saturating_sub(1) * (minor + 1) + minor) * size;
        }
        self.shape.iter().product::<u64>() * size
    }
}

/// Names of the core's buffers in pointers of `.pto` text.
pub const LOCAL_SPACES: [&str; 9] = ["ub", "vec", "l1", "mat", "l0a", "l0b", "l0c", "bias", "scaling"];

/// The most elements of an [`Type::Array`]: it lives in a core's registers and stack, not in a buffer.
pub const MAX_ARRAY: u64 = 1 << 20;

/// The type of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// A register: boolean, integer, index or float.
    Scalar(DType),
    /// The handle of a submitted task, for `deps`; may be invalid (no task), which orders nothing.
    TaskId,
    /// A fixed number of scalars, task ids or (in text alone) arrays, changed in place.
    Array {
        element: Box<Type>,
        len: u64,
    },
    /// A view of global memory, with its shape and strides at run time.
    Tensor(TensorType),
    /// Kernel parameter: the address of an element in global memory.
    Ptr(DType),
    /// `!pto.tensor_view`: a pointer with shape and strides, in a kernel.
    View(TensorType),
    /// `!pto.partition_tensor_view`: a box of a view.
    PartView {
        dtype: DType,
        shape: Vec<Dim>,
    },
    Tile(TileType),
    /// What only `.pto` text has values of.
    Opaque(Opaque),
}

/// Values that operations of `.pto` text hand to each other; nothing looks inside them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Opaque {
    /// A FIFO between cores.
    Pipe,
    /// Asynchronous transfers between ranks, and one of them.
    AsyncSession,
    AsyncEvent,
    /// Asynchronous loads into the cache.
    PrefetchContext,
    /// The address of an element in one of the core's buffers, by the name that the text has for it (`ub`, `l1`, …).
    LocalPtr {
        element: DType,
        space: &'static str,
    },
    /// A reference to memory as MLIR spells it, kept as it is.
    MemRef(String),
    /// How many records of each list a merge has used: four 16-bit counts.
    Counts,
    /// A number of event ids.
    EventIds(u64),
    /// A structure of scalars and structures, changed in place.
    Struct(Vec<Type>),
    /// So many tiles of one type after each other.
    Tiles {
        tile: TileType,
        count: u64,
    },
}

impl Type {
    pub const INDEX: Type = Type::Scalar(DType::Index);
    pub const BOOL: Type = Type::Scalar(DType::Bool);

    pub fn as_tile(&self) -> Option<&TileType> {
        match self {
            Type::Tile(t) => Some(t),
            _ => None,
        }
    }

    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            _ => None,
        }
    }

    pub fn as_scalar(&self) -> Option<DType> {
        match self {
            Type::Scalar(d) => Some(*d),
            _ => None,
        }
    }

    /// The element type of anything that has elements.
    pub fn element(&self) -> Option<DType> {
        match self {
            Type::Scalar(d) | Type::Ptr(d) => Some(*d),
            Type::Tensor(t) | Type::View(t) => Some(t.dtype),
            Type::PartView { dtype, .. } => Some(*dtype),
            Type::Tile(t) => Some(t.dtype),
            Type::TaskId | Type::Array { .. } | Type::Opaque(_) => None,
        }
    }

    /// What no executor has values of in a type: an element format that is only stored, or the buffer of scales.
    pub fn not_run(&self) -> Option<&'static str> {
        match self {
            Type::Array { element, .. } if matches!(**element, Type::Array { .. }) => Some("array of arrays"),
            Type::Array { element, .. } => element.not_run(),
            Type::Tile(TileType { space: Some(Space::Scaling), .. }) => Some(Space::Scaling.name()),
            ty => ty.element().filter(|d| !d.is_computed()).map(DType::name),
        }
    }
}
