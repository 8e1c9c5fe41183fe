// What comes out is verified by every pass, and printed and parsed again by
// upstream's tool, which knows nothing of ringconv.
// RUN: ringconv-opt %s -split-input-file --ringconv-partition-pipeline --ringconv-bufferize --ringconv-lower-start \
// RUN:   --convert-ringconv-to-mpi --canonicalize --cse > %t
// RUN: FileCheck %s --input-file=%t
// RUN: ringconv-opt %s -split-input-file --ringconv-partition-pipeline --ringconv-bufferize --ringconv-lower-start \
// RUN:   --convert-ringconv-to-loops=vectorize=false --convert-ringconv-to-mpi | mlir-opt -split-input-file -o /dev/null

// One row of four ranks, halos of one column on either side. The first rank has
// no lower neighbour: its branch sends itself an empty message.
// CHECK-LABEL: func.func @halos
// CHECK-SAME: (%[[X:.*]]: memref<1x2x4x6xf32>
// CHECK-DAG: %[[TAG:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[EMPTY_TAG:.*]] = arith.constant 1 : i32
// CHECK: %[[WORLD:.*]] = mpi.comm_world : !mpi.comm
// CHECK: %[[SIZE:.*]] = mpi.comm_size(%[[WORLD]]) : i32
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[SIZE]], %c4_i32
// CHECK: cf.assert %[[SAME]], "the number of MPI processes is not the mesh's size, 4"
// CHECK: %[[RANK:.*]] = mpi.comm_rank(%[[WORLD]]) : i32
// CHECK: %[[LOW:.*]]:2 = scf.if %[[HAS_LOW:.*]] -> (!mpi.request, memref<?xf32>) {
// CHECK:   %[[BUFFER:.*]] = memref.alloc() : memref<8xf32>
// CHECK:   %[[CAST:.*]] = memref.cast %[[BUFFER]]
// CHECK:   %[[REQUEST:.*]] = mpi.irecv(%[[BUFFER]], %[[TAG]], %{{.*}}, %[[WORLD]]) : memref<8xf32>, i32, i32 -> !mpi.request
// CHECK:   scf.yield %[[REQUEST]], %[[CAST]]
// CHECK: } else {
// CHECK:   %[[NONE:.*]] = memref.alloc() : memref<0xf32>
// CHECK:   %[[RECEIVED:.*]] = mpi.irecv(%[[NONE]], %[[EMPTY_TAG]], %[[RANK]], %[[WORLD]])
// CHECK:   %[[SENT:.*]] = mpi.isend(%[[NONE]], %[[EMPTY_TAG]], %[[RANK]], %[[WORLD]])
// CHECK:   mpi.wait(%[[SENT]])
// CHECK:   scf.yield %[[RECEIVED]], %{{.*}}
// CHECK: scf.if
// CHECK:   linalg.copy ins(%{{.*}} : memref<1x2x4x1xf32, strided<[48, 24, 6, 1], offset: 5>>)
// CHECK:   mpi.isend
// CHECK-COUNT-4: mpi.wait(%{{.*}}#0)
// CHECK: scf.if %[[HAS_LOW]] {
// CHECK:   memref.reinterpret_cast %[[LOW]]#1
// CHECK:   linalg.copy
// CHECK: memref.dealloc %[[LOW]]#1
// CHECK: ringconv.local_conv
// CHECK-NOT: ringconv.group
// CHECK-NOT: ringconv.coord
ringconv.mesh @ring = <["w" = 4]>
func.func @halos(%x: tensor<1x2x4x24xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {}, {"w"}]>},
                 %w: tensor<3x2x3x3xf32>) -> tensor<1x3x4x24xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x2x4x24xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x4x24xf32>
  return %y : tensor<1x3x4x24xf32>
}

// -----

// Reflect lays out elements from the last one on: a negative stride of the
// buffer's view. Rank 0 reads elements 6, 5, 4 of rank 1 and its own 3 to
// 0. Positions are not ranks where the mesh names devices.
// CHECK-LABEL: func.func @borders
// CHECK: %[[RANK:.*]] = mpi.comm_rank
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[RANK]]
// CHECK: %[[POSITION:.*]] = arith.subi %c1, %[[INDEX]]
// CHECK: memref.reinterpret_cast {{.*}} to offset: [2], sizes: [3], strides: [-1] : memref<?xf32> to memref<3xf32, strided<[-1], offset: 2>>
ringconv.mesh @pair = <["x" = 2], device_ids = [1, 0]>
func.func @borders(%x: tensor<8xf32> {ringconv.sharding = #ringconv.sharding<@pair, [{"x"}]>}) -> tensor<14xf32> {
  %y = ringconv.pool max %x dims [0] -> [0] window {size = [1], pad = [[6, 0]], border = ["reflect"]}
     : tensor<8xf32> -> tensor<14xf32>
  return %y : tensor<14xf32>
}

// -----

// Input channels are cut by "c": partial results are summed over the ranks that
// differ along it only, a communicator for each row of the mesh.
// CHECK-LABEL: func.func @sums
// CHECK: %[[WORLD:.*]] = mpi.comm_world
// CHECK: %[[COMM:.*]] = mpi.comm_split(%[[WORLD]], %{{.*}}, %{{.*}}) : !mpi.comm
// CHECK: mpi.allreduce(%[[PART:.*]], %[[SUM:.*]], MPI_SUM, %[[COMM]]) : memref<?xf32>, memref<?xf32>
// CHECK-NOT: ringconv.all_reduce
ringconv.mesh @grid = <["b" = 2, "c" = 2]>
func.func @sums(%x: tensor<2x4x5xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"b"}, {"c"}, {}]>},
                %w: tensor<3x4x3xf32>) -> tensor<2x3x3xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<2x4x5xf32>, tensor<3x4x3xf32>) -> tensor<2x3x3xf32>
  return %y : tensor<2x3x3xf32>
}

// -----

// The sum's result is cut along the axis of the sum: of the whole sum a rank
// keeps its box.
// CHECK-LABEL: func.func @scattered
// CHECK: mpi.allreduce({{.*}}MPI_SUM, %{{.*}}) : memref<?xf32>, memref<?xf32>
// CHECK: memref.subview
// CHECK-NOT: ringconv.reduce_scatter
ringconv.mesh @row = <["c" = 2]>
func.func @scattered(%x: tensor<2x4x5xf32> {ringconv.sharding = #ringconv.sharding<@row, [{}, {"c"}, {}]>},
                     %w: tensor<6x4x3xf32>)
    -> (tensor<2x6x3xf32> {ringconv.sharding = #ringconv.sharding<@row, [{}, {"c"}, {}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<2x4x5xf32>, tensor<6x4x3xf32>) -> tensor<2x6x3xf32>
  return %y : tensor<2x6x3xf32>
}

// -----

// A reshard goes through the ranks in a loop, each step complete in itself.
// CHECK-LABEL: func.func @reshard
// CHECK: scf.for %[[PEER:.*]] = %c0 to %c3
// CHECK:   mpi.irecv
// CHECK:   mpi.isend
// CHECK:   mpi.wait
// CHECK:   mpi.wait
// CHECK:   linalg.copy
ringconv.mesh @three = <["x" = 3]>
func.func @reshard(%x: tensor<6x9xf32> {ringconv.sharding = #ringconv.sharding<@three, [{}, {"x"}]>})
    -> (tensor<6x9xf32> {ringconv.sharding = #ringconv.sharding<@three, [{"x"}, {}]>}) {
  return %x : tensor<6x9xf32>
}
