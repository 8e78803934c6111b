//! Whole programs: numbers computed independently, on every schedule.

mod common;

use common::*;
use memory::Returned;

const HELLO: &str = r#"
program "hello" a2a3 tile entry @main

func @add kernel(vector)(%x: in ptr<f32>, %y: in ptr<f32>, %out: out ptr<f32>, %k: in f32) {
  %c0 = const {value = 0} : index
  %c1 = const {value = 1} : index
  %c16 = const {value = 16} : index
  %c64 = const {value = 64} : index
  %vx = make_tensor_view %x shape(%c16, %c64) strides(%c64, %c1) : view<16x64xf32>
  %vy = make_tensor_view %y shape(%c16, %c64) strides(%c64, %c1) : view<16x64xf32>
  %vo = make_tensor_view %out shape(%c16, %c64) strides(%c64, %c1) : view<16x64xf32>
  %px = partition_view %vx offsets(%c0, %c0) sizes(%c16, %c64) : part<16x64xf32>
  %py = partition_view %vy offsets(%c0, %c0) sizes(%c16, %c64) : part<16x64xf32>
  %po = partition_view %vo offsets(%c0, %c0) sizes(%c16, %c64) : part<16x64xf32>
  %tx = alloc_tile : tile<16x64xf32, vec>
  %ty = alloc_tile : tile<16x64xf32, vec>
  tload %px outs(%tx) from op7 done
  tload %py outs(%ty) from op8 done
  tadd %tx, %ty outs(%tx) from op9 done
  tmuls %tx, %k outs(%tx) from op10 done
  tstore %tx outs(%po) from op11 done
  return
}

func @main orchestration(%x: in tensor<64x64xf32>, %y: in tensor<64x64xf32>, %out: out tensor<64x64xf32>) {
  %c0 = const {value = 0} : index
  %c16 = const {value = 16} : index
  %c64 = const {value = 64} : index
  %k = const {value = 0.5} : f32
  for %c0, %c64, %c16 {kind = parallel} (%i: index) {
    %xs = tensor_slice %x offsets(%i, %c0) {sizes = [16, 64]} : tensor<16x64xf32>
    %ys = tensor_slice %y offsets(%i, %c0) {sizes = [16, 64]} : tensor<16x64xf32>
    %os = tensor_slice %out offsets(%i, %c0) {sizes = [16, 64]} : tensor<16x64xf32>
    %t = submit args(%xs, %ys, %os, %k) {kernels = [@add], name = "add", directions = "in,in,out,scalar"} : task
    yield
  }
  return %out
}
"#;

#[test]
fn elementwise_tiles_in_a_parallel_loop() {
    let program = compile(HELLO);
    for options in schedules() {
        let (x, y) = (f32s(&[64, 64], |i| i as f32), f32s(&[64, 64], |i| (i % 7) as f32));
        let out = f32s(&[64, 64], |_| -1.0);
        let report = program.run(&tensors(&[&x, &y, &out]), &options).unwrap();
        let expected: Vec<f32> = (0..4096).map(|i| (i as f32 + (i % 7) as f32) * 0.5).collect();
        assert_eq!(read_f32(&out), expected);
        assert_eq!(report.task_count, 4);
        assert_eq!(report.edges, []);
        assert!(matches!(report.returned[..], [Returned::Param(2)]));
    }
}

#[test]
fn observed_runs_report_each_completed_value() {
    let program = compile(HELLO);
    let (x, y, out) = (f32s(&[64, 64], |i| i as f32), f32s(&[64, 64], |_| 1.0), f32s(&[64, 64], |_| 0.0));
    let options = runtime::Options { threads: 2, observe: true, ..Default::default() };
    let report = program.run(&tensors(&[&x, &y, &out]), &options).unwrap();
    // Five points a task, by task, block, operation.
    let points: Vec<(u32, usize, u32)> =
        report.values.iter().map(|r| (r.point.task, ir::Entity::index(r.point.op), r.point.nth)).collect();
    let expected: Vec<_> = (0..4).flat_map(|t| (7..12).map(move |op| (t, op, 0))).collect();
    assert_eq!(points, expected);
    // A load of what a store of other bytes with the same values wrote has the same digest.
    let stored = &report.values[4];
    let row = out.slice(&[0, 0], &[16, 64]).unwrap();
    assert_eq!(stored.digest, isa::digest_view(&row));
    assert_eq!(report.values[3].digest, stored.digest, "the product, and the box it was stored to");
    assert_ne!(report.values[2].digest, stored.digest, "the sum, before it was halved");
}
