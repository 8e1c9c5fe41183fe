# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NCCL: every collective, type and operation, groups, splits, broken partners,
with ranks as threads of one process and as processes."""
import ctypes
import os
import signal
import socket
import sys
import threading

import numpy as np

import gpusim
from gpusim import Suite, alloc, call, faults, size, start, sync, to_device, to_host

suite = Suite()
TYPES = {0: "i1", 1: "u1", 2: "i4", 3: "u4", 4: "i8", 5: "u8", 6: "f2", 7: "f4", 8: "f8"}


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


def library():
    gpusim.cu = gpusim.cu or ctypes.CDLL(os.path.join(gpusim.LIBRARY_DIR, "libcuda.so.1"))
    n = ctypes.CDLL(os.path.join(gpusim.LIBRARY_DIR, "libnccl.so.2"))
    n.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int]
    return n


class Rank:
    def __init__(self, n, rank, ranks, uid):
        self.n, self.rank, self.ranks = n, rank, ranks
        start()
        self.stream = ctypes.c_void_p()
        call("cuStreamCreate", ctypes.byref(self.stream), 1)
        self.comm = ctypes.c_void_p()
        self.check(n.ncclCommInitRank(ctypes.byref(self.comm), ranks, uid, rank))

    def check(self, code):
        assert code == 0, f"rank {self.rank}: NCCL error {code}"

    def wait(self):
        call("cuStreamSynchronize", self.stream)

    def error(self):
        e = ctypes.c_int()
        self.n.ncclCommGetAsyncError(self.comm, ctypes.byref(e))
        return e.value

    def send(self, p, count, peer, type_=3):
        return self.n.ncclSend(p, size(count), type_, peer, self.comm, self.stream)

    def recv(self, p, count, peer, type_=3):
        return self.n.ncclRecv(p, size(count), type_, peer, self.comm, self.stream)


def on_ranks(ranks, body, destroy=True):
    """Runs body(Rank) on a thread per rank; raises if one fails."""
    n, uid, errors = library(), UniqueId(), []
    n.ncclGetUniqueId(ctypes.byref(uid))
    call("cuInit", 0)

    def work(r):
        try:
            rank = Rank(n, r, ranks, uid)
            body(rank)
            if destroy:
                rank.check(n.ncclCommDestroy(rank.comm))
        except BaseException as e:
            errors.append(f"rank {r}: {e!r}")

    threads = [threading.Thread(target=work, args=(r,)) for r in range(ranks)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors


def on_processes(ranks, body, destroy=True, fixed=False):
    """The same with a process per rank. `fixed`: they meet by NCCL_COMM_ID, not by an id that they were given."""
    uid = UniqueId()
    if fixed:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            os.environ["NCCL_COMM_ID"] = "127.0.0.1:%d" % s.getsockname()[1]
    else:
        library().ncclGetUniqueId(ctypes.byref(uid))
    children = {}
    for r in range(ranks):
        child = os.fork()
        if child:
            children[child] = r
            continue
        code = 1
        try:
            n = library()
            if fixed:
                n.ncclGetUniqueId(ctypes.byref(uid))
            rank = Rank(n, r, ranks, uid)
            body(rank)
            if destroy:
                rank.check(n.ncclCommDestroy(rank.comm))
            code = 0
        except BaseException as e:
            print(f"rank {r}: {e!r}", file=sys.stderr, flush=True)
        os._exit(code)
    codes = {children[c]: os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in list(children)}
    return codes


def everywhere(name, ranks, body, env=None):
    """Ranks as threads, as processes that were given an id, as processes that meet by NCCL_COMM_ID."""
    ok(f"{name}, {ranks} threads", lambda: on_ranks(ranks, body), env)

    def processes(fixed):
        def go():
            codes = on_processes(ranks, body, fixed=fixed)
            assert not any(codes.values()), codes
        return go

    ok(f"{name}, {ranks} processes", processes(False), env)
    ok(f"{name}, {ranks} processes by NCCL_COMM_ID", processes(True), env)


def ok(name, function, env=None):
    status, text = faults(function, env)
    suite.check(name, status == 0 and not text, text[:3000])


def bad(name, function, words, env=None):
    status, text = faults(function, env)
    suite.check(name, status == 0 and all(w in text for w in words), f"{status} {text[:3000]}")


COUNT = 101
SMALL = (np.arange(COUNT * 3) * 7 % 5)


def data(rank, dtype, count=COUNT):
    return ((SMALL[:count] + rank) % 4 + 1).astype(dtype)


def reductions(r):
    ranks = r.ranks
    for t, dtype in TYPES.items():
        for op, fn in enumerate((np.add, np.multiply, np.maximum, np.minimum, np.add)):
            all_ = [data(k, dtype) for k in range(ranks)]
            want = all_[0].copy()
            for k in range(1, ranks):
                want = fn(want, all_[k])
            if op == 4:
                want = (want / dtype_(dtype)(ranks)).astype(dtype) if dtype[0] == "f" else want // ranks
            p, q = to_device(all_[r.rank]), alloc(want.nbytes)
            r.check(r.n.ncclAllReduce(p, q, size(COUNT), t, op, r.comm, r.stream))
            r.wait()
            got = to_host(q, want)
            assert (got == want).all(), ("allreduce", dtype, op, got[:4], want[:4])
            q2 = alloc(want.nbytes)
            r.check(r.n.ncclReduce(p, q2, size(COUNT), t, op, ranks - 1, r.comm, r.stream))
            r.wait()
            assert r.rank != ranks - 1 or (to_host(q2, want) == want).all(), ("reduce", dtype, op)
            long = [np.concatenate([data(k + j, dtype, 20) for j in range(ranks)]) for k in range(ranks)]
            total = long[0].copy()
            for k in range(1, ranks):
                total = fn(total, long[k])
            if op < 4:
                p, q = to_device(long[r.rank]), alloc(20 * want.itemsize)
                r.check(r.n.ncclReduceScatter(p, q, size(20), t, op, r.comm, r.stream))
                r.wait()
                assert (to_host(q, want[:20]) == total[20 * r.rank:20 * r.rank + 20]).all(), ("reducescatter", dtype, op)


def dtype_(d):
    return np.dtype(d).type


for ranks in (1, 2, 3, 4):
    everywhere("reductions", ranks, reductions)


def small_types(r):
    """bf16 and fp8 by small integers, which all of them hold exactly."""
    codes = {9: {1: 0x3f80, 2: 0x4000, 3: 0x4040, 4: 0x4080, 6: 0x40c0}, 10: {1: 0x38, 2: 0x40, 3: 0x44, 4: 0x48, 6: 0x4c},
             11: {1: 0x3c, 2: 0x40, 3: 0x42, 4: 0x44, 6: 0x46}}
    for t, table in codes.items():
        dtype = "u2" if t == 9 else "u1"
        p, q = to_device(np.array([table[1 + r.rank], table[2], table[3]], dtype)), alloc(8)
        r.check(r.n.ncclAllReduce(p, q, size(3), t, 0, r.comm, r.stream))
        r.wait()
        assert list(to_host(q, np.zeros(3, dtype))) == [table[3], table[4], table[6]], t


everywhere("bf16 and fp8", 2, small_types)


def moves(r):
    n, me = r.ranks, data(r.rank, "u4")
    p, q = to_device(me), alloc(me.nbytes * n)
    r.check(r.n.ncclAllGather(p, q, size(COUNT), 3, r.comm, r.stream))
    r.wait()
    assert (to_host(q, np.zeros((n, COUNT), "u4")) == [data(k, "u4") for k in range(n)]).all()
    for root in range(n):
        r.check(r.n.ncclBroadcast(p, q, size(COUNT), 3, root, r.comm, r.stream))
        r.wait()
        assert (to_host(q, me) == data(root, "u4")).all()
    p2, q2 = to_device(np.arange(n * 5, dtype="u4") + 100 * r.rank), alloc(n * 20)
    r.check(r.n.ncclAlltoAll(p2, q2, size(5), 3, r.comm, r.stream))
    r.wait()
    want = np.concatenate([np.arange(5) + 5 * r.rank + 100 * k for k in range(n)])
    assert (to_host(q2, np.zeros(n * 5, "u4")) == want).all()


everywhere("all-gather, broadcast, all-to-all", 4, moves)


def groups(r):
    """Every pair exchanges two messages, posted in another order by each rank,
    in nested groups; large ones too, which no socket buffer holds."""
    big = 300000
    peers = [k for k in range(r.ranks)]
    peers = peers[r.rank:] + peers[:r.rank]
    out = to_device(np.full(big, r.rank, "u4"))
    small = to_device(np.full(3, 100 + r.rank, "u4"))
    into = {k: (alloc(4 * big), alloc(12)) for k in peers}
    r.check(r.n.ncclGroupStart())
    for k in peers if r.rank % 2 else reversed(peers):
        r.check(r.n.ncclGroupStart())
        actions = [lambda: r.send(out, big, k), lambda: r.recv(into[k][0], big, k)]
        for a in (actions if r.rank < 2 else reversed(actions)):
            r.check(a())
        r.check(r.send(small, 3, k))
        r.check(r.recv(into[k][1], 3, k))
        r.check(r.n.ncclGroupEnd())
    r.check(r.n.ncclGroupEnd())
    r.wait()
    for k in peers:
        assert (to_host(into[k][0], np.zeros(big, "u4")) == k).all()
        assert (to_host(into[k][1], np.zeros(3, "u4")) == 100 + k).all()


for seed in (1, 2, 3):
    everywhere(f"groups in any order, seed {seed}", 4, groups, {"GPUSIM_SEED": seed})


def splits(r):
    new = ctypes.c_void_p()
    r.check(r.n.ncclCommSplit(r.comm, r.rank % 2, -r.rank, ctypes.byref(new), None))
    count, rank = ctypes.c_int(), ctypes.c_int()
    r.n.ncclCommCount(new, ctypes.byref(count))
    r.n.ncclCommUserRank(new, ctypes.byref(rank))
    assert (count.value, rank.value) == (2, 1 if r.rank < 2 else 0), (count.value, rank.value)
    p, q = to_device(np.array([10 ** r.rank], "u4")), alloc(4)
    r.check(r.n.ncclAllReduce(p, q, size(1), 3, 0, new, r.stream))
    r.wait()
    assert to_host(q, np.zeros(1, "u4"))[0] == (101 if r.rank % 2 == 0 else 1010)
    r.check(r.n.ncclCommDestroy(new))
    none = ctypes.c_void_p(1)
    r.check(r.n.ncclCommSplit(r.comm, -1 if r.rank == 3 else 0, 0, ctypes.byref(none), None))
    assert (none.value is None) == (r.rank == 3)
    if none.value:
        r.check(r.n.ncclCommDestroy(none))


everywhere("split", 4, splits)


def init_all():
    n, comms = library(), (ctypes.c_void_p * 3)()
    call("cuInit", 0)
    assert n.ncclCommInitAll(comms, 3, None) == 0
    streams, buffers = [], []
    for d in range(3):
        start(d)
        s = ctypes.c_void_p()
        call("cuStreamCreate", ctypes.byref(s), 1)
        streams.append(s)
        buffers.append(to_device(np.array([d + 1], "u4")))
    n.ncclGroupStart()
    for d in range(3):
        assert n.ncclAllReduce(buffers[d], buffers[d], size(1), 3, 0, ctypes.c_void_p(comms[d]), streams[d]) == 0
    assert n.ncclGroupEnd() == 0
    for d in range(3):
        start(d)
        call("cuStreamSynchronize", streams[d])
        assert to_host(buffers[d], np.zeros(1, "u4"))[0] == 6
        assert n.ncclCommDestroy(ctypes.c_void_p(comms[d])) == 0


ok("one thread, three devices", init_all, {"GPUSIM_DEVICES": 3})


def small_things(r):
    """Registered buffers, memory of NCCL's own, the older broadcast, a configuration."""
    version, device, uid, other = ctypes.c_int(), ctypes.c_int(), UniqueId(), ctypes.c_void_p()
    r.check(r.n.ncclGetVersion(ctypes.byref(version)))
    r.check(r.n.ncclCommCuDevice(r.comm, ctypes.byref(device)))
    assert version.value >= 22000 and device.value == 0
    p, h = ctypes.c_void_p(), ctypes.c_void_p()
    r.check(r.n.ncclMemAlloc(ctypes.byref(p), size(64)))
    call("cuMemsetD32_v2", p, 5 + r.rank, size(16))
    r.check(r.n.ncclCommRegister(r.comm, p, size(64), ctypes.byref(h)))
    r.check(r.n.ncclBcast(p, size(16), 3, r.ranks - 1, r.comm, r.stream))
    r.wait()
    assert (to_host(ctypes.c_uint64(p.value), np.zeros(16, "u4")) == 4 + r.ranks).all()
    r.check(r.n.ncclCommDeregister(r.comm, h))
    r.check(r.n.ncclMemFree(p))
    r.n.ncclCommInitRankConfig.argtypes = [ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int, ctypes.c_void_p]
    uid.internal = b"alone %d" % r.rank
    r.check(r.n.ncclCommInitRankConfig(ctypes.byref(other), 1, uid, 0, None))
    r.check(r.n.ncclCommFinalize(other))
    r.check(r.n.ncclCommDestroy(other))
    r.n.ncclGetErrorString.restype = r.n.ncclGetLastError.restype = ctypes.c_char_p
    assert r.n.ncclGetErrorString(5) == b"invalid usage" and r.n.ncclGetLastError(r.comm) is not None


everywhere("small things", 2, small_things)


def premul(r):
    op, half = ctypes.c_int(), ctypes.c_float(0.5)
    r.check(r.n.ncclRedOpCreatePreMulSum(ctypes.byref(op), ctypes.byref(half), 7, 1, r.comm))
    p = to_device(np.array([2.0, 6.0], "f4"))
    r.check(r.n.ncclAllReduce(p, p, size(2), 7, op.value, r.comm, r.stream))
    r.wait()
    assert list(to_host(p, np.zeros(2, "f4"))) == [2.0, 6.0]
    r.check(r.n.ncclRedOpDestroy(op, r.comm))


everywhere("scaled sum", 2, premul)


# Broken partners --------------------------------------------------------------
def disagree():
    def body(r):
        p = to_device(np.zeros(8, "u4"))
        r.check(r.send(p, 8, 1) if r.rank == 0 else r.recv(p, 7, 0))
        r.wait()
        if r.rank == 1:
            assert r.error() == 5, r.error()
    on_ranks(2, body)


bad("ends disagree in size", disagree, ["the two ends of a message disagree", "rank 0 sends a point-to-point message of 32 bytes",
                                        "rank 1 of 2 receives a point-to-point message of 28 bytes"])


def other_kind():
    def body(r):
        p = to_device(np.zeros(8, "u4"))
        if r.rank:
            r.n.ncclAllReduce(p, p, size(8), 3, 0, r.comm, r.stream)
        else:
            r.n.ncclAllGather(p, alloc(64), size(8), 3, r.comm, r.stream)
        r.wait()
        assert r.error()
    on_ranks(2, body)


bad("ends disagree in operation", other_kind, ["disagree", "all-reduce", "all-gather"])


def never_posts():
    def body(r):
        p = to_device(np.zeros(8, "u4"))
        if r.rank == 0:
            r.check(r.recv(p, 8, 1))
            r.wait()
            assert r.error() == 6
        else:
            threading.Event().wait(1.5)
    on_ranks(2, body)


bad("a rank never posts", never_posts, ["rank 1 never posted the send for a point-to-point message of 32 bytes"], {"GPUSIM_NCCL_TIMEOUT": 0.5})


def never_joins():
    n, uid = library(), UniqueId()
    start()
    n.ncclGetUniqueId(ctypes.byref(uid))
    comm = ctypes.c_void_p()
    assert n.ncclCommInitRank(ctypes.byref(comm), 2, uid, 1) == 2


bad("a rank never joins", never_joins, ["rank 0 never joined"], {"GPUSIM_NCCL_TIMEOUT": 0.5})


def not_received():
    def body(r):
        p = to_device(np.zeros(8, "u4"))
        if r.rank == 0:
            r.check(r.send(p, 8, 1))
            r.wait()
        threading.Event().wait(0.2)
    on_ranks(2, body)


bad("a message is never received", not_received, ["rank 0 sent a message that was never received"])


def outside():
    def body(r):
        assert r.send(alloc(28), 8, 0) == 4
    on_ranks(1, body)


bad("buffer too short", outside, ["buffer", "is not one live allocation"])


def aborting():
    def body(r):
        p = to_device(np.zeros(8, "u4"))
        if r.rank == 0:
            r.check(r.recv(p, 8, 1))  # never comes
            threading.Event().wait(0.2)
        r.check(r.n.ncclCommAbort(r.comm))
        sync()
    on_ranks(2, body, destroy=False)


status, text = faults(aborting)
suite.check("abort", status == 0 and "Traceback" not in text, text)


def dies_before(action, words):
    """The last of three processes is killed; the others are told by whoever needs it."""
    def body(r):
        if r.rank == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        action(r)
        r.wait()
        assert r.error() == 6, r.error()  # ncclRemoteError

    def go():
        codes = on_processes(3, body)
        assert codes == {0: 0, 1: 0, 2: -signal.SIGKILL}, codes
    return lambda name: bad(name, go, words)


def split_or_error(r):
    new = ctypes.c_void_p()
    assert r.n.ncclCommSplit(r.comm, 0, 0, ctypes.byref(new), None) != 0


buffers = lambda r: (alloc(4096), to_device(np.ones(64, "u4")), r.comm, r.stream)
for name, what, action in [
        ("receive", "point-to-point message of 32 bytes", lambda r: r.recv(alloc(32), 8, 2)),
        ("all-reduce", "all-reduce", lambda r: r.n.ncclAllReduce(buffers(r)[1], buffers(r)[0], size(64), 3, 0, r.comm, r.stream)),
        ("reduce-scatter", "reduce-scatter", lambda r: r.n.ncclReduceScatter(buffers(r)[1], buffers(r)[0], size(16), 3, 0, r.comm, r.stream)),
        ("all-gather", "all-gather", lambda r: r.n.ncclAllGather(buffers(r)[1], buffers(r)[0], size(64), 3, r.comm, r.stream)),
        ("broadcast", "broadcast", lambda r: r.n.ncclBroadcast(buffers(r)[1], buffers(r)[0], size(64), 3, 2, r.comm, r.stream)),
        ("split", "split", split_or_error)]:
    dies_before(action, ["rank 2 has left (it died or aborted)", what, "NCCL, rank 0 of 3", "NCCL, rank 1 of 3"])(f"a peer died in {name}")


def half_a_group():
    """A rank that aborts in the middle of a collective ends it for all."""
    def body(r):
        p = to_device(np.zeros(8, "u4"))
        if r.rank == 2:
            threading.Event().wait(0.1)
            r.check(r.n.ncclCommAbort(r.comm))
            return
        r.check(r.n.ncclAllReduce(p, p, size(8), 3, 0, r.comm, r.stream))
        r.wait()
        assert r.error() == 6, r.error()
        r.check(r.n.ncclCommDestroy(r.comm))
    codes = on_processes(3, body, destroy=False)
    assert not any(codes.values()), codes


bad("a peer aborts in all-reduce", half_a_group, ["rank 2 has left (it died or aborted)", "all-reduce"])


def several_comms(r):
    """One group over two communicators with other ranks, in the same order everywhere, on two streams."""
    other = ctypes.c_void_p()
    r.check(r.n.ncclCommSplit(r.comm, 0, -r.rank, ctypes.byref(other), None))
    p = [to_device(np.array([10 ** r.rank], "u4")) for _ in range(2)]
    q = [alloc(4 * r.ranks) for _ in range(2)]
    second = ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(second), 1)
    r.check(r.n.ncclGroupStart())
    for k in range(2):
        r.check(r.n.ncclAllGather(p[k], q[k], size(1), 3, (r.comm, other)[k], (r.stream, second)[k]))
    r.check(r.n.ncclGroupEnd())
    sync()
    want = [10 ** k for k in range(r.ranks)]
    assert list(to_host(q[0], np.zeros(r.ranks, "u4"))) == want
    assert list(to_host(q[1], np.zeros(r.ranks, "u4"))) == want[::-1]
    r.check(r.n.ncclCommDestroy(other))


everywhere("a group over two communicators", 3, several_comms)
suite.finish()
