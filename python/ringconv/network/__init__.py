# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What importers share: the program that they write, and its files."""
from .program import Program, Window
from .values import Const, ImportFailure, Tensor, is_float

__all__ = ["Const", "ImportFailure", "Program", "Tensor", "Window", "is_float"]
