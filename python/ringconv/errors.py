# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong, as exceptions."""
from __future__ import annotations

from typing import NamedTuple, Sequence

SEVERITIES = ("note", "warning", "error", "remark")


class Diagnostic(NamedTuple):
    """One message of the compiler. `line` and `column` count from 1; they are 0
    and `file` is "" where the place is unknown."""

    severity: str
    text: str
    file: str
    line: int
    column: int

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        return f"{place}{self.severity}: {self.text}"


def to_diagnostics(raw: Sequence[tuple[int, str, str, int, int]]) -> list[Diagnostic]:
    """Diagnostics as the C API gives them: severities are numbers there."""
    return [Diagnostic(SEVERITIES[severity], text, file, line, column) for severity, text, file, line, column in raw]


class Error(Exception):
    """Whatever this package raises about a program."""


class CompileError(Error):
    """A program that the compiler refuses.

    Attributes:
        diagnostics: all messages, the first error among them.
        file, line, column: the place of the first error ("", 0, 0: unknown).
    """

    def __init__(self, raw: Sequence[tuple[int, str, str, int, int]]) -> None:
        self.diagnostics = to_diagnostics(raw)
        errors = [d for d in self.diagnostics if d.severity == "error"]
        first = errors[0] if errors else Diagnostic("error", "refused without a word", "", 0, 0)
        self.file, self.line, self.column = first.file, first.line, first.column
        super().__init__("\n".join(str(d) for d in self.diagnostics if d.severity in ("error", "note")) or str(first))


class RunError(Error):
    """A compiled program that cannot run: the text names rank and exchange."""
