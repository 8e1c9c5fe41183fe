# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Messages and bytes that each rank receives in a run, against counting the elements that its outputs read.

    messages.py RINGCONV_OPT RINGCONV_RUN FOLDER PROGRAM.mlir ...

Every function of each program that is one convolution or pool, with reshards before it or around it. Only the cuts
are taken from the compiler (--ringconv-propagate-sharding); what is read is counted tap by tap. A rank gets the
elements that it reads and does not own from each owner in one message, each element once: none is empty, none travels
around the ring for nothing. Sums over cut channels or taps are collectives and are left out, and so are results that
move after they are computed.
"""
import collections
import itertools
import json
import math
import re
import subprocess
import sys

BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i8": 1, "i32": 4}
Tensor = collections.namedtuple("Tensor", "shape bytes cuts")


class LeftOut(Exception):
    """Why a function is not counted."""


def balanced(size, parts):
    return [size // parts * c + min(c, size % parts) for c in range(parts + 1)]


class Mesh:
    def __init__(self, text):
        axes = re.search(r"ringconv\.mesh @\S+ = <\[(.*?)\](?:, device_ids = .*)?>", text)[1]
        self.extents = {name: int(n) for name, n in re.findall(r'"([^"]+)" = (\d+)', axes)}
        self.size = math.prod(self.extents.values())
        # Counts are by rank of the mesh, whichever device it has.
        self.coords = [dict(zip(self.extents, c)) for c in itertools.product(*map(range, self.extents.values()))]

    def part(self, axes, rank):
        part = 0
        for axis in axes:
            part = part * self.extents[axis] + self.coords[rank][axis]
        return part

    def bounds(self, size, cut):
        axes, bounds = cut
        return bounds or balanced(size, math.prod(self.extents[a] for a in axes))

    def box(self, tensor, rank):
        """The indices of a rank's shard, a range per dimension."""
        bounds = [(self.bounds(n, cut), self.part(cut[0], rank)) for n, cut in zip(tensor.shape, tensor.cuts)]
        return tuple(range(b[part], b[part + 1]) for b, part in bounds)


def parse_cuts(text):
    cuts = []
    for entry in re.findall(r"\{([^}]*)\}", text):
        bounds = re.search(r"cuts = \[([^\]]*)\]", entry)
        cuts.append((tuple(re.findall(r'"([^"]+)"', entry)), [int(b) for b in bounds[1].split(",")] if bounds else None))
    return cuts


def parse_tensor(text, cuts):
    *shape, element = re.search(r"tensor<([^>]*)>", text)[1].split("x")
    sharding = re.search(r"#ringconv\.sharding<@\S+, \[(.*)\]>", text)
    cuts = parse_cuts(sharding[1]) if sharding else cuts or [((), None)] * len(shape)
    return Tensor([int(n) for n in shape], BYTES[element], cuts)


def parse_window(text, spatial):
    """Per spatial dimension the words of its window; `size` of a convolution stands in its filter."""
    words = [dict(stride=1, low=0, high=0, lhs_dilate=1, rhs_dilate=1, border="zero") for _ in range(spatial)]
    for name, values in re.findall(r"(\w+) = \[((?:\[[^\]]*\]|[^\[\]])*)\]", text):
        if name == "pad":
            for word, (low, high) in zip(words, re.findall(r"\[(-?\d+), (-?\d+)\]", values)):
                word.update(low=int(low), high=int(high))
        elif name in ("stride", "lhs_dilate", "rhs_dilate", "size"):
            for word, value in zip(words, values.split(",")):
                word[name] = int(value)
        elif name == "border":
            for word, value in zip(words, re.findall(r'"(\w+)"', values)):
                word[name] = value
    return words


def element(word, size, out, tap):
    """The element that a tap of an output reads; None: padding or a hole."""
    position = out * word["stride"] + tap * word["rhs_dilate"] - word["low"]
    if word["border"] == "zero":
        inside = 0 <= position < (size - 1) * word["lhs_dilate"] + 1 and position % word["lhs_dilate"] == 0
        return position // word["lhs_dilate"] if inside else None
    first, last = max(0, -word["low"]), size - 1 + min(0, word["high"])  # negative padding cuts off
    if position < first:
        mirrored, outermost = 2 * first - position, first
    elif position > last:
        mirrored, outermost = 2 * last - position, last
    else:
        return position
    if word["border"] == "circular":
        return first + (position - first) % (last - first + 1)
    return mirrored if word["border"] == "reflect" else outermost


class Window:
    """A convolution or pool as the text of its operation says."""

    def __init__(self, text, operands, result):
        self.input, self.result = operands[0], result
        lists = [t.replace(" ", "").split(",") for t in re.findall(r"\[([bfoi0-9, ]+)\]", text.split("window")[0])]
        self.inputs, self.outputs, self.filter = lists[0], lists[-1], lists[1] if len(lists) == 3 else None
        words = re.search(r"window \{(.*?)\}(?= [{:])", text)
        self.words = parse_window(words[1] if words else "", sum(d.isdigit() for d in self.inputs))
        count = {name: int(n) for name, n in re.findall(r"(\w+_group_count) = (\d+)", text)}
        self.groups, self.batches = count.get("feature_group_count", 1), count.get("batch_group_count", 1)
        if not self.filter:
            return
        self.outs, self.ins = [operands[1].shape[self.filter.index(d)] for d in "oi"]
        for number, word in enumerate(self.words):
            word["size"] = operands[1].shape[self.filter.index(str(number))]
        summed = [d for d, cut in zip(self.filter, operands[1].cuts) if d != "o" and cut[0]]
        if summed or (self.groups == 1 and self.input.cuts[self.inputs.index("f")][0]):
            raise LeftOut("sums over cut channels or taps")

    def reads(self, box):
        """Per dimension of the input the elements that the outputs of a box read."""
        reads = []
        for name, size in zip(self.inputs, self.input.shape):
            if name in "bf":
                reads.append(self.feature_reads(name, box))
                continue
            word = self.words[int(name)]
            taps = itertools.product(box[self.outputs.index(name)], range(word["size"]))
            reads.append({element(word, size, out, tap) for out, tap in taps} - {None})
        return reads

    def feature_reads(self, name, box):
        if not self.filter:
            return set(box[self.outputs.index(name)])
        outs, batch = box[self.outputs.index("f")], box[self.outputs.index("b")]
        if name == "f":
            return {o // (self.outs // self.groups) * self.ins + i for o in outs for i in range(self.ins)}
        whole = self.result.shape[self.outputs.index("b")]
        return {o // (self.outs // self.batches) * whole + n for o in outs for n in batch}


class Count:
    def __init__(self, mesh):
        self.mesh = mesh
        self.messages, self.bytes = collections.Counter(), collections.Counter()

    def receive(self, tensor, reads):
        """`reads` by rank. Shards that differ share no element."""
        shards = {rank: self.mesh.box(tensor, rank) for rank in range(self.mesh.size)}
        for rank, own in shards.items():
            for owner in set(shards.values()) - {own}:
                count = math.prod(sum(i in indices for i in wanted) for wanted, indices in zip(reads[rank], owner))
                self.messages[rank] += count > 0
                self.bytes[rank] += count * tensor.bytes


def count_function(mesh, arguments, results, body):
    """What each rank is to receive."""
    values = {name: parse_tensor(type_, None) for name, type_ in re.findall(r"(%arg\d+): (tensor<[^>]*>(?: \{.*?>\})?)",
                                                                             arguments)}
    count, window = Count(mesh), None
    for name, op, rest in re.findall(r"(%\w+) = ringconv\.(\w+) (.*)", body):
        operands = [values[v] for v in re.findall(r"%\w+", rest) if v in values]
        if op == "reshard":
            if window:
                raise LeftOut("the result moves")
            values[name] = parse_tensor(rest, parse_cuts(re.search(r"<@\S+, \[(.*)\]>", rest)[1]))
            count.receive(operands[0], [mesh.box(values[name], rank) for rank in range(mesh.size)])
        elif op in ("conv", "pool") and not window:
            window = Window(rest, operands, parse_tensor(results, None))
        else:
            raise LeftOut("several operations")
    others = re.findall(r"= (?!ringconv)(\S+)", re.sub(r"\{.*?\}|<.*?>", "", body))
    if not window or others:
        raise LeftOut("several operations" if window else "no window")
    count.receive(window.input, [window.reads(mesh.box(window.result, rank)) for rank in range(mesh.size)])
    return count


def functions(module):
    """(name, arguments, results, body)"""
    for name, arguments, results, body in re.findall(r"func\.func @(\w+)\((.*)\) -> (.*) \{\n((?:    .*\n)*)", module):
        yield name, arguments, results, body


def check_function(run, folder, program, mesh, function):
    name, arguments, results, body = function
    if results.count("tensor<") != 1:
        raise LeftOut("several results")
    want = count_function(mesh, arguments, results, body)
    result = f"{folder}/counts.json"
    subprocess.run([run, program, f"--entry={name}", f"--json={result}"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    with open(result, encoding="utf-8") as file:
        ranks = json.load(file)["ranks"]
    wrong = []
    for rank, got in enumerate(ranks):
        have, expected = (got["messages_received"], got["bytes_received"]), (want.messages[rank], want.bytes[rank])
        if have != expected:
            wrong.append(f"{program} @{name}: rank {rank} receives {have[0]} messages of {have[1]} bytes, expected "
                         f"{expected[0]} of {expected[1]}")
    return wrong


def main():
    opt, run, folder, *programs = sys.argv[1:]
    counted, wrong, left_out = 0, [], collections.Counter()
    for program in programs:
        module = subprocess.run([opt, "--ringconv-propagate-sharding", program], check=True, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        for function in functions(module):
            try:
                wrong += check_function(run, folder, program, Mesh(module), function)
                counted += 1
            except LeftOut as why:
                left_out[str(why)] += 1
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{counted} functions counted, {len(wrong)} ranks differ; left out: {dict(left_out)}")
    return bool(wrong) or not counted


if __name__ == "__main__":
    sys.exit(main())
