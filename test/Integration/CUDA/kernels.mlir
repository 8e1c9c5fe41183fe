// The kernels of convolutions, on layers of ResNet-50 with fewer pixels: at least
// two tiles and a tail of pixels, output features and input features. The bits do
// not depend on the number of ranks, nor on whether their parts are equal.
// REQUIRES: level-default
// DEFINE: %{entry} =
// DEFINE: %{run} = ringconv-run %s --target=cuda --simulate --entry=%{entry}
// DEFINE: %{same} = %{run} --check --remarks > %t.log 2>&1 && %{run} --mesh=w=1 --output=0=%t.1.npy && \
// DEFINE:   %{run} --mesh=w=3 --output=0=%t.3.npy && cmp %t.1.npy %t.3.npy
//
// REDEFINE: %{entry} = half
// RUN: %{same} && FileCheck %s --check-prefix=CORES < %t.log
// CORES: remark: kernel: matrix product on tensor cores, {{[0-9]+x[0-9]+}} outputs a block
// CORES-NOT: operands copied
// CORES: check: output 0:
// REDEFINE: %{entry} = residual
// RUN: %{same} && FileCheck %s --check-prefix=BEHIND < %t.log
// BEHIND: remark: interior computed while halos travel
// BEHIND-COUNT-3: remark: kernel: matrix product on tensor cores, {{.*}}, and what stands behind it elementwise
// BEHIND: check: output 0:
// REDEFINE: %{entry} = features_first
// RUN: %{same} && FileCheck %s --check-prefix=COPIED < %t.log
// COPIED: remark: kernel: matrix product on tensor cores, {{.*}}, operands copied into its layout
// COPIED: check: output 0:
// REDEFINE: %{entry} = single
// RUN: %{same} && FileCheck %s --check-prefix=FMA < %t.log
// FMA: remark: kernel: matrix product by fused multiply-adds,
// FMA: check: output 0:
// REDEFINE: %{entry} = transposed
// RUN: %{same} && FileCheck %s --check-prefix=RESIDUES < %t.log
// RESIDUES: remark: kernel: matrix product on tensor cores, {{.*}}, 4 residues of its dilated input
// RESIDUES: check: output 0:
// REDEFINE: %{entry} = depthwise
// RUN: %{same} && FileCheck %s --check-prefix=DEPTHWISE < %t.log
// DEPTHWISE: remark: kernel: depthwise, in registers
// DEPTHWISE: check: output 0:
// REDEFINE: %{entry} = filter_gradient
// RUN: %{same} && FileCheck %s --check-prefix=GRADIENT < %t.log
// GRADIENT: remark: kernel: filter gradient on tensor cores
// GRADIENT: check: output 0:
// REDEFINE: %{entry} = integers
// RUN: %{same} && FileCheck %s --check-prefix=PLAIN < %t.log
// PLAIN: remark: kernel: plain, one thread per element: its elements are neither f32 nor f64
// PLAIN: check: output 0:
ringconv.mesh @ring = <["w" = 2]>
#last = #ringconv.sharding<@ring, [{}, {}, {"w"}, {}]>
#first = #ringconv.sharding<@ring, [{}, {}, {}, {"w"}]>
#features = #ringconv.sharding<@ring, [{"w"}, {}, {}, {}]>

func.func @half(%x: tensor<2x14x20x40xf16> {ringconv.sharding = #last}, %w: tensor<136x3x3x40xf16>, %b: tensor<136xf16>)
    -> (tensor<2x14x20x136xf16> {ringconv.sharding = #last}) {
  %0 = ringconv.conv %x, %w bias %b dims [b, 0, 1, f] x [o, 0, 1, i] -> [b, 0, 1, f] window {pad = [[1, 1], [1, 1]]}
     : (tensor<2x14x20x40xf16>, tensor<136x3x3x40xf16>, tensor<136xf16>) -> tensor<2x14x20x136xf16>
  return %0 : tensor<2x14x20x136xf16>
}

// The last steps of a block of a residual network: both parts of a split result.
func.func @residual(%x: tensor<1x4x160x16xf16> {ringconv.sharding = #last}, %w: tensor<16x3x3x16xf16>,
                    %r: tensor<1x4x160x16xf16> {ringconv.sharding = #last})
    -> (tensor<1x4x160x16xf16> {ringconv.sharding = #last}) {
  %0 = ringconv.conv %x, %w dims [b, 0, 1, f] x [o, 0, 1, i] -> [b, 0, 1, f] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x4x160x16xf16>, tensor<16x3x3x16xf16>) -> tensor<1x4x160x16xf16>
  %1 = arith.addf %0, %r : tensor<1x4x160x16xf16>
  %zero = arith.constant dense<0.0> : tensor<1x4x160x16xf16>
  %2 = arith.maximumf %1, %zero : tensor<1x4x160x16xf16>
  return %2 : tensor<1x4x160x16xf16>
}

func.func @features_first(%x: tensor<1x20x13x20xf16> {ringconv.sharding = #first}, %w: tensor<72x20x3x3xf16>)
    -> (tensor<1x72x7x10xf16> {ringconv.sharding = #first}) {
  %0 = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
     window {stride = [2, 2], pad = [[1, 1], [1, 1]]}
     : (tensor<1x20x13x20xf16>, tensor<72x20x3x3xf16>) -> tensor<1x72x7x10xf16>
  return %0 : tensor<1x72x7x10xf16>
}

func.func @single(%x: tensor<2x19x14x20xf32> {ringconv.sharding = #first}, %w: tensor<70x19x3x3xf32>, %b: tensor<70xf32>)
    -> (tensor<2x70x14x20xf32> {ringconv.sharding = #first}) {
  %0 = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<2x19x14x20xf32>, tensor<70x19x3x3xf32>, tensor<70xf32>) -> tensor<2x70x14x20xf32>
  return %0 : tensor<2x70x14x20xf32>
}

// The gradient of the input of a convolution with stride 2.
func.func @transposed(%x: tensor<1x7x10x40xf16> {ringconv.sharding = #last}, %w: tensor<40x3x3x72xf16>)
    -> (tensor<1x14x20x72xf16> {ringconv.sharding = #last}) {
  %0 = ringconv.conv %x, %w dims [b, 0, 1, f] x [i, 0, 1, o] -> [b, 0, 1, f]
     window {pad = [[1, 2], [1, 2]], lhs_dilate = [2, 2], reverse = [true, true]}
     : (tensor<1x7x10x40xf16>, tensor<40x3x3x72xf16>) -> tensor<1x14x20x72xf16>
  return %0 : tensor<1x14x20x72xf16>
}

func.func @depthwise(%x: tensor<1x14x20x72xf16> {ringconv.sharding = #last}, %w: tensor<72x3x3x1xf16>)
    -> (tensor<1x14x20x72xf16> {ringconv.sharding = #last}) {
  %0 = ringconv.conv %x, %w dims [b, 0, 1, f] x [o, 0, 1, i] -> [b, 0, 1, f] window {pad = [[1, 1], [1, 1]]}
     {feature_group_count = 72 : i64}
     : (tensor<1x14x20x72xf16>, tensor<72x3x3x1xf16>) -> tensor<1x14x20x72xf16>
  return %0 : tensor<1x14x20x72xf16>
}

// Of a 3x3 convolution of 40 to 72 features, whose output features are cut.
func.func @filter_gradient(%x: tensor<3x9x11x40xf16>, %dy: tensor<3x9x11x72xf16>)
    -> (tensor<72x3x3x40xf16> {ringconv.sharding = #features}) {
  %0 = ringconv.conv %x, %dy dims [f, 0, 1, b] x [i, 0, 1, o] -> [f, 0, 1, b] window {pad = [[1, 1], [1, 1]]}
     : (tensor<3x9x11x40xf16>, tensor<3x9x11x72xf16>) -> tensor<72x3x3x40xf16>
  return %0 : tensor<72x3x3x40xf16>
}

func.func @integers(%x: tensor<1x9x10x4xi8> {ringconv.sharding = #last}, %w: tensor<8x3x3x4xi8>)
    -> (tensor<1x9x10x8xi32> {ringconv.sharding = #last}) {
  %0 = ringconv.conv %x, %w dims [b, 0, 1, f] x [o, 0, 1, i] -> [b, 0, 1, f] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x9x10x4xi8>, tensor<8x3x3x4xi8>) -> tensor<1x9x10x8xi32>
  return %0 : tensor<1x9x10x8xi32>
}
