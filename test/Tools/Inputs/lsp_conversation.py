# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""lsp_conversation.py SERVER: speaks the Language Server Protocol to it."""
import json
import subprocess
import sys

PROGRAM = """ringconv.mesh @ring = <["w" = 4]>
func.func @main(%x: tensor<1x2x4x8xf32>, %w: tensor<3xINxf32>) -> tensor<1x3x4x8xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
     : (tensor<1x2x4x8xf32>, tensor<3xINxf32>) -> tensor<1x3x4x8xf32>
  return %y : tensor<1x3x4x8xf32>
}
"""
URI = "file:///program.mlir"
server = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def send(method, params, number=None):
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    body = json.dumps(message).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    server.stdin.flush()


def receive(wanted):
    """The next message that `wanted` accepts."""
    while True:
        length = 0
        while (line := server.stdout.readline().strip()) or not length:
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message = json.loads(server.stdout.read(length))
        if wanted(message):
            return message


def ask(number, method, params):
    send(method, params, number)
    return receive(lambda m: m.get("id") == number)["result"]


def diagnostics():
    return receive(lambda m: m.get("method") == "textDocument/publishDiagnostics")["params"]["diagnostics"]


abilities = ask(0, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})["capabilities"]
print("initialised:", *sorted(k for k in abilities if k in ("definitionProvider", "hoverProvider")))
send("initialized", {})
text = PROGRAM.replace("IN", "5x1x1")
send("textDocument/didOpen", {"textDocument": {"uri": URI, "languageId": "mlir", "version": 1, "text": text}})
for d in diagnostics():
    start = d["range"]["start"]
    print(f"{start['line'] + 1}:{start['character'] + 1}: {d['message']}")
send("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2},
                                "contentChanges": [{"text": PROGRAM.replace("IN", "2x1x1")}]})  # fmt: skip
left = diagnostics()
print("mended:", left or "no diagnostics")
place = {"textDocument": {"uri": URI}, "position": {"line": 2, "character": 10}}
hover = ask(1, "textDocument/hover", place)
print("hover:", json.dumps(hover["contents"]))
place["position"]["character"] = 22  # %x, an operand
print("definition of %x: line", ask(2, "textDocument/definition", place)[0]["range"]["start"]["line"])
ask(3, "shutdown", None)
send("exit", None)
server.stdin.close()
print("exit code", server.wait())
