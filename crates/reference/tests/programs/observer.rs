//! The points that levels are compared by.

use ir::Opcode;
use memory::View;
use reference::{Observer, Point};

use crate::support::*;

#[derive(Default)]
struct Record(Vec<(Point, u64)>);

impl Observer for Record {
    fn value(&mut self, point: Point, digest: u64) {
        self.0.push((point, digest));
    }
}

#[test]
fn values_are_reported_per_task_block_and_time() {
    let (x, o) = (f32s(&[4, 8], &ramp(32)), f32s(&[4, 8], &[0.0; 32]));
    let body = "%j = scope {name = \"j\"} : task {
           yield
         }
         %k = scope blocks(#2) {name = \"k\"} : task (%b: index) {
           for #0, #2, #1 {kind = range} (%i: index) {
             %r = mul %b, #2 : index
             %s = add %r, %i : index
             %t = load %x offsets(%s, #0) {sizes = [1, 8]} : tile<1x8xf32>
             %u = tadd %t, %t : tile<1x8xf32>
             store %u, %o offsets(%s, #0) {sizes = [1, 8]}
             yield
           }
           %z = const {value = 3.0} : f32
           write %o indices(%b, #7) value(%z)
           yield
         }
         return";
    let mut record = Record::default();
    let params = "%x: in tensor<4x8xf32>, %o: out tensor<4x8xf32>";
    let (program, _) = observed(params, body, &[x.clone(), o], &mut record);
    let entry = &program.functions[program.entry];
    let seen: Vec<(u32, u32, u32, Opcode)> =
        record.0.iter().map(|(p, _)| (p.task, p.block, p.nth, entry.ops[p.op].opcode)).collect();
    let mut expected = Vec::new();
    for block in 0..2 {
        for nth in 0..2 {
            expected.extend([Opcode::Load, Opcode::TAdd, Opcode::Store].map(|c| (1, block, nth, c)));
        }
        expected.push((1, block, 0, Opcode::Write));
    }
    assert_eq!(seen, expected);
    // A load of row 2 (block 1, first time): the digest of those numbers.
    let row = isa::Tile::row_major(0, dtype::DType::F32, 1, 8);
    let bytes: Vec<u8> = ramp(32)[16..24].iter().flat_map(|v| v.to_le_bytes()).collect();
    let load = record.0.iter().find(|(p, _)| p.block == 1 && entry.ops[p.op].opcode == Opcode::Load).unwrap();
    assert_eq!(load.1, isa::digest(&bytes, &row));
    // The store: what the box holds, and that it is row 2 of its tensor.
    let doubled: Vec<f32> = ramp(32).iter().map(|v| 2.0 * v).collect();
    let arg = f32s(&[4, 8], &doubled);
    let whole: &View = view(&arg);
    let store = record.0.iter().find(|(p, _)| p.block == 1 && entry.ops[p.op].opcode == Opcode::Store).unwrap();
    assert_eq!(store.1, isa::digest_store(&whole.slice(&[2, 0], &[1, 8]).unwrap()));
    assert_ne!(store.1, isa::digest_store(&whole.slice(&[3, 0], &[1, 8]).unwrap()));
    // All are different: rows, operations, and the two places written the same number.
    let digests: std::collections::BTreeSet<u64> = record.0.iter().map(|(_, d)| *d).collect();
    assert_eq!(digests.len(), record.0.len(), "{:?}", record.0);
}

#[test]
fn watching_changes_nothing() {
    let body = "%k = scope {name = \"k\"} : task {
           %t = load %x offsets(#0, #0) {sizes = [4, 8]} : tile<4x8xf32>
           %u = texp %t : tile<4x8xf32>
           store %u, %o offsets(#0, #0) {sizes = [4, 8]}
           yield
         }
         return";
    let params = "%x: in tensor<4x8xf32>, %o: out tensor<4x8xf32>";
    let run_once = |options, observe: bool| {
        let args = [f32s(&[4, 8], &ramp(32)), f32s(&[4, 8], &[0.0; 32])];
        let mut record = Record::default();
        let program = parse(&text(params, body));
        let observer: Option<&mut dyn Observer> = if observe { Some(&mut record) } else { None };
        reference::run(&program, &args, &options, observer).expect("runs");
        view(&args[1]).to_vec().unwrap()
    };
    let plain = run_once(PLAIN, false);
    assert_eq!(run_once(PLAIN, true), plain);
    assert_eq!(run_once(CHECKED, false), plain);
    assert_eq!(run_once(CHECKED, true), plain);
}
