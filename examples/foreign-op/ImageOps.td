// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dialect that knows nothing of ringconv.
#ifndef IMAGE_OPS_TD
#define IMAGE_OPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpBase.td"

def Image_Dialect : Dialect {
  let name = "image";
  let cppNamespace = "::image";
  let summary = "Filters of grey images.";
}

class Image_Op<string mnemonic, list<Trait> traits = []> : Op<Image_Dialect, mnemonic, traits>;

def Image_RangeOp : Image_Op<"range", [Pure, SameOperandsAndResultType]> {
  let summary = "largest minus smallest element of the square around each pixel";
  let description = [{
    The square has `size` rows and columns, an odd number; beyond the image the
    nearest pixel counts.

    Example: `%r = image.range %x size 3 : tensor<480x640xf32>`
  }];
  let arguments = (ins 2DTensorOf<[F32]>:$input, ConfinedAttr<I64Attr, [IntPositive]>:$size);
  let results = (outs 2DTensorOf<[F32]>:$result);
  let assemblyFormat = "$input `size` $size attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Image_RowSumOp : Image_Op<"row_sum", [Pure]> {
  let summary = "sum of each row";
  let description = [{ Example: `%s = image.row_sum %x : tensor<480x640xf32> -> tensor<480xf32>` }];
  let arguments = (ins 2DTensorOf<[F32]>:$input);
  let results = (outs 1DTensorOf<[F32]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

#endif
