#loc1 = loc("x")
module @jit_net attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["batch"=1, "sp"=4]>
  func.func public @main(%arg0: tensor<2x3x9x14xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {"sp"}]>} loc("x"), %arg1: tensor<4x3x3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}) -> (tensor<2x5xf32> {jax.result_info = "result[0]"}, tensor<2x4x11x13xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_1 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %cst_2 = stablehlo.constant dense<[0.5, -1.5, 2.0, 0.25]> : tensor<4xf32>
    %cst_3 = stablehlo.constant dense<[[1.0, 0.5, -1.0, 2.0, 0.0], [0.25, 0.5, 1.0, -2.0, 1.0], [0.0, 1.5, 1.0, 0.5, 2.0], [1.0, -0.5, 0.0, 1.0, 0.75]]> : tensor<4x5xf32>
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x3x9x14xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x9x14xf32> loc(#loc1)
    %1 = stablehlo.broadcast_in_dim %cst_2, dims = [1] : (tensor<4xf32>) -> tensor<2x4x9x14xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x4x9x14xf32>
    %3 = call @relu(%2) : (tensor<2x4x9x14xf32>) -> tensor<2x4x9x14xf32>
    %4 = "stablehlo.reduce_window"(%3, %cst_0) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [1, 1], [0, 1]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 1, 3, 2>, window_strides = array<i64: 1, 1, 2, 2>}> ({
    ^bb0(%arg2: tensor<f32> loc(unknown), %arg3: tensor<f32> loc(unknown)):
      %20 = stablehlo.maximum %arg2, %arg3 : tensor<f32>
      stablehlo.return %20 : tensor<f32>
    }) : (tensor<2x4x9x14xf32>, tensor<f32>) -> tensor<2x4x5x7xf32>
    %5 = stablehlo.reduce(%4 init: %cst) applies stablehlo.add across dimensions = [2, 3] : (tensor<2x4x5x7xf32>, tensor<f32>) -> tensor<2x4xf32>
    %cst_4 = stablehlo.constant dense<2.000000e-02> : tensor<2x4xf32>
    %mean = stablehlo.multiply %5, %cst_4 : tensor<2x4xf32>
    %6 = stablehlo.dot_general %mean, %cst_3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
    %7 = stablehlo.tanh %6 : tensor<2x5xf32>
    %8 = stablehlo.pad %3, %cst_1, low = [0, 0, 1, -2], high = [0, 0, 1, 1], interior = [0, 0, 0, 0] : (tensor<2x4x9x14xf32>, tensor<f32>) -> tensor<2x4x11x13xf32>
    %9 = sdy.sharding_constraint %8 <@mesh, [{?}, {}, {}, {"sp", ?}]> : tensor<2x4x11x13xf32>
    return %7, %9 : tensor<2x5xf32>, tensor<2x4x11x13xf32>
  }
  func.func private @relu(%arg0: tensor<2x4x9x14xf32>) -> tensor<2x4x9x14xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x9x14xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<2x4x9x14xf32>
    return %1 : tensor<2x4x9x14xf32>
  }
}
