# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What importers share: the program that they write, and the file of its parameters."""
from .program import ImportFailure, Program

__all__ = ["ImportFailure", "Program"]
