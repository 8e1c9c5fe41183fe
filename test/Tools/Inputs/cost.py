# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""cost.py RINGCONV_COMPILE RINGCONV_RUN FOLDER: --report's costs, against what is
counted by hand and what a run sends; --auto-cut against the costs of every cut."""
import html.parser
import json
import os
import re
import subprocess
import sys

compile_tool, run_tool, folder = sys.argv[1:]
os.chdir(folder)

CONV = """ringconv.mesh @m = <[{mesh}]>
func.func @main(%x: tensor<1x3x{h}x{w}xf32> {{ringconv.name = "x"{cut}}}, %k: tensor<4x3x5x5xf32> {{ringconv.parameter}})
    -> tensor<1x4x{h}x{w}xf32> {{
  %y = ringconv.conv %x, %k dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {{pad = [[2, 2], [2, 2]]}}
     : (tensor<1x3x{h}x{w}xf32>, tensor<4x3x5x5xf32>) -> tensor<1x4x{h}x{w}xf32>
  %z = math.absf %y : tensor<1x4x{h}x{w}xf32>
  return %z : tensor<1x4x{h}x{w}xf32>
}}
"""


def sharding(*dims):
    return f', ringconv.sharding = #ringconv.sharding<@m, [{", ".join(dims)}]>'


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


def compiler(name, *flags):
    return subprocess.run([compile_tool, name, "--emit=mlir", "-o", "out.mlir", *flags], text=True,
                          stderr=subprocess.PIPE)


def cost(name):
    assert compiler(name, "--report=report.json").returncode == 0
    with open("report.json") as file:
        return json.load(file)["cost"]


def run(name):
    """What the ranks of a run sent and received."""
    subprocess.run([run_tool, name, "--no-merge-halos", "--json=run.json"], check=True, stdout=subprocess.DEVNULL)
    with open("run.json") as file:
        return json.load(file)["ranks"]


def total(cost, rank, key):
    return sum(step["ranks"][rank][key] for step in cost["steps"])


# ---- 13 columns over 3 ranks: 5, 4, 4 ----
write("conv.mlir", CONV.format(mesh='"w" = 3', h=6, w=13, cut=sharding("{}", "{}", "{}", '{"w"}')))
c, columns, neighbours = cost("conv.mlir"), (5, 4, 4), (1, 2, 1)
conv, absolute = c["steps"]
assert conv["label"] == "conv 5x5" and conv["location"] == "conv.mlir:4:8", conv
for rank, ranks in enumerate(run("conv.mlir")):
    one, other = conv["ranks"][rank], absolute["ranks"][rank]
    work = 4 * 3 * 25 * 6 * columns[rank]
    assert one["work"] == work, one
    assert abs(one["extra_work"] - max(0, work - 4 * 3 * 25 * 6 * 13 / 3)) < 1e-6, one
    assert one["bytes_touched"] == 4 * (3 * 6 * columns[rank] + 4 * 3 * 25 + 4 * 6 * columns[rank]), one
    for key in ("messages_sent", "bytes_sent", "bytes_received"):
        assert one[key] == ranks[key] and other[key] == 0, (key, one, ranks)
    assert one["messages_sent"] == neighbours[rank] and one["bytes_sent"] == neighbours[rank] * 4 * 3 * 6 * 2
    assert one["hops"] == 1 and other["work"] == 4 * 6 * columns[rank]
    # The input and the filter live throughout, and two results where one becomes the other.
    assert c["memory"][rank] == 4 * (3 * 6 * columns[rank] + 300 + 2 * 4 * 6 * columns[rank]), c["memory"]
    # Cores: 73.6e9 / 2 multiply-adds and 5.1e9 bytes a second, 1e-6 s a message, 10e9 bytes a second.
    seconds = max(work / 36.8e9, one["bytes_touched"] / 5.1e9) + neighbours[rank] * 1e-6 + one["bytes_sent"] / 10e9
    assert abs(one["seconds"]["cores"] - seconds) < 1e-12, (one, seconds)
for system in c["seconds"]:
    slowest = [max(rank["seconds"][system] for rank in step["ranks"]) for step in c["steps"]]
    assert [step["seconds"][system] for step in c["steps"]] == slowest
    assert abs(c["seconds"][system] - sum(slowest)) < 1e-15 and c["sources"][system]

# ---- Whole tensors that move: as a run counts them, here over both axes ----
write("move.mlir", """ringconv.mesh @m = <["a" = 2, "b" = 3]>
func.func @main(%x: tensor<8x9xf32> {ringconv.sharding = #ringconv.sharding<@m, [{"a"}, {"b"}]>}) -> tensor<8x9xf32> {
  %n = arith.negf %x : tensor<8x9xf32>
  %y = ringconv.reshard %n <@m, [{"b"}, {}]> : tensor<8x9xf32>
  %z = math.absf %y : tensor<8x9xf32>
  return %z : tensor<8x9xf32>
}
""")
c = cost("move.mlir")
for rank, ranks in enumerate(run("move.mlir")):
    for key in ("messages_sent", "bytes_sent", "bytes_received"):
        assert total(c, rank, key) == ranks[key], (rank, key, total(c, rank, key), ranks[key])
assert total(c, 0, "bytes_received") > 0 and max(r["hops"] for step in c["steps"] for r in step["ranks"]) == 2

# ---- A sum over cut channels: by a ring ----
write("sum.mlir", CONV.format(mesh='"c" = 3', h=4, w=5, cut=sharding("{}", '{"c"}', "{}", "{}")))
for one in cost("sum.mlir")["steps"][0]["ranks"]:
    assert one["work"] == 4 * 25 * 4 * 5 and one["messages_sent"] == 4, one
    assert one["bytes_sent"] == one["bytes_received"] == 4 * (4 * 4 * 4 * 5) // 3, one


# ---- A page with the same figures ----
class Cells(html.parser.HTMLParser):
    """The texts of table cells, by row."""

    def __init__(self):
        super().__init__()
        self.rows, self.inside = [], False

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        self.inside = tag in ("td", "th")
        if self.inside:
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.inside:
            self.rows[-1][-1] += data.strip()


c = cost("conv.mlir")
assert compiler("conv.mlir", "--report=report.html").returncode == 0
with open("report.html") as file:
    cells = Cells()
    cells.feed(file.read())
for system, seconds in c["seconds"].items():
    assert [system, f"{seconds * 1e3:.4g}", c["sources"][system]] in cells.rows, (system, cells.rows)
for rank, memory in enumerate(c["memory"]):
    assert any(row[0] == str(rank) and row[-1] == str(memory) for row in cells.rows), rank


# ---- The cheapest cut: every one is priced, and says the same as a report ----
def auto_cut(name, system=""):
    done = compiler(name, f"--auto-cut={system}" if system else "--auto-cut", "--remarks-filter=auto-cut")
    assert done.returncode == 0, done.stderr
    line, = done.stderr.splitlines()
    found = re.findall(r"(#ringconv.sharding<@m, \[.*?\]>), ([\d.e-]+) ms", line)
    return line, [(cut, float(milliseconds)) for cut, milliseconds in found]


for h, w, best in ((40, 8, '{"s"}, {}'), (8, 40, '{}, {"s"}')):
    write("auto.mlir", CONV.format(mesh='"s" = 2', h=h, w=w, cut=""))
    line, found = auto_cut("auto.mlir")
    assert "remark: auto-cut for cores: x as " in line and len(found) == 5, line
    assert found[0][0] == "#ringconv.sharding<@m, [{}, {}, " + best + "]>", line
    assert [m for _, m in found] == sorted(m for _, m in found), line
    for cut, milliseconds in found:
        write("cut.mlir", CONV.format(mesh='"s" = 2', h=h, w=w, cut=", ringconv.sharding = " + cut))
        assert f"{cost('cut.mlir')['seconds']['cores'] * 1e3:.3g}" == f"{milliseconds:.3g}", (cut, milliseconds)
write("auto.mlir", CONV.format(mesh='"a" = 2, "b" = 2', h=40, w=40, cut=""))
line, found = auto_cut("auto.mlir", "a100-nvlink")
assert "auto-cut for a100-nvlink" in line and len(found) == 7 and line.endswith("; and 18 that cost more"), line
subprocess.run([run_tool, "auto.mlir", "--auto-cut", "--check"], check=True, stdout=subprocess.DEVNULL)

# ---- What cannot be cut ----
for text, flag, error in (
    (CONV.format(mesh='"s" = 2', h=4, w=4, cut=""), "--auto-cut=abacus",
     "auto-cut: there is no system 'abacus', expected cores, cores-100gb, a100-nvlink, a100-pcie, h100-100gb"),
    (CONV.format(mesh='"s" = 2', h=4, w=4, cut="").split("\n", 1)[1], "--auto-cut",
     "auto-cut: there is no mesh to cut over"),
    (CONV.format(mesh='"s" = 2', h=4, w=4, cut=", ringconv.parameter"), "--auto-cut",
     "auto-cut: there is no input tensor besides parameters"),
    (CONV.format(mesh='"a" = 2, "b" = 2, "c" = 2, "d" = 2', h=4, w=4, cut=""), "--auto-cut",
     "auto-cut: more than 256 cuts of 4 dimensions over the axes of the mesh"),
):
    write("bad.mlir", text)
    done = compiler("bad.mlir", flag)
    assert done.returncode == 1 and done.stderr.rstrip().endswith("error: " + error), done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
print("passed")
