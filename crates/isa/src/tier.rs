//! Instruction-set tiers: the same loops, compiled for several vector extensions.
//!
//! Each kernel is one generic body. It is instantiated for the portable tier, AVX2 and AVX-512, and the best one
//! the host has is chosen once. Rust's floats are strict and `mul_add` is exact everywhere, so the instances give the same
//! bits; tests compare them by forcing a tier with [`with`].

use std::cell::Cell;
use std::sync::OnceLock;

use crate::simd::Simd;

/// A set of vector extensions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Tier {
    /// What the build's baseline has (SSE2 on x86-64).
    Portable,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX-512 F, BW, VL and DQ, on top of the former.
    Avx512,
    /// VNNI, on top of the former: matters to products of i8 only.
    Avx512Vnni,
}

impl Tier {
    pub const ALL: [Tier; 4] = [Tier::Portable, Tier::Avx2, Tier::Avx512, Tier::Avx512Vnni];

    /// Whether this host can run the tier.
    pub fn available(self) -> bool {
        self <= best()
    }
}

fn detect() -> Tier {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") && has!("fma") && has!("f16c") {
            if has!("avx512f") && has!("avx512bw") && has!("avx512vl") && has!("avx512dq") {
                return if has!("avx512vnni") { Tier::Avx512Vnni } else { Tier::Avx512 };
            }
            return Tier::Avx2;
        }
    }
    Tier::Portable
}

/// The best tier of this host.
pub fn best() -> Tier {
    static BEST: OnceLock<Tier> = OnceLock::new();
    *BEST.get_or_init(detect)
}

thread_local! {
    static FORCED: Cell<Option<Tier>> = const { Cell::new(None) };
}

/// The tier that instructions on this thread use.
pub fn current() -> Tier {
    FORCED.get().unwrap_or_else(best)
}

/// Runs `f` with this thread's instructions confined to `tier`. `None`, and `f` is not called, if the host lacks it.
pub fn with<R>(tier: Tier, f: impl FnOnce() -> R) -> Option<R> {
    struct Restore(Option<Tier>);
    impl Drop for Restore {
        fn drop(&mut self) {
            FORCED.set(self.0);
        }
    }
    if !tier.available() {
        return None;
    }
    let _restore = Restore(FORCED.replace(Some(tier)));
    Some(f())
}

/// A loop to be compiled for every tier. `run` must be `#[inline(always)]`, as must everything in it that should be
/// vectorised.
pub(crate) trait Kernel {
    type Output;

    /// # Safety
    ///
    /// As the kernel's constructor says: the raw ranges it holds are valid. The host has the features of `S`.
    unsafe fn run<S: Simd>(self) -> Self::Output;
}

/// Runs a kernel on the current tier.
///
/// # Safety
///
/// Whatever [`Kernel::run`] of `K` asks for, features aside.
#[inline(always)]
pub(crate) unsafe fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    match current() {
        // SAFETY: the tier is available only if its features were detected; the rest is the caller's promise.
        Tier::Avx512 | Tier::Avx512Vnni => return unsafe { avx512(kernel) },
        // SAFETY: as above.
        Tier::Avx2 => return unsafe { avx2(kernel) },
        Tier::Portable => {}
    }
    // SAFETY: the caller's promise.
    unsafe { portable(kernel) }
}

/// Runs a kernel as every host can. For loops that no extension helps, in which case three instances would be two too many.
///
/// # Safety
///
/// As for [`dispatch`].
#[inline(never)]
pub(crate) unsafe fn portable<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<crate::simd::Portable>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn avx2<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<crate::simd::Avx2>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq")]
unsafe fn avx512<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<crate::simd::Avx512>() }
}
