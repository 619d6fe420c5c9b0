#!/usr/bin/env python3
"""Reference preflight runner: tests one node of a job before it trains, and writes the report that kcover's agent reads.

It checks storage and GPUs, then measures all-reduce with one other node at a time: the controller says with which (or a fixed plan does).
Everything it needs comes from the environment; examples/preflight/README.md has the table. Python 3.9+, torch, and nothing else.

  preflight.py                  rounds of the controller
  preflight.py --plan fixed     rounds of a plan that all ranks know, with the addresses in PREFLIGHT_PEERS
"""

import argparse
import json
import os
import signal
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

NOT_RUN, PASSED, FAILED = 0, 1, 2
TIMED_OUT = 124
CANNOT_TEST = 2  # an exit code: the image is wrong, not the node
DTYPE_BYTES = 4  # float32
IDLE = "idle_roll_over"


def setting(name, default=None):
    value = os.environ.get(name, "") or default
    if value is None:
        sys.exit(f"preflight: {name} is not set")
    return value


class Config:
    def __init__(self):
        self.namespace = setting("NAMESPACE")
        self.workload = setting("WORKLOAD")
        self.size = int(setting("SIZE"))
        self.rank = int(setting("RANK")) + int(setting("RANK_OFFSET", "0"))
        self.node = setting("NODE_NAME")
        self.ip = setting("POD_IP")
        self.pod_uid = setting("POD_UID", "")
        self.directory = Path(setting("PREFLIGHT_DIR", "/var/lib/kcover/preflight"))
        self.storage = [path for path in setting("PREFLIGHT_STORAGE", "").split(":") if path]
        self.threshold = setting("BUSBW_THRESHOLD_GBPS", "0")
        self.port = int(setting("PREFLIGHT_PORT", "29400"))
        self.elements = int(setting("PREFLIGHT_ELEMENTS", "16777216"))
        self.check_seconds = float(setting("PREFLIGHT_CHECK_SECONDS", "120"))
        self.pair_seconds = float(setting("PREFLIGHT_PAIR_SECONDS", "120"))
        self.wait_seconds = float(setting("PREFLIGHT_WAIT_SECONDS", "1200"))
        self.expected_gpus = int(setting("PREFLIGHT_GPUS", "0"))

    @property
    def address(self):
        return f"[{self.ip}]:{self.port}" if ":" in self.ip else f"{self.ip}:{self.port}"

    @property
    def report(self):
        return self.directory / self.namespace / f"{self.workload}-{self.rank}.json"


# --- Child processes: a test that hangs in a driver or a network is killed after a time-out -------------------------------------------------


def run_children(commands, seconds):
    """Runs the commands at the same time. Returns (exit code, last line of the first's output); the first failure counts."""
    deadline = time.monotonic() + seconds
    children = [
        subprocess.Popen([sys.executable, __file__, *args], stdout=subprocess.PIPE, stderr=sys.stderr, text=True, start_new_session=True)
        for args in commands
    ]
    outputs, code = [], 0
    try:
        for child in children:
            output, _ = child.communicate(timeout=max(0.1, deadline - time.monotonic()))
            outputs.append(output.strip().splitlines()[-1] if output.strip() else "")
            code = code or child.returncode
    except subprocess.TimeoutExpired:
        code = TIMED_OUT
    finally:
        for child in children:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
    return code, outputs


def child_check_gpus():
    """Multiplies matrices on every GPU. All ones times all ones is exactly n: any other result is a broken GPU."""
    try:
        import torch
    except ImportError as error:
        print(json.dumps({"reason": str(error)}))
        return CANNOT_TEST

    count, n = torch.cuda.device_count(), 4096
    for index in range(count):
        ones = torch.ones(n, n, device=f"cuda:{index}")
        for _ in range(10):
            if not bool((ones @ ones == n).all()):
                print(json.dumps({"gpus": count, "reason": f"GPU {index} computes wrong"}))
                return 1
    print(json.dumps({"gpus": count, "device": torch.cuda.get_device_name(0) if count else "cpu"}))
    return 0


def child_all_reduce(args):
    """One process of a pair: prints the median time of an all-reduce, ms."""
    from datetime import timedelta

    import torch
    import torch.distributed as dist

    on_gpu = args.gpus > 0
    device = torch.device(f"cuda:{args.local_rank}" if on_gpu else "cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(1)
    dist.init_process_group(
        "nccl" if on_gpu else "gloo",
        init_method=f"tcp://{args.master}",
        rank=args.process,
        world_size=args.world_size,
        timeout=timedelta(seconds=args.seconds + 10),  # the parent kills this process before that
    )
    data = torch.ones(args.elements, dtype=torch.float32, device=device)
    slowed = float(os.environ.get("PREFLIGHT_SLOWED_MS", "0")) / 1000  # for tests of the preflight itself
    times = []
    for step in range(3 + 10):
        dist.barrier()
        begin = time.perf_counter()
        if slowed:
            time.sleep(slowed)
        dist.all_reduce(data)
        if on_gpu:
            torch.cuda.synchronize()
        if step >= 3:  # the first steps set up connections
            times.append((time.perf_counter() - begin) * 1000)
        data.fill_(1)
    dist.barrier()
    dist.destroy_process_group()
    print(json.dumps({"ms": statistics.median(times)}))
    return 0


# --- Checks of the node itself -------------------------------------------------------------------------------------------------------


def check_storage(config):
    """Writes, reads back and removes a file in every mount; the first failure, or None. A mount that hangs has failed."""
    trouble = []

    def check():
        for path in config.storage:
            try:
                with tempfile.NamedTemporaryFile(dir=path, prefix=".preflight-") as file:
                    file.write(b"preflight")
                    file.flush()
                    os.fsync(file.fileno())
                    file.seek(0)
                    if file.read() != b"preflight":
                        raise OSError("what was written is not what is read")
            except OSError as error:
                trouble.append(f"{path}: {error}")
                return

    thread = threading.Thread(target=check, daemon=True)
    thread.start()
    thread.join(config.check_seconds)
    return "storage hangs" if thread.is_alive() else next(iter(trouble), None)


def check_gpus(config):
    """(number of GPUs, name of the device, what is wrong or None)."""
    code, outputs = run_children([["--child", "gpus"]], config.check_seconds)
    if code == TIMED_OUT:
        return 0, "", "the GPU check took too long"
    said = json.loads(outputs[0]) if outputs and outputs[0].startswith("{") else {}
    gpus = said.get("gpus", 0)
    if code == CANNOT_TEST:
        sys.exit(f"preflight: cannot test: {said.get('reason', 'see above')}")
    if code != 0:
        return gpus, "", said.get("reason", f"the GPU check ended with {code}")
    if gpus < config.expected_gpus:
        return gpus, said.get("device", ""), f"{gpus} of {config.expected_gpus} GPUs are there"
    return gpus, said.get("device", ""), None


# --- One round -----------------------------------------------------------------------------------------------------------------------


def host_and_port(address):
    host, port = address.rsplit(":", 1)
    return host, int(port)


def measure(config, gpus, number, peer, lead):
    """Tests with one partner. Returns the entry of the report; the lower rank of the pair is the master."""
    host, port = host_and_port(config.address if lead else peer["address"])
    per_node = max(1, gpus)
    world_size = 2 * per_node
    commands = [
        # A port for each round, so that a late rank cannot join the next one.
        ["--child", "all-reduce", "--master", f"{host}:{port + number}", "--process", str(local if lead else per_node + local), "--gpus", str(gpus)]
        + ["--local-rank", str(local), "--world-size", str(world_size), "--elements", str(config.elements), "--seconds", str(config.pair_seconds)]
        for local in range(per_node)
    ]
    code, outputs = run_children(commands, config.pair_seconds)
    peer_ip = host_and_port(peer["address"])[0].strip("[]")
    entry = {"batch_idx": number, "pair": sorted([config.ip, peer_ip]), "self_ip": config.ip, "rc": code}
    if code != 0:
        reason = f"no all-reduce with {peer['node']} in {config.pair_seconds:.0f} s" if code == TIMED_OUT else f"the all-reduce with {peer['node']} failed"
        return {**entry, "status": "fail", "reason": reason[:100]}
    slowest = max(json.loads(output)["ms"] for output in outputs)
    measured = {"allreduce_ms": round(slowest, 3), "world_size": world_size, "allreduce_shape": config.elements, "dtype_bytes": DTYPE_BYTES}
    return {**entry, "status": "ok", **measured}


def bandwidth(entry):
    """Bus bandwidth, GiB/s, or None."""
    if "allreduce_ms" not in entry:
        return None
    ranks = entry["world_size"]
    return entry["allreduce_shape"] * entry["dtype_bytes"] / 2**30 / (entry["allreduce_ms"] / 1000) * 2 * (ranks - 1) / ranks


def below_threshold(config, entry):
    gbps = bandwidth(entry)
    return gbps is not None and gbps < float(config.threshold)


def idle(config, number, reason=IDLE):
    return {"batch_idx": number, "self_ip": config.ip, "status": "skip", "reason": reason}


# --- Source of the pairs ----------------------------------------------------------------------------------------------------------


class Controller:
    """Asks the controller: one question for each round, with all results so far."""

    def __init__(self, config):
        self.config = config
        self.url = setting("KCOVER_URL").rstrip("/") + "/v1/preflight/rounds"
        self.token = Path(setting("KCOVER_TOKEN_FILE", "/var/run/secrets/kcover/token"))
        self.tls = ssl.create_default_context(cafile=setting("KCOVER_CA_FILE", "/etc/kcover/tls/ca.crt"))
        self.results = []

    def tell(self, entry, peer=None):
        result = {"round": entry["batch_idx"], "status": entry["status"]}
        gbps = bandwidth(entry)
        if peer is not None:
            result["peer"] = peer["rank"]
        if gbps is not None:
            result["gbps"] = gbps
            if below_threshold(self.config, entry):
                result["status"] = "fail"
        if "reason" in entry:
            result["because"] = entry["reason"]
        self.results.append(result)

    def next(self):
        """The next round, or None when it is over. Raises TimeoutError when the controller does not answer in time."""
        deadline = time.monotonic() + self.config.wait_seconds
        trouble = "it had us wait"
        while time.monotonic() < deadline:
            try:
                answer = self.ask()
            except urllib.error.HTTPError as error:
                trouble = f"{error.code}: {error.read(300).decode(errors='replace')}"
                if error.code in (400, 409):
                    raise TimeoutError(trouble) from error
                time.sleep(2)
                continue
            except (OSError, ValueError) as error:
                trouble = str(error)
                time.sleep(2)
                continue
            if answer["kind"] == "done":
                log(f"done: {answer['because']}")
                return None
            if answer["kind"] != "wait":
                return answer
            log(answer["because"])
        raise TimeoutError(trouble)

    def ask(self):
        question = {"schema": 1, "size": self.config.size, "address": self.config.address, "results": self.results}
        # The token is renewed on disk: read it each time.
        headers = {"authorization": f"Bearer {self.token.read_text().strip()}", "content-type": "application/json"}
        request = urllib.request.Request(self.url, json.dumps(question).encode(), headers, method="POST")
        # Longer than the controller holds a request.
        with urllib.request.urlopen(request, timeout=40, context=self.tls) as response:
            return json.loads(response.read(65536))


class FixedPlan:
    """The circle method: one stays, the others move on by one place each round."""

    def __init__(self, config):
        self.addresses = setting("PREFLIGHT_PEERS").split(",")
        if len(self.addresses) != config.size:
            sys.exit(f"preflight: PREFLIGHT_PEERS has {len(self.addresses)} addresses, not {config.size}")
        self.rank, self.number = config.rank, 0
        ranks = list(range(config.size)) + ([None] if config.size % 2 else [])
        self.first, self.others = ranks[0], ranks[1:]
        self.rounds = min(len(self.others), int(setting("PREFLIGHT_ROUNDS", "5")))

    def tell(self, entry, peer=None):
        pass

    def next(self):
        if self.number == self.rounds:
            return None
        turn = self.number
        self.number += 1
        circle = [self.first] + self.others[turn:] + self.others[:turn]
        peer = circle[-1 - circle.index(self.rank)]
        if peer is None:
            return {"kind": "idle", "round": turn}
        partner = {"rank": peer, "node": f"rank {peer}", "address": self.addresses[peer]}
        return {"kind": "round", "round": turn, "peer": partner, "lead": self.rank < peer}


def run_rounds(config, gpus, guide):
    batches = []
    try:
        while (told := guide.next()) is not None:
            if told["kind"] == "idle":
                entry = idle(config, told["round"])
                guide.tell(entry)
            else:
                log(f"round {told['round']} with {told['peer']['node']}")
                entry = measure(config, gpus, told["round"], told["peer"], told["lead"])
                guide.tell(entry, told["peer"])
            batches.append(entry)
            log(json.dumps({**entry, "gbps": bandwidth(entry)}))
    except TimeoutError as error:
        # The controller was unreachable: that says nothing about this node.
        log(f"no more rounds: {error}")
    return batches


# --- The report ----------------------------------------------------------------------------------------------------------------------


def measured(report):
    return any(batch.get("status") in ("ok", "fail") for batch in report.get("batches", []))


def write_report(config, report):
    """Writes atomically, because the agent may read at any time. A container that restarts after the last round keeps the report of its pod."""
    try:
        before = json.loads(config.report.read_text())
        if config.pod_uid and before.get("pod_uid") == config.pod_uid and measured(before) and not measured(report) and not broken(report):
            log("the report of the run before stays")
            return
    except (OSError, ValueError):
        pass
    config.report.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=config.report.parent, prefix=f".{config.report.name}-")
    with os.fdopen(handle, "w") as file:
        json.dump(report, file)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(name, 0o644)
    os.rename(name, config.report)


def broken(report):
    return FAILED in (report["gpu_check"], report["storage_check"])


def log(text):
    print(f"preflight: {text}", file=sys.stderr, flush=True)


def main(plan):
    config = Config()
    report = {
        "version": 1,
        "workload": config.workload,
        "workload_size": config.size,
        "rank": config.rank,
        "node_name": config.node,
        "node_ip": config.ip,
        "pod_uid": config.pod_uid,
        "gpu_check": NOT_RUN,
        "storage_check": NOT_RUN,
        "node_check_busbw_threshold_gbps": config.threshold,
        "batches": [],
    }
    if config.storage:
        wrong = check_storage(config)
        report["storage_check"] = PASSED if wrong is None else FAILED
        if wrong is not None:
            log(f"storage: {wrong}")
    gpus = 0
    if not broken(report):
        gpus, device, wrong = check_gpus(config)
        if wrong is not None:
            log(f"GPUs: {wrong}")
            report["gpu_check"] = FAILED
        elif gpus > 0:
            report["gpu_check"] = PASSED
            report["device"] = device
    if not broken(report):
        guide = FixedPlan(config) if plan == "fixed" else Controller(config)
        report["batches"] = run_rounds(config, gpus, guide)
    write_report(config, report)
    failed = [entry for entry in report["batches"] if entry["status"] == "fail" or below_threshold(config, entry)]
    return 1 if broken(report) or failed else 0


def arguments():
    parser = argparse.ArgumentParser(description="Tests one node of a job before it trains.")
    parser.add_argument("--plan", choices=["controller", "fixed"], default="controller")
    parser.add_argument("--child", choices=["gpus", "all-reduce"], help=argparse.SUPPRESS)
    parser.add_argument("--master", help=argparse.SUPPRESS)
    for name in ("--process", "--gpus", "--local-rank", "--world-size", "--elements"):
        parser.add_argument(name, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments()
    # It must exit even with a thread that hangs in storage.
    if given.child == "gpus":
        code = child_check_gpus()
    elif given.child == "all-reduce":
        code = child_all_reduce(given)
    else:
        code = main(given.plan)
    sys.stdout.flush()
    os._exit(code)
