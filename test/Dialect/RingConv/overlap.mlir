// RUN: ringconv-opt %s --ringconv-partition --ringconv-lower-halo \
// RUN:   --ringconv-overlap --canonicalize 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

ringconv.mesh @ring = <["w" = 4]>
#cut = #ringconv.sharding<@ring, [{}, {}, {"w"}]>

// 160 columns on 4 ranks, 3 taps, padding 1: 40 outputs each, of which the first
// and the last need a halo. Edges are 8 wide, so the interior is [8, 32). It
// starts at column 8 - 1 of the shard and reads no slab; it stands before the
// wait, the edges behind it.
// CHECK-LABEL: func.func @interior
// CHECK: ringconv.start
// CHECK: ringconv.local_conv
// CHECK-NOT: halos
// CHECK-SAME: outs({{.*}}tensor<1x2x24xf32>) {{.*}} at [7] valid [0] to [40]
// CHECK: ringconv.wait
// CHECK: ringconv.local_conv {{.*}} halos({{.*}} outs({{.*}}tensor<1x2x8xf32>) {{.*}} at [0]
// CHECK: ringconv.local_conv {{.*}} halos({{.*}} outs({{.*}}tensor<1x2x8xf32>) {{.*}} at [32]
// REMARK: interior computed while halos travel
func.func @interior(%x: tensor<1x2x160xf32> {ringconv.sharding = #cut}, %a: tensor<2x2x3xf32>)
    -> (tensor<1x2x160xf32> {ringconv.sharding = #cut}) {
  %0 = ringconv.conv %x, %a dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
       : (tensor<1x2x160xf32>, tensor<2x2x3xf32>) -> tensor<1x2x160xf32>
  return %0 : tensor<1x2x160xf32>
}

// 12 outputs a rank: edges of 8 leave no interior worth a kernel.
// CHECK-LABEL: func.func @too_small
// CHECK: ringconv.wait
// CHECK: ringconv.local_conv
// CHECK-NOT: ringconv.local_conv
// REMARK: not overlapped: the interior is under 50 percent of the outputs of some rank
func.func @too_small(%x: tensor<1x2x48xf32> {ringconv.sharding = #cut}, %a: tensor<2x2x3xf32>)
    -> (tensor<1x2x48xf32> {ringconv.sharding = #cut}) {
  %0 = ringconv.conv %x, %a dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
       : (tensor<1x2x48xf32>, tensor<2x2x3xf32>) -> tensor<1x2x48xf32>
  return %0 : tensor<1x2x48xf32>
}
