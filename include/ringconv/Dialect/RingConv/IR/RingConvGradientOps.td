// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations over whole tensors that ringconv-differentiate writes. Gradients of
// convolutions are convolutions; these are what else gradients need.
#ifndef RINGCONV_GRADIENT_OPS_TD
#define RINGCONV_GRADIENT_OPS_TD

def RingConv_PoolGradOp : RingConv_Op<"pool_grad", [Pure, DeclareOpInterfaceMethods<ShardableOpInterface>,
                                                    DeclareOpInterfaceMethods<WindowedOpInterface>]> {
  let summary = "a max pool backward: each window's value goes where its maximum was";
  let description = [{
    result[e] = sum of input[o] over the taps t of e's window whose place o
    holds `taps[o] == T - 1 - t`, where T is the number of taps and t is counted
    row-major. The window is that of the transposed pool. With `taps` from
    `ringconv.pool argmax` and the window

      size k, stride b, lhs_dilate s, rhs_dilate d, low padding d (k - 1) - p

    it is the gradient of a max pool with size k, stride s, lhs_dilate b,
    rhs_dilate d and low padding p: ties go to the first tap, NaN wins, windows
    without elements give nothing.

    A back end sees `ringconv.local_pool sum ... where`.

    **Constraints** (pool_grad_c1) dimension numbers as pool_c1; (pool_grad_c2)
    window words as pool_c2, borders are zero; (pool_grad_c3) input and result
    have the same element type, f64, f32, f16 or bf16; `taps` has the input's
    shape and i32; (pool_grad_c4) the result has the inferred shape;
    (pool_grad_c5) no dimension of the input is 0.

    Made by `ringconv-differentiate`, removed by `ringconv-partition`.

    Example:
    ```mlir
    %dx = ringconv.pool_grad %dy, %taps dims [b, f, 0] -> [b, f, 0]
            window {size = [3], lhs_dilate = [2], pad = [[1, 2]]}
          : (tensor<1x8x28xf32>, tensor<1x8x28xi32>) -> tensor<1x8x56xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$taps,
                   DenseI64ArrayAttr:$input_dims, DenseI64ArrayAttr:$output_dims,
                   DenseI64ArrayAttr:$size, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$pad_low,
                   DenseI64ArrayAttr:$pad_high, DenseI64ArrayAttr:$lhs_dilate, DenseI64ArrayAttr:$rhs_dilate,
                   DenseBoolArrayAttr:$reverse, DenseI64ArrayAttr:$border);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `,` $taps `dims` custom<PoolDims>($input_dims, $output_dims)
    custom<PoolWindow>($size, $stride, $pad_low, $pad_high, $lhs_dilate, $rhs_dilate, $reverse, $border,
                       ref($input_dims))
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The result shape for the input's shape and the attributes.
    ::mlir::FailureOr<::llvm::SmallVector<int64_t>> inferShape();
  }];
}

def RingConv_FoldBorderOp : RingConv_Op<"fold_border", [Pure, DeclareOpInterfaceMethods<ShardableOpInterface>,
                                                        DeclareOpInterfaceMethods<WindowedOpInterface>]> {
  let summary = "the adjoint of extending a dimension by a border mode";
  let description = [{
    `input` stands on dimension `dim` extended to positions [-p, N + q), for
    padding (p, q). Each position is added to the element of [0, N) that `border`
    maps it to: position j of the result is input[p + j] plus all others that a
    window would have read there. Negative padding cropped the dimension: what
    was cut off becomes 0, and the border maps onto the rest.

    Sums are taken in the order: the own position, those below in ascending
    order, those above in ascending order.

    `ringconv-partition` makes it a halo exchange in the reverse direction (what
    lies outside goes to the ranks it belongs to), slices and additions; no back
    end sees it.

    **Constraints** (fold_border_c1) `dim` is a dimension of the tensor;
    (fold_border_c2) the element type is f64, f32, f16 or bf16; (fold_border_c3)
    the result has the input's shape but for `dim`, which lacks p + q;
    (fold_border_c4) border and padding fit the size as conv_c11 says.

    Made by `ringconv-differentiate`, removed by `ringconv-partition`.

    Example:
    ```mlir
    %dx = ringconv.fold_border %g dim 2 pad [1, 2] circular : tensor<1x8x59xf32> -> tensor<1x8x56xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, DenseI64ArrayAttr:$pad, I64Attr:$border);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `dim` $dim `pad` $pad custom<BorderKind>($border) attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// One tap, stride 1: how a convolution would read the extended dimension.
    ::ringconv::halo::Window getExtension() {
      return {1, 1, 1, 1, getPad()[0], getPad()[1], ::ringconv::halo::Border(getBorder())};
    }
  }];
}

def RingConv_ReshardLikeOp : RingConv_Op<"reshard_like", [Pure, SameOperandsAndResultType]> {
  let summary = "the same value, cut as another one";
  let description = [{
    Gradients are cut as the values they belong to, whose sharding is known when
    the program is partitioned. Where only this operation uses `input`, what
    makes it computes it at these cuts. `model` is not read.

    Made by `ringconv-differentiate`, removed by `ringconv-partition`.

    Example:
    ```mlir
    %d = ringconv.reshard_like %g, %x : tensor<1x6x6x13xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$model);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `,` $model attr-dict `:` type($input)";
}

#endif
