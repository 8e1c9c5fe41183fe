// Three convolutions of a photograph, each with a meaning. The photograph is cut
// over a mesh of devices: in W over four of them as written here, in H and W with
// --mesh=h=2,w=2. Nothing below depends on how it is cut.
ringconv.mesh @grid = <["h" = 1, "w" = 4]>

func.func @main(
    // Red, green and blue in [0, 1].
    %photo: tensor<1x3x512x512xf32>
        {ringconv.name = "photo", ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h"}, {"w"}]>},
    %gauss: tensor<3x1x5x5xf32> {ringconv.name = "gauss", ringconv.parameter},
    %bank: tensor<4x3x3x3xf32> {ringconv.name = "bank", ringconv.parameter},
    %contrast: tensor<3x1x3x3xf32> {ringconv.name = "contrast", ringconv.parameter})
    -> (tensor<1x3x512x512xf32> {ringconv.name = "soft"},
        tensor<1x4x256x256xf32> {ringconv.name = "edges"},
        tensor<1x3x512x512xf32> {ringconv.name = "crisp"}) {
  // A blur: 5x5, one filter for each colour. Two columns from each neighbour.
  %soft = ringconv.conv %photo, %gauss
          dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
          window {pad = [[2, 2], [2, 2]], border = ["reflect", "reflect"]}
          {feature_group_count = 3}
        : (tensor<1x3x512x512xf32>, tensor<3x1x5x5xf32>) -> tensor<1x3x512x512xf32>

  // Edges of the blurred picture in four directions, at half the size. With
  // stride 2 a device needs a column of its left neighbour and none of its right.
  %edges = ringconv.conv %soft, %bank
           dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
           window {stride = [2, 2], pad = [[1, 1], [1, 1]], border = ["reflect", "reflect"]}
         : (tensor<1x3x512x512xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x256x256xf32>

  // Local contrast: each pixel against eight others, six pixels away. Six columns
  // from each neighbour.
  %crisp = ringconv.conv %photo, %contrast
           dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
           window {pad = [[6, 6], [6, 6]], rhs_dilate = [6, 6], border = ["reflect", "reflect"]}
           {feature_group_count = 3}
         : (tensor<1x3x512x512xf32>, tensor<3x1x3x3xf32>) -> tensor<1x3x512x512xf32>

  return %soft, %edges, %crisp : tensor<1x3x512x512xf32>, tensor<1x4x256x256xf32>, tensor<1x3x512x512xf32>
}
