// RUN: ringconv-opt %s --ringconv-partition-pipeline --convert-ringconv-to-mpi -verify-diagnostics
ringconv.mesh @ring = <["w" = 4]>
func.func @tensors(%x: tensor<8xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{"w"}]>}) -> tensor<8xf32> {
  // expected-remark@+3 {{halo of 1 low and 1 high}}
  // expected-remark@+2 {{not overlapped}}
  // expected-error@+1 {{'ringconv.start' op expected groups on memrefs: run ringconv-bufferize and ringconv-lower-start before}}
  %y = ringconv.pool max %x dims [0] -> [0] window {size = [3], pad = [[1, 1]]} : tensor<8xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}
