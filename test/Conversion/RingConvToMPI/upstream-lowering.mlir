// What upstream 22 lowers of the mpi dialect: sums, but no requests. When this
// test fails, docs/embedding.md and the pass have something better to say.
// RUN: ringconv-opt %s --ringconv-partition-pipeline --ringconv-bufferize --ringconv-lower-start \
// RUN:   --convert-ringconv-to-loops=vectorize=false --convert-ringconv-to-mpi | mlir-opt --convert-to-llvm \
// RUN:   | FileCheck %s
ringconv.mesh @ring = <["w" = 4]>
// CHECK-DAG: mpi.irecv
// CHECK-DAG: mpi.isend
// CHECK-DAG: mpi.wait
func.func @halos(%x: tensor<8xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{"w"}]>}) -> tensor<8xf32> {
  %y = ringconv.pool max %x dims [0] -> [0] window {size = [3], pad = [[1, 1]]} : tensor<8xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}
