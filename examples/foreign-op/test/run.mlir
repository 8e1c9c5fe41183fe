// Six ranks against NumPy. A window of 5 reaches beyond the neighbours: they have
// one or two columns each.
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/check.py make %t
// RUN: image-run %s --input=x=%t/x.npy --output=0=%t/range.npy --output=1=%t/sums.npy
// RUN: %python %S/check.py check %t
ringconv.mesh @grid = <["y" = 2, "x" = 3]>
func.func @main(%x: tensor<7x5xf32> {ringconv.name = "x",
                                     ringconv.sharding = #ringconv.sharding<@grid, [{"y"}, {"x"}]>})
    -> (tensor<7x5xf32>, tensor<7xf32>) {
  %r = image.range %x size 5 : tensor<7x5xf32>
  %s = image.row_sum %r : tensor<7x5xf32> -> tensor<7xf32>
  return %r, %s : tensor<7x5xf32>, tensor<7xf32>
}
