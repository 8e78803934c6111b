//! The bf16 order of semantics rule 8 is what the host's AMX unit computes, where there is one: the same products through
//! `tdpbf16ps` and through [`isa::matmul`], bit for bit, subnormal inputs included. Elsewhere this prints `not run`.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(unsafe_code)]

use std::arch::asm;
use std::arch::x86_64::__cpuid_count;

use dtype::{DType, Profile};
use isa::{Init, Tile};
use random::Random;

const M: usize = 16;
const N: usize = 16;
/// What one instruction contracts.
const K_STEP: usize = 32;

/// `tdpbf16ps` over `steps` blocks of 32 k: `acc[m][n] += …`. `b` is packed in pairs of k: `[k / 2][n][2]`.
fn tile_product(acc: &mut [f32], a: &[u16], b_pairs: &[u16], steps: usize) {
    assert_eq!((acc.len(), a.len(), b_pairs.len()), (M * N, M * K_STEP * steps, N * K_STEP * steps));
    let mut config = [0u8; 64];
    config[0] = 1;
    for tile in 0..3 {
        config[16 + 2 * tile] = 64;
        config[48 + tile] = 16;
    }
    // SAFETY: the caller has checked that AMX is there and permitted. Every pointer covers what its tile reads or
    // writes: 16 rows of 64 bytes at the stride given, within the slices measured above. All tiles are declared
    // clobbered, and released at the end.
    unsafe {
        asm!("ldtilecfg [{0}]", in(reg) config.as_ptr(), options(nostack));
        asm!("tileloadd tmm0, [{0} + {1} * 1]", in(reg) acc.as_ptr(), in(reg) N * 4, out("tmm0") _, options(nostack));
        for step in 0..steps {
            asm!(
                "tileloadd tmm1, [{a} + {a_stride} * 1]",
                "tileloadd tmm2, [{b} + {b_stride} * 1]",
                "tdpbf16ps tmm0, tmm1, tmm2",
                a = in(reg) a.as_ptr().add(step * K_STEP),
                a_stride = in(reg) K_STEP * steps * 2,
                b = in(reg) b_pairs.as_ptr().add(step * K_STEP * N),
                b_stride = in(reg) N * 4,
                out("tmm0") _, out("tmm1") _, out("tmm2") _,
                options(nostack),
            );
        }
        asm!("tilestored [{0} + {1} * 1], tmm0", in(reg) acc.as_mut_ptr(), in(reg) N * 4, options(nostack));
        asm!("tilerelease", out("tmm0") _, out("tmm1") _, out("tmm2") _, options(nostack));
    }
}

/// Has the host AMX with bf16, and does the kernel let this process use it?
fn available() -> bool {
    const TILE_DATA: u64 = 18;
    const ARCH_REQ_XCOMP_PERM: u64 = 0x1023;
    #[allow(unused_unsafe)]
    // SAFETY: every x86-64 has CPUID; leaf 7 reads as zeros where it does not exist.
    let edx = unsafe { __cpuid_count(7, 0) }.edx;
    if edx & (1 << 22) == 0 || edx & (1 << 24) == 0 {
        return false;
    }
    let mut result: u64 = 158;
    // SAFETY: arch_prctl with this request changes only what the process may do.
    unsafe {
        asm!(
            "syscall",
            inout("rax") result,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") TILE_DATA,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}

mod random {
    /// SplitMix64: this crate knows no `control`.
    pub(crate) struct Random(pub(crate) u64);

    impl Random {
        pub(crate) fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }

        /// A finite bf16: most near 1, some tiny, some subnormal.
        pub(crate) fn bf16(&mut self) -> u16 {
            let bits = self.next();
            let exponent = match bits >> 60 {
                0 => 0,
                1..=3 => 1 + (bits >> 8) % 40,
                _ => 117 + (bits >> 8) % 16,
            };
            ((bits & 0x807f) | exponent << 7) as u16
        }
    }
}

#[test]
fn the_bf16_order_is_that_of_amx() {
    if !available() {
        eprintln!("not run: this host has no AMX");
        return;
    }
    let mut random = Random(11);
    let mut compared = 0;
    for round in 0..1000 {
        let steps = 1 + round % 4;
        let k = K_STEP * steps;
        let a: Vec<u16> = (0..M * k).map(|_| random.bf16()).collect();
        let b: Vec<u16> = (0..k * N).map(|_| random.bf16()).collect();
        let pairs: Vec<u16> = (0..k / 2)
            .flat_map(|p| (0..N).flat_map(move |n| [(2 * p, n), (2 * p + 1, n)]))
            .map(|(r, n)| b[r * N + n])
            .collect();
        let mut expected = vec![0f32; M * N];
        tile_product(&mut expected, &a, &pairs, steps);

        let bytes = |v: &[u16]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let (a_bytes, b_bytes) = (bytes(&a), bytes(&b));
        let mut mem = [a_bytes.as_slice(), &b_bytes, &vec![0; M * N * 4]].concat();
        let lhs = Tile::row_major(0, DType::BF16, M as u32, k as u32);
        let rhs = Tile::row_major(a_bytes.len(), DType::BF16, k as u32, N as u32);
        let acc = Tile::row_major(a_bytes.len() + b_bytes.len(), DType::F32, M as u32, N as u32);
        isa::matmul(&mut mem, &acc, &lhs, &rhs, Init::Zero, Profile::A5).expect("a product of whole tiles");
        for (i, want) in expected.iter().enumerate() {
            let at = acc.offset + i * 4;
            let got = f32::from_le_bytes(mem[at..at + 4].try_into().expect("four bytes"));
            assert_eq!(got.to_bits(), want.to_bits(), "round {round}, element {i}: {got:e} instead of {want:e}");
            compared += 1;
        }
    }
    eprintln!("{compared} elements of bf16 products agree with AMX");
}
