"""What real NCCL posts, message by message. nccl_schedules.sh starts it; docs/nccl.md says what comes out.

    nccl_schedules.py record WEFT WORLD RANKS DIR   runs every case in a world that is up; writes DIR/RANKS.json
    nccl_schedules.py rank RANK RANKS               one rank: cases come on stdin; `record` starts it
    nccl_schedules.py write DIR                     DIR's files as the text of nccl-schedules.txt

It calls NCCL itself (NCCL_LIBRARY=, or the one that PyTorch brought), so that a communicator is one communicator.
"""

import collections
import ctypes
import glob
import json
import os
import re
import struct
import subprocess
import sys
import threading
import time

FLOAT, SUM = 7, 0  # ncclFloat32, ncclSum
BYTES = (100, 1024, 65536, 1000012, 1 << 20, 4 << 20, 16 << 20, (64 << 20) + 12)
REDUCTIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce")
PEER_TO_PEER = ("alltoall", "sendrecv", "gather", "scatter")


# ---- the cases

def variants(ranks):
    """Variables of NCCL that it reads once for a process, and the communicators that are made with them."""
    yield {}, None
    yield {"NCCL_MAX_NCHANNELS": "1"}, ("Ring LL", "Ring LL128", "Ring Simple", "Tree LL", "Tree LL128", "Tree Simple")
    if ranks in (2, 4):
        yield {"NCCL_BUFFSIZE": "1048576", "NCCL_MAX_NCHANNELS": "2"}, ("Ring Simple", "Tree Simple")
        two = {"NCCL_IB_QPS_PER_CONNECTION": "2", "NCCL_MAX_NCHANNELS": "1"}
        yield two, ("Ring LL", "Ring Simple")
        yield {**two, "NCCL_IB_SPLIT_DATA_ON_QPS": "1"}, ("Ring LL", "Ring Simple")


def communicators(only):
    """Name, variables of NCCL that it reads for each, and collectives."""
    runs = {"Ring": REDUCTIONS, "Tree": ("all_reduce",), "PAT": ("all_gather", "reduce_scatter")}
    for algorithm, collectives in runs.items():
        for protocol in ("LL", "LL128", "Simple") if algorithm != "PAT" else ("Simple",):
            name = f"{algorithm} {protocol}"
            if not only or name in only:
                yield name, {"NCCL_ALGO": algorithm, "NCCL_PROTO": protocol}, collectives
    if not only:
        yield "", {}, REDUCTIONS + PEER_TO_PEER


def count_of(op, size, ranks):
    """As nccl-tests: the size is that of the buffer on the larger side."""
    return size // 4 // (ranks if op in ("all_gather", "reduce_scatter", "alltoall", "gather", "scatter") else 1)


def cases(collectives, ranks, channels):
    # Queue pairs do not say which channel they belong to. A channel more is used at each of these sizes, at most: the
    # queue pair that is new is the channel that is new.
    scan = [1024]
    while scan[-1] < 1 << 20:
        scan.append(scan[-1] * 106 // 100)
    for op in [op for op in collectives if op in ("broadcast", "all_reduce", "all_gather", "reduce_scatter")]:
        for size in scan if channels > 1 else ():
            yield {"op": op, "count": count_of(op, size, ranks), "root": 0}, True
    for op in collectives:
        for size in BYTES:
            root = 1 if op in ("broadcast", "reduce") and size == 1000012 else 0
            yield {"op": op, "count": count_of(op, size, ranks), "root": root}, False


# ---- one rank

class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


def library(pattern, variable):
    if variable in os.environ:
        return os.environ[variable]
    for folder in sys.path + ["/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"]:
        for below in ("nvidia/nccl/lib", "nvidia/*/lib", "."):
            found = sorted(glob.glob(os.path.join(folder, below, pattern)))
            if found:
                return found[0]
    sys.exit(f"no {pattern}: name it with {variable}=")


class Rank:
    def __init__(self, rank, ranks):
        self.rank, self.ranks = rank, ranks
        self.cuda = ctypes.CDLL(library("libcudart.so*", "CUDART_LIBRARY"))
        self.nccl = ctypes.CDLL(library("libnccl.so.2*", "NCCL_LIBRARY"))
        self.nccl.ncclGetErrorString.restype = ctypes.c_char_p
        self.device(self.cuda.cudaSetDevice(0))
        self.stream, self.source, self.target = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.device(self.cuda.cudaStreamCreate(ctypes.byref(self.stream)))
        for buffer in (self.source, self.target):
            self.device(self.cuda.cudaMalloc(ctypes.byref(buffer), ctypes.c_size_t(max(BYTES) + 4096)))
            self.device(self.cuda.cudaMemset(buffer, 0, ctypes.c_size_t(max(BYTES) + 4096)))
        self.comm = ctypes.c_void_p()

    def device(self, result):
        if result != 0:
            raise RuntimeError(f"CUDA error {result}")

    def check(self, result):
        if result != 0:
            raise RuntimeError(self.nccl.ncclGetErrorString(result).decode())

    def version(self):
        number = ctypes.c_int()
        self.check(self.nccl.ncclGetVersion(ctypes.byref(number)))
        return number.value

    def unique_id(self):
        made = UniqueId()
        self.check(self.nccl.ncclGetUniqueId(ctypes.byref(made)))
        return bytes(made).hex()

    def init(self, variables, unique):
        for name in ("NCCL_ALGO", "NCCL_PROTO"):
            os.environ.pop(name, None)
        os.environ.update(variables)
        which = UniqueId.from_buffer_copy(bytes.fromhex(unique))
        self.check(self.nccl.ncclCommInitRank(ctypes.byref(self.comm), self.ranks, which, self.rank))

    def destroy(self):
        self.check(self.nccl.ncclCommDestroy(self.comm))

    def send(self, index, count, peer):
        at = ctypes.c_void_p(self.source.value + 4 * count * index)
        self.check(self.nccl.ncclSend(at, ctypes.c_size_t(count), FLOAT, peer, self.comm, self.stream))

    def receive(self, index, count, peer):
        at = ctypes.c_void_p(self.target.value + 4 * count * index)
        self.check(self.nccl.ncclRecv(at, ctypes.c_size_t(count), FLOAT, peer, self.comm, self.stream))

    def run(self, op, count, root):
        nccl, size = self.nccl, ctypes.c_size_t(count)
        if op == "all_reduce":
            self.check(nccl.ncclAllReduce(self.source, self.target, size, FLOAT, SUM, self.comm, self.stream))
        elif op == "all_gather":
            self.check(nccl.ncclAllGather(self.source, self.target, size, FLOAT, self.comm, self.stream))
        elif op == "reduce_scatter":
            self.check(nccl.ncclReduceScatter(self.source, self.target, size, FLOAT, SUM, self.comm, self.stream))
        elif op == "broadcast":
            self.check(nccl.ncclBroadcast(self.source, self.target, size, FLOAT, root, self.comm, self.stream))
        elif op == "reduce":
            self.check(nccl.ncclReduce(self.source, self.target, size, FLOAT, SUM, root, self.comm, self.stream))
        else:
            self.check(nccl.ncclGroupStart())
            for peer in range(self.ranks):
                if op == "alltoall" or (op == "scatter" and self.rank == root):
                    self.send(peer, count, peer)
                if op == "alltoall" or (op == "gather" and self.rank == root):
                    self.receive(peer, count, peer)
            if op == "sendrecv":
                self.send(0, count, (self.rank + 1) % self.ranks)
                self.receive(0, count, (self.rank - 1) % self.ranks)
            if op == "gather":
                self.send(0, count, root)
            if op == "scatter":
                self.receive(0, count, root)
            self.check(nccl.ncclGroupEnd())
        self.device(self.cuda.cudaStreamSynchronize(self.stream))


def be_rank(rank, ranks):
    here = Rank(rank, ranks)
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = getattr(here, order.pop("call"))(**order)
            print(json.dumps({"answer": answer}), flush=True)
        except RuntimeError as error:
            print(json.dumps({"error": str(error)}), flush=True)


# ---- what is on the wire

WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = 6, 7, 8, 9, 10, 11


def messages(path):
    """RDMA WRITEs that hosts posted: (source, destination, queue pair) -> [(length, immediate or None)], in order."""
    with open(path, "rb") as file:
        data = file.read()
    found, open_message, newest, others = collections.defaultdict(list), {}, {}, collections.Counter()
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            captured = struct.unpack_from("<I", data, at + 20)[0]
            options = at + 28 + (captured + 3) // 4 * 4
            frame = data[at + 28:at + 28 + captured]
            outbound = data[options:options + 5] == b"\x02\x00\x04\x00\x02"
            if outbound and frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[36:38] == b"\x12\xb7":
                opcode, bth = frame[42], 42
                key = (frame[29] - 1, frame[33] - 1, int.from_bytes(frame[bth + 5:bth + 8], "big"))
                psn = int.from_bytes(frame[bth + 9:bth + 12], "big")
                if opcode in (WRITE_FIRST, WRITE_ONLY, WRITE_ONLY_IMM, WRITE_LAST_IMM, WRITE_MIDDLE, WRITE_LAST):
                    # A packet that is sent again has a number that is not ahead of the newest.
                    fresh = key not in newest or 0 < (psn - newest[key]) % (1 << 24) < 1 << 23
                    if fresh:
                        newest[key] = psn
                        if opcode in (WRITE_FIRST, WRITE_ONLY, WRITE_ONLY_IMM):
                            size = struct.unpack_from(">I", frame, bth + 24)[0]
                            immediate = struct.unpack_from("<I", frame, bth + 28)[0]
                            found[key].append([size, immediate if opcode == WRITE_ONLY_IMM else None])
                        elif opcode == WRITE_LAST_IMM:
                            found[key][-1][1] = struct.unpack_from("<I", frame, bth + 12)[0]
                    else:
                        others["sent again"] += 1
                elif opcode not in (0x11, 0x81):
                    others[f"opcode {opcode:#x}"] += 1
        at += length
    return found, others


def coded(values):
    """[[n, value], ...]: runs of equal values."""
    runs = []
    for value in values:
        if runs and runs[-1][1] == value:
            runs[-1][0] += 1
        else:
            runs.append([1, value])
    return runs


# ---- all ranks, case by case

class Ranks:
    def __init__(self, weft, world, ranks, folder, name, variables):
        self.ranks = ranks
        self.programs = []
        self.log = f"{folder}/{name}.log0"
        for rank in range(ranks):
            here = dict(os.environ, **variables, NCCL_HOSTID=f"weft-h{rank}")
            if rank == 0:
                here.update(NCCL_DEBUG_FILE=self.log, NCCL_TOPO_DUMP_FILE=f"{folder}/{name}.topo.xml",
                            NCCL_GRAPH_DUMP_FILE=f"{folder}/{name}.graph.xml")
            else:
                here["NCCL_DEBUG"] = "WARN"
            command = [weft, "exec", "--world", world, f"h{rank}", "--"]
            command += [sys.executable, __file__, "rank", str(rank), str(ranks)]
            self.programs.append(
                subprocess.Popen(command, env=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))

    def tell(self, rank, call, order):
        self.programs[rank].stdin.write(json.dumps({"call": call, **order}) + "\n")
        self.programs[rank].stdin.flush()

    def answer(self, rank):
        while True:
            line = self.programs[rank].stdout.readline()
            if not line:
                raise RuntimeError(f"rank {rank} has ended")
            if line.startswith("{"):
                return json.loads(line)

    def one(self, rank, call, **order):
        self.tell(rank, call, order)
        answer = self.answer(rank)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["answer"]

    def all(self, call, **order):
        """On every rank; whoever waits for ever is ended."""
        alarm = threading.Timer(60, self.kill)
        alarm.start()
        try:
            for rank in range(self.ranks):
                self.tell(rank, call, order)
            answers = [self.answer(rank) for rank in range(self.ranks)]
        finally:
            alarm.cancel()
        for answer in answers:
            if "error" in answer:
                raise RuntimeError(answer["error"])

    def kill(self):
        for program in self.programs:
            program.kill()

    def end(self):
        for program in self.programs:
            program.stdin.close()
        for program in self.programs:
            try:
                program.wait(20)
            except subprocess.TimeoutExpired:
                program.kill()


class Chosen:
    """What NCCL chose, from the lines of its log that have come since the last look."""

    def __init__(self, path):
        self.path, self.at = path, 0

    def news(self):
        with open(self.path) as file:
            file.seek(self.at)
            text = file.read()
            self.at = file.tell()
        found = re.findall(r"Algo (\w+) proto (\w+) channel{Lo..Hi}={(\d+)..(\d+)}", text)
        return list(found[-1]) if found else None


def record(weft, world, ranks, folder):
    ports = ",".join(f"h{host}:p0" for host in range(ranks))
    pcap = f"{folder}/{ranks}.pcapng"

    def capture(*words):
        subprocess.run([weft, "capture", *words, "--world", world], check=True, stdout=subprocess.DEVNULL)

    for number, (fixed, only) in enumerate(variants(ranks)):
        out = {"ranks": ranks, "variables": fixed, "cases": [], "refused": []}
        everyone = Ranks(weft, world, ranks, folder, f"{ranks}-{number}", fixed)
        out["version"] = everyone.one(0, "version")
        chosen = Chosen(everyone.log)
        for name, variables, collectives in communicators(only):
            try:
                everyone.all("init", variables=variables, unique=everyone.one(0, "unique_id"))
            except RuntimeError as error:
                out["refused"].append([name, str(error)])
                continue
            chosen.news()
            for case, scan in cases(collectives, ranks, int(fixed.get("NCCL_MAX_NCHANNELS", "64"))):
                capture("start", ports, "--out", pcap, "--snaplen", "96")
                begin, error = time.monotonic(), None
                try:
                    everyone.all("run", **case)
                except RuntimeError as what:
                    error = str(what)
                took = time.monotonic() - begin
                capture("stop")
                found, others = messages(pcap)
                os.unlink(pcap)
                posted = [[*key, coded(found[key])] for key in sorted(found)]
                out["cases"].append({"communicator": name, "variables": variables, **case, "scan": scan,
                                     "chosen": chosen.news(), "error": error, "posted": posted, "others": others})
                if not scan:
                    print(f"{ranks} ranks {fixed} {name} {case}: {took:.2f} s {error or ''} {dict(others)}", flush=True)
                if error:
                    break
            everyone.all("destroy")
        everyone.end()
        with open(f"{folder}/{ranks}-{number}.json", "w") as file:
            json.dump(out, file)


# ---- the text

class Connections:
    """Which channel a queue pair belongs to, of a communicator: (source, target, queue pair) -> (channel, which)."""

    def __init__(self, queue_pairs):
        self.queue_pairs = queue_pairs  # of a connection
        self.channel = {}
        self.unsure = {}  # pair -> channels that may be one another
        self.before = None

    def learn(self, case):
        fresh = collections.defaultdict(list)
        for source, target, number, posted in case["posted"]:
            if carries_data(posted) and (source, target, number) not in self.channel:
                fresh[source, target].append(number)
        for pair, numbers in fresh.items():
            numbers.sort()
            groups = [numbers[i:i + self.queue_pairs] for i in range(0, len(numbers), self.queue_pairs)]
            known = {channel for key, (channel, _) in self.channel.items() if key[:2] == pair}
            if case["chosen"]:
                *what, low, high = case["chosen"]
                free = [channel for channel in range(int(low), int(high) + 1) if channel not in known]
                # One channel more than the last time, and one queue pair more: it is that channel's.
                if self.before == [*what, low, str(int(high) - 1)] and len(groups) == 1:
                    free = [int(high)]
            else:  # sends and receives: numbered in the order of their first use
                free = [len(known) + i for i in range(len(groups))]
            if len(free) > 1:
                self.unsure.setdefault(pair, set()).update(free)
            for group, channel in zip(groups, free[-len(groups):], strict=True):
                for which, number in enumerate(group):
                    self.channel[(*pair, number)] = (channel, which)
        self.before = case["chosen"]


def carries_data(posted):
    return any(immediate is not None for _, (_, immediate) in posted)


def ranges(numbers):
    text, numbers = [], sorted(numbers)
    for first in numbers:
        if first - 1 in numbers:
            continue
        last = first
        while last + 1 in numbers:
            last += 1
        text.append(str(first) if first == last else f"{first}-{last}")
    return ",".join(text)


def sizes(runs):
    return " ".join(f"{n}x{size}" if n > 1 else str(size) for n, size in runs)


def lines_of(case, connections, split):
    """Lines of a case: pairs, channels, sizes in order; what is alike on one line."""
    lists, problems, unsure = collections.defaultdict(dict), [], set()
    data, credits = collections.Counter(), collections.Counter()
    for source, target, number, posted in case["posted"]:
        if not carries_data(posted):
            for n, (size, _) in posted:
                credits[target, source] += n
                if size != 64:
                    problems.append(f"# {source}>{target}: a write of {size} B without immediate data")
            continue
        for n, (size, immediate) in posted:
            data[source, target] += n
            if immediate is None or (immediate != size and connections.queue_pairs == 1):
                problems.append(f"# {source}>{target}: {size} B with immediate data {immediate}")
        channel, which = connections.channel[source, target, number]
        name = channel if connections.queue_pairs == 1 else f"{channel}.{which}"
        if channel in connections.unsure.get((source, target), ()):
            unsure.add((source, target))
        lists[source, target][name] = sizes(coded([size for n, (size, _) in posted for _ in range(n)]))
    for pair in data:
        if data[pair] != credits[pair] * split:
            problems.append(f"# {pair[0]}>{pair[1]}: {data[pair]} messages, {credits[pair]} credits")
    alike = collections.defaultdict(list)
    for pair, channels in lists.items():
        mark = "?" if pair in unsure and len(set(channels.values())) > 1 else ""
        alike[mark, tuple(sorted(channels.items()))].append(pair)
    lines = []
    for (mark, channels), pairs in alike.items():
        same = collections.defaultdict(list)
        for name, text in channels:
            same[text].append(name)
        pairs = ",".join(f"{source}>{target}" for source, target in pairs)
        for text, names in same.items():
            lines.append(f"  {pairs} {mark}{ranges(names) if isinstance(names[0], int) else ','.join(names)}: {text}")
    return lines + sorted(set(problems))


def write(folder):
    files = sorted(glob.glob(f"{folder}/*-*.json"))
    runs = [json.load(open(path)) for path in files]
    number = runs[0]["version"]
    version = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    print(f"""\
# What NCCL {version} posts, message by message: ranks with one GPU (H200) and one 100 Gb/s NIC each, without
# GPUDirect. Recorded by nccl_schedules.sh, written by nccl_schedules.py; docs/nccl.md says how to read it.""")
    for run in runs:
        name, connections = None, None
        queue_pairs = int(run["variables"].get("NCCL_IB_QPS_PER_CONNECTION", "1"))
        split = queue_pairs if "NCCL_IB_SPLIT_DATA_ON_QPS" in run["variables"] else 1
        for refused, error in run["refused"]:
            print(f"# {run['ranks']} ranks: {refused} refused: {error}")
        for case in run["cases"]:
            if case["communicator"] != name:
                name = case["communicator"]
                variables = {**case["variables"], **run["variables"]}
                words = [f"{key}={value}" for key, value in variables.items()]
                print("\n" + " ".join([f"ranks {run['ranks']}", *words]))
                connections = {"collectives": Connections(queue_pairs), "sends": Connections(queue_pairs)}
            of = connections["sends" if case["op"] in PEER_TO_PEER else "collectives"]
            of.learn(case)
            if case["scan"]:
                continue
            chosen = "{} {} {}-{}".format(*case["chosen"]) if case["chosen"] else "P2P"
            print(f"{case['op']} count {case['count']} root {case['root']}: {case['error'] or chosen}")
            for line in lines_of(case, of, split):
                print(line)


if __name__ == "__main__":
    if sys.argv[1] == "rank":
        be_rank(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1] == "record":
        record(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
    elif sys.argv[1] == "write":
        write(sys.argv[2])
    else:
        sys.exit(__doc__)
