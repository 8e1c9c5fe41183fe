# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mkdocs.yml cannot say: the navigation names only pages that exist, and files outside docs/ are links to
their text in the repository."""
import os
import re

from pygments.lexer import RegexLexer, bygroups
from pygments.lexers import LEXERS
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text


class MlirLexer(RegexLexer):
    name, aliases = "MLIR", ["mlir"]
    tokens = {
        "root": [
            (r"//.*", Comment.Single),
            (r'"[^"\n]*"', String),
            (r"[%@#!^][\w.$#:-]*\w", Name.Variable),
            (r"-?\b\d+(\.\d*)?(e[+-]?\d+)?\b", Number),
            (r"\b(tensor|memref|vector|index|f64|f32|f16|bf16|i\d+)\b", Keyword.Type),
            (r"\b([a-z_]+)(\.)([a-z_0-9.]+)", bygroups(Keyword, Operator, Keyword)),
            (r"\b(module|dims|window|bias|ins|outs|halos|return|true|false)\b", Name.Builtin),
            (r"[\w.]+", Text),
            (r".|\n", Text),
        ]
    }


def on_startup(**_):
    LEXERS["MlirLexer"] = (__name__, "MLIR", ("mlir",), (), ())
    import pygments.lexers as lexers

    lexers._lexer_cache["MLIR"] = MlirLexer


def existing(nav, folder):
    kept = []
    for entry in nav:
        title, target = next(iter(entry.items()))
        if isinstance(target, list):
            kept.append({title: existing(target, folder)})
        elif os.path.exists(os.path.join(folder, target)):
            kept.append(entry)
    return kept


def on_config(config):
    config["nav"] = existing(config["nav"], config["docs_dir"])
    return config


def on_page_markdown(markdown, page, **_):
    """`[text](../examples/first.mlir)` names a file beside docs/: on the site its name alone stands there."""
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)+(?!docs/)[^)]*\)", r"\1", markdown)
