// A stream whose convolution looks back two frames: the loop carries the last two
// in one buffer that each round overwrites, cut like the rest. Where what was
// carried is read once more behind its successor, a round makes a buffer.
// RUN: ringconv-opt %s --ringconv-partition-pipeline --ringconv-bufferize | FileCheck %s
// RUN: ringconv-run %s --entry=causal --check
// RUN: ringconv-run %s --entry=kept --check
ringconv.mesh @ring = <["w" = 2]>

// CHECK-LABEL: func.func @causal
// CHECK: %[[CACHE:.*]] = memref.alloc() {{.*}} : memref<1x3x2x5xf32>
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{[^ ]*}} step %{{[^ ]*}} {
// CHECK: memref.copy %[[CACHE]], %{{.*}}
// CHECK: ringconv.local_pool {{.*}} outs(%[[CACHE]] : memref<1x3x2x5xf32>)
// CHECK: ringconv.local_conv
func.func @causal(%x: tensor<1x3x6x10xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {}, {"w"}]>},
                  %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x10xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zeros = arith.constant dense<0.0> : tensor<1x3x2x10xf32>
  %empty = tensor.empty() : tensor<1x4x6x10xf32>
  %last, %y = scf.for %t = %c0 to %c6 step %c1 iter_args(%cache = %zeros, %all = %empty)
      -> (tensor<1x3x2x10xf32>, tensor<1x4x6x10xf32>) {
    %frame = tensor.extract_slice %x[0, 0, %t, 0] [1, 3, 1, 10] [1, 1, 1, 1]
           : tensor<1x3x6x10xf32> to tensor<1x3x1x10xf32>
    %three = tensor.concat dim(2) %cache, %frame
           : (tensor<1x3x2x10xf32>, tensor<1x3x1x10xf32>) -> tensor<1x3x3x10xf32>
    %kept = tensor.extract_slice %three[0, 0, 1, 0] [1, 3, 2, 10] [1, 1, 1, 1]
          : tensor<1x3x3x10xf32> to tensor<1x3x2x10xf32>
    %one = ringconv.conv %three, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[0, 0], [1, 1]]}
         : (tensor<1x3x3x10xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x1x10xf32>
    %next = tensor.insert_slice %one into %all[0, 0, %t, 0] [1, 4, 1, 10] [1, 1, 1, 1]
          : tensor<1x4x1x10xf32> into tensor<1x4x6x10xf32>
    scf.yield %kept, %next : tensor<1x3x2x10xf32>, tensor<1x4x6x10xf32>
  }
  return %y : tensor<1x4x6x10xf32>
}

// CHECK-LABEL: func.func @kept
// CHECK: scf.for {{.*}} iter_args(%[[OLD:[a-z0-9]*]] =
// CHECK: ringconv.local_pool {{.*}} outs(%[[NEW:[a-z0-9_]*]] :
// CHECK: ins({{.*}}%[[OLD]]{{.*}}outs
func.func @kept(%x: tensor<1x3x4x10xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {}, {"w"}]>})
    -> tensor<1x3x4x10xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %empty = tensor.empty() : tensor<1x3x4x10xf32>
  %last, %y = scf.for %t = %c0 to %c5 step %c1 iter_args(%a = %x, %sum = %x)
      -> (tensor<1x3x4x10xf32>, tensor<1x3x4x10xf32>) {
    %b = ringconv.pool max %a dims [b, f, 0, 1] -> [b, f, 0, 1] window {size = [3, 3], pad = [[1, 1], [1, 1]]}
       : tensor<1x3x4x10xf32> -> tensor<1x3x4x10xf32>
    %d = arith.subf %b, %a : tensor<1x3x4x10xf32>
    %next = arith.addf %sum, %d : tensor<1x3x4x10xf32>
    scf.yield %b, %next : tensor<1x3x4x10xf32>, tensor<1x3x4x10xf32>
  }
  return %y : tensor<1x3x4x10xf32>
}
