// A small denoiser and its loss. Pictures are cut over a mesh of devices: in W
// over four of them as written here, in pictures and W with --mesh=dp=2,w=2.
// Nothing below depends on how they are cut, and nothing is about gradients:
//
//   ringconv-opt denoise.mlir --ringconv-differentiate=train
//
// adds @main_train, which returns the results and the gradients of what is marked.
ringconv.mesh @grid = <["dp" = 1, "w" = 4]>

#pictures = #ringconv.sharding<@grid, [{"dp"}, {}, {}, {"w"}]>
#all = affine_map<(n, c, y, x) -> (n, c, y, x)>
#scalar = affine_map<(n, c, y, x) -> ()>

func.func @main(
    %noisy: tensor<2x3x96x96xf32> {ringconv.name = "noisy", ringconv.sharding = #pictures},
    %clean: tensor<2x3x96x96xf32> {ringconv.name = "clean", ringconv.sharding = #pictures},
    %w1: tensor<8x3x3x3xf32> {ringconv.name = "w1", ringconv.wants_grad},
    %b1: tensor<8xf32> {ringconv.name = "b1", ringconv.wants_grad},
    %w2: tensor<8x8x3x3xf32> {ringconv.name = "w2", ringconv.wants_grad},
    %b2: tensor<8xf32> {ringconv.name = "b2", ringconv.wants_grad},
    %w3: tensor<3x8x3x3xf32> {ringconv.name = "w3", ringconv.wants_grad},
    %b3: tensor<3xf32> {ringconv.name = "b3", ringconv.wants_grad})
    -> (tensor<f32> {ringconv.name = "loss"}, tensor<2x3x96x96xf32> {ringconv.name = "denoised"}) {
  %zero = arith.constant dense<0.0> : tensor<2x8x96x96xf32>
  %0 = ringconv.conv %noisy, %w1 bias %b1 dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<2x3x96x96xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<2x8x96x96xf32>
  %1 = arith.maximumf %0, %zero : tensor<2x8x96x96xf32>
  %2 = ringconv.conv %1, %w2 bias %b2 dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<2x8x96x96xf32>, tensor<8x8x3x3xf32>, tensor<8xf32>) -> tensor<2x8x96x96xf32>
  %3 = arith.maximumf %2, %zero : tensor<2x8x96x96xf32>
  %denoised = ringconv.conv %3, %w3 bias %b3 dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<2x8x96x96xf32>, tensor<3x8x3x3xf32>, tensor<3xf32>) -> tensor<2x3x96x96xf32>

  // The mean of the squared differences.
  %start = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.generic {indexing_maps = [#all, #all, #scalar], iterator_types = ["reduction", "reduction", "reduction", "reduction"]}
      ins(%denoised, %clean : tensor<2x3x96x96xf32>, tensor<2x3x96x96xf32>) outs(%start : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %so_far: f32):
    %d = arith.subf %a, %b : f32
    %s = arith.mulf %d, %d : f32
    %t = arith.addf %so_far, %s : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  %count = arith.constant dense<55296.0> : tensor<f32>
  %loss = arith.divf %sum, %count : tensor<f32>
  return %loss, %denoised : tensor<f32>, tensor<2x3x96x96xf32>
}
