# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""StableHLO programs as the MLIR printer writes them: functions, operations and
their words. One statement ends where a line ends outside all brackets."""
import ast
import re
from dataclasses import dataclass, field

import numpy as np

from ..network import ImportFailure

DTYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": "bfloat16", "i64": np.int64, "i32": np.int32,
    "i8": np.int8, "i1": np.bool_
}


@dataclass
class Statement:
    results: list  # %3, or %3#0, %3#1
    name: str
    rest: str  # what follows the name
    line: int

    def fail(self, text):
        raise ImportFailure(f"line {self.line}: {self.name}: {text}")

    @property
    def operands(self):
        """Values named before the type."""
        return re.findall(r"%[\w#]+", re.sub(r"\(\{.*\}\)", "", self.rest, flags=re.S).rsplit(" : ", 1)[0])

    @property
    def types(self):
        """(shape, dtype) of every tensor in the signature; the results' come last."""
        return [tensor_type(t) for t in re.findall(r"tensor<[^>]*>", self.rest.rsplit(" : ", 1)[-1])]

    def ints(self, word, default=None):
        """[1, 2] or array<i64: 1, 2> behind `word =`; nested lists too."""
        match = re.search(rf"\b{word}\s*=\s*(\[[\[\]\d\s,-]*\]|array<i64(?::\s*([^>]*))?>|dense<([^>]*)>)", self.rest)
        if not match:
            return default
        if match[3] is not None:
            return ast.literal_eval(match[3])
        return ast.literal_eval(f"[{match[2] or ''}]") if match[1].startswith("array") else ast.literal_eval(match[1])

    def number(self, word, default):
        match = re.search(rf"\b{word}\s*=\s*(-?\d+)", self.rest)
        return int(match[1]) if match else default


@dataclass
class Function:
    name: str
    arguments: list  # (name, shape, dtype, sharding text or None)
    statements: list = field(default_factory=list)


def tensor_type(text):
    *sizes, element = text[len("tensor<"):-1].split("x")
    if not all(s.isdigit() for s in sizes):
        raise ImportFailure(f"{text}: sizes must be fixed")
    if element not in DTYPES:
        raise ImportFailure(f"{text}: element type {element} is not supported")
    if element == "bf16":
        import ml_dtypes  # noqa: F401, NumPy learns bfloat16
    return tuple(int(s) for s in sizes), np.dtype(DTYPES[element])


def statements_of(text, line=1):
    """(first line, text) of what ends with a line outside brackets."""
    depth, begin, start = 0, 0, line
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|//[^\n]*|->|[()\[\]{}<>\n]', text):
        token = match[0]
        if token in "([{<":
            depth += 1
        elif token in ")]}>":
            depth -= 1
        elif token == "\n":
            line += 1
            if depth == 0:
                if text[begin:match.start()].strip():
                    yield start, text[begin:match.start()].strip()
                begin, start = match.end(), line
    if text[begin:].strip():
        yield start, text[begin:].strip()


def _inside(text):
    """What stands between the first { outside other brackets that ends the text
    and its }."""
    depth = 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|->|[()\[\]{}<>]', text):
        if match[0] == "{" and depth == 0 and text[match.end():].lstrip(" ").startswith("\n"):
            return match.start(), text[match.end():text.rindex("}")]
        depth += {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}.get(match[0], 0)
    raise ImportFailure("no body in braces where one is expected")


def parse(text):
    """(meshes {name: [(axis, extent)]}, functions {name: Function})."""
    text = re.sub(r"(?m)^#loc.*$|\bloc\([^()]*(?:\([^()]*\)[^()]*)*\)", "", text)
    meshes, functions = {}, {}

    def module(body, line):
        for number, statement in statements_of(body, line):
            if statement.startswith(("module", "builtin.module")):
                at, inner = _inside(statement)
                module(inner, number + statement[:at].count("\n"))
            elif statement.startswith("sdy.mesh"):
                name, axes = re.match(r"sdy\.mesh @(\w+) = <\[(.*?)\]", statement).groups()
                meshes[name] = [(a, int(n)) for a, n in re.findall(r'"([^"]+)"\s*=\s*(\d+)', axes)]
            elif statement.startswith("func.func"):
                function = _function(statement, number)
                functions[function.name] = function
            elif statement:
                raise ImportFailure(f"line {number}: expected a function, got '{statement.split()[0]}'")

    module(text, 1)
    if not functions:
        raise ImportFailure("no function")
    return meshes, functions


def _function(text, line):
    at, body = _inside(text)
    head = text[:at]
    name = re.search(r"@([\w.]+)", head)[1]
    function = Function(name, [])
    signature = head.split(") ->")[0]
    parts = re.split(r"(%\w+): ", signature)[1:]
    for argument, rest in zip(parts[::2], parts[1::2]):
        sharding = re.search(r"sdy\.sharding = #sdy\.sharding<@(\w+), (\[.*?\])(?:, \w+=.*?)?>", rest)
        function.arguments.append((argument, *tensor_type(re.match(r"tensor<[^>]*>", rest)[0]),
                                   sharding.groups() if sharding else None))
    for number, statement in statements_of(body, line + head.count("\n")):
        results, equals, operation = statement.partition(" = ")
        if not equals or not results.startswith("%"):
            results, operation = "", statement
        word = re.match(r'"?([\w.]+)"?', operation)
        names = []
        for result, count in re.findall(r"(%\w+)(?::(\d+))?", results):
            names += [f"{result}#{i}" for i in range(int(count))] if count else [result]
        function.statements.append(Statement(names, word[1], operation[word.end():], number))
    return function


def dense(statement, shape, dtype):
    """The value of a constant."""
    text = re.search(r"dense<(.*)>\s*:", statement.rest, re.S)
    if text is None:
        statement.fail("expected dense<…>")
    text = text[1].strip()
    if text.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(text[3:-1]), dtype).reshape(shape)
    words = re.findall(r"[-+\w.]+", text)
    values = np.array([_scalar(w, dtype) for w in words], dtype)
    if len(words) == 1:
        return np.full(shape, values[0])
    if len(words) != np.prod(shape):
        statement.fail(f"{len(words)} elements for a tensor of shape {list(shape)}")
    return values.reshape(shape)


def _scalar(word, dtype):
    """A number, a word as inf or true, or the bits of a float in hexadecimal."""
    if word.startswith("0x"):
        return np.frombuffer(int(word, 16).to_bytes(dtype.itemsize, "little"), dtype)[0]
    if word in ("true", "false"):
        return word == "true"
    return int(word) if re.fullmatch(r"[-+]?\d+", word) else float(word)
