// Two layers with an activation between them, columns cut over four ranks: after
// bufferization nothing is copied, and memory is what must be: two slabs per
// exchange and the one intermediate. With 191 columns the ranks own 48, 48, 48
// and 47: the same, with the extent looked up.
// RUN: ringconv-opt %s --ringconv-partition-pipeline --ringconv-bufferize | FileCheck %s
// RUN: sed 's/x192xf32/x191xf32/g' %s | ringconv-opt --ringconv-partition-pipeline --ringconv-bufferize \
// RUN:   | FileCheck %s --check-prefix=UNEVEN
//
// CHECK-LABEL: func.func @main
// CHECK-NOT: memref.copy
// CHECK-COUNT-2: memref.alloc() {{.*}} : memref<1x64x56x1xf32>
// CHECK-NOT: memref.copy
// CHECK: memref.alloc() {{.*}} : memref<1x64x56x48xf32>
// CHECK-NOT: memref.copy
// CHECK-COUNT-2: memref.alloc() {{.*}} : memref<1x64x56x1xf32>
// CHECK-NOT: memref.{{copy|alloc\(}}
//
// UNEVEN-LABEL: func.func @main
// UNEVEN-NOT: memref.copy
// UNEVEN-COUNT-2: memref.alloc() {{.*}} : memref<1x64x56x1xf32>
// UNEVEN-NOT: memref.copy
// UNEVEN: memref.alloc(%{{.*}}) {{.*}} : memref<1x64x56x?xf32>
// UNEVEN-NOT: memref.copy
// UNEVEN-COUNT-2: memref.alloc() {{.*}} : memref<1x64x56x1xf32>
// UNEVEN-NOT: memref.{{copy|alloc\(}}
ringconv.mesh @ring = <["w" = 4]>
func.func @main(
    %x: tensor<1x64x56x192xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {}, {"w"}]>},
    %w1: tensor<64x64x3x3xf32> {ringconv.parameter}, %b1: tensor<64xf32> {ringconv.parameter},
    %w2: tensor<64x64x3x3xf32> {ringconv.parameter}) -> (tensor<1x64x56x192xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {}, {"w"}]>}) {
  %z = arith.constant dense<0.0> : tensor<1x64x56x192xf32>
  %a = ringconv.conv %x, %w1 bias %b1 dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
       : (tensor<1x64x56x192xf32>, tensor<64x64x3x3xf32>, tensor<64xf32>) -> tensor<1x64x56x192xf32>
  %r = arith.maximumf %a, %z : tensor<1x64x56x192xf32>
  %y = ringconv.conv %r, %w2 dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
       : (tensor<1x64x56x192xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x192xf32>
  return %y : tensor<1x64x56x192xf32>
}
