#!/usr/bin/env python3
"""Trains a small model with DistributedDataParallel, and can be stopped and restarted at any step.

    torchrun --nproc_per_node 2 train.py --checkpoints /data/checkpoints

Model and data are synthetic: put yours into `build_model` and `Data`. What the rest does, and when to change it: README.md.
Python 3.8 or newer and torch 1.13 or newer, nothing else.
"""

import argparse
import hashlib
import json
import os
import re
import signal
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

# A checkpoint is data, and must not run code. The safe unpickler of torch 1 rejects the numbers of an optimizer.
only_data = {} if torch.__version__.startswith("1.") else {"weights_only": True}

# 128 + SIGTERM. Not 0: a rank that ends with 0 has succeeded, and where the master has, the whole job counts as succeeded and is never run again.
TOLD_TO_END = 143


def main():
    options = read_options()
    train(options, *join_group(options))


def train(options, rank, device, before_step=lambda: None):
    """Trains to the end and exits. `before_step` may raise, to leave the group: train_in_process.py."""
    log = Log(rank)
    checkpoints = Checkpoints(options.checkpoints, options.keep, log)
    progress = Progress(log if rank == 0 else None)

    # Rank 0 chooses for all: on their own they might choose different ones. Numbers, because objects would need numpy.
    chosen = torch.tensor(checkpoints.last_good() if rank == 0 else [0, 0], device=device)
    dist.broadcast(chosen, src=0)
    start = checkpoints.load(*chosen.tolist())
    if rank == 0:
        log(f"resumes from step {start['step']}, loss {start['loss']:.6f}" if start else "starts from scratch: there is no checkpoint")

    torch.manual_seed(0)
    bare = build_model(options.width).to(device)
    if start:
        bare.load_state_dict(start["model"])
    model = DistributedDataParallel(bare, device_ids=[device] if device.type == "cuda" else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.learning_rate)
    if start:
        optimizer.load_state_dict(start["optimizer"])
    data = Data(rank, options.batch, device)
    step = start["step"] if start else 0
    progress.begin(step, start and start["saved_at"])

    def save(loss):
        progress.tell("checkpointing", step=step)
        saved_at = now()
        state = {"step": step, "model": bare.state_dict(), "optimizer": optimizer.state_dict(), "loss": loss, "saved_at": saved_at}
        checkpoints.save(step, state)
        progress.tell(checkpointStep=step, checkpointAt=saved_at)

    ending = Ending(log)
    pace = Pace()
    any_rank_ends = False
    while step < options.steps and not any_rank_ends:
        before_step()
        begun = time.monotonic()
        inputs, targets = data.batch_of(step)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        time.sleep(max(0.0, begun + options.least_step_seconds - time.monotonic()))
        step += 1
        # All ranks see the same two numbers, so all end after the same step, whichever of them got the signal.
        mean_loss, any_rank_ends = agreed(loss.detach(), ending.told)
        if rank == 0:
            progress.step_done(step)
            if step % options.log_every == 0 or any_rank_ends:
                log(f"step {step} loss {mean_loss:.6f} rate {pace.at(step):.2f} steps/s")
            if any_rank_ends or step == options.steps or step % options.checkpoint_every == 0:
                save(mean_loss)
    dist.barrier()  # No rank ends while rank 0 saves, because a rank that ends takes the others with it.
    log(f"told to end: step {step} is saved, ends with {TOLD_TO_END}" if any_rank_ends else f"done: {step} steps")
    # Exit at once: torch 1.13 with gloo was seen to hang while it destroyed the group. Nothing is buffered here.
    os._exit(TOLD_TO_END if any_rank_ends else 0)


def count(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--backend", choices=["gloo", "nccl"], default="gloo", help="nccl: each rank trains on the GPU of its local rank")
    parser.add_argument("--checkpoints", type=Path, required=True, help="directory that every rank sees, on whatever node it runs")
    parser.add_argument("--checkpoint-every", type=count, default=100, help="steps")
    parser.add_argument("--keep", type=count, default=3, help="checkpoints that are kept")
    parser.add_argument("--steps", type=count, default=1_000_000)
    parser.add_argument("--batch", type=count, default=64, help="samples of each rank and step")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--width", type=count, default=64, help="of the hidden layers")
    parser.add_argument("--least-step-seconds", type=float, default=0.0, help="least duration of a step, to imitate a larger model")
    parser.add_argument("--log-every", type=count, default=10, help="steps")
    parser.add_argument("--timeout-seconds", type=float, default=600.0, help="a rank that waits longer for the others ends with an error")
    return parser.parse_args()


def join_group(options, **group):
    """The identity of this process, from `group` or the environment that torchrun sets."""
    if options.backend == "nccl":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    else:
        device = torch.device("cpu")
    dist.init_process_group(options.backend, timeout=timedelta(seconds=options.timeout_seconds), **group)
    return dist.get_rank(), device


def build_model(width):
    return nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))


class Data:
    """Points and a fixed function of them. A batch follows from its step and rank alone, so a resumed run gets the same batches."""

    def __init__(self, rank, batch, device):
        self.rank, self.batch, self.device = rank, batch, device
        self.direction = torch.randn(16, 1, generator=torch.Generator().manual_seed(1)) / 4

    def batch_of(self, step):
        generator = torch.Generator().manual_seed(step * 100_003 + self.rank + 2)
        inputs = torch.randn(self.batch, 16, generator=generator)
        return inputs.to(self.device), torch.sin(inputs @ self.direction).to(self.device)


def agreed(loss, ending):
    """The mean loss of all ranks, and whether any of them was told to end."""
    both = torch.stack([loss, torch.as_tensor(float(ending), device=loss.device)])
    dist.all_reduce(both)
    total, told = both.tolist()
    return total / dist.get_world_size(), told > 0


class Ending:
    """Records SIGTERM. The loop checks it after each step, so that nothing is saved in the middle of one."""

    def __init__(self, log):
        self.told = False
        self.log = log
        signal.signal(signal.SIGTERM, self.hear)

    def hear(self, *_):
        if not self.told:
            self.log("SIGTERM: finishes the step under way, saves and ends")
        self.told = True


class Checkpoints:
    """Files `step-<step>.<digest>.pt`. A file has that name only when it is complete, and a file that was damaged later does not match its digest."""

    name = re.compile(r"step-(\d+)\.([0-9a-f]{12})\.pt")

    def __init__(self, directory, keep, log):
        self.directory, self.keep, self.log = directory, keep, log

    def save(self, step, state):
        part = self.directory / f"step-{step:010}.part"
        with open(part, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.path(step, digest_of(part)))
        sync(self.directory)  # The new name is on the disk too, before an older file goes.
        for old in [path for path in self.newest_first() if self.step_of(path) <= step][self.keep :]:
            old.unlink()
        self.log(f"saved step {step}")

    def last_good(self):
        """Step and digest of the newest that is not damaged; 0 and 0: there is none."""
        self.directory.mkdir(parents=True, exist_ok=True)
        for part in self.directory.glob("*.part"):
            self.log(f"removes {part.name}: a trainer was killed while it saved")
            part.unlink()
        for path in self.newest_first():
            digest = digest_of(path)
            if path == self.path(self.step_of(path), digest):
                return self.step_of(path), digest
            self.log(f"skips {path.name}: it is damaged, its content does not fit the digest in its name")
            path.rename(path.with_suffix(".damaged"))  # Otherwise it would count as one of the kept checkpoints.
        return 0, 0

    def load(self, step, digest):
        return torch.load(self.path(step, digest), map_location="cpu", **only_data) if step else None

    def path(self, step, digest):
        return self.directory / f"step-{step:010}.{digest:012x}.pt"

    def newest_first(self):
        whole = [path for path in self.directory.iterdir() if self.name.fullmatch(path.name)]
        return sorted(whole, key=self.step_of, reverse=True)

    def step_of(self, path):
        return int(self.name.fullmatch(path.name).group(1))


def digest_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return int(digest.hexdigest()[:12], 16)


def sync(directory):
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Progress:
    """Reports training progress to kcover: docs/progress.md. Without a log, or without JOB_NAME, it reports nothing."""

    def __init__(self, log):
        self.log = log
        self.told = {}
        self.written = 0.0
        self.place = None
        if log and "JOB_NAME" in os.environ:
            # The file is named for the pod, and RANK counts processes.
            pod = int(os.environ.get("REPLICA_INDEX", "0")) + int(os.environ.get("RANK_OFFSET", "0"))
            self.place = Path(os.environ.get("PROGRESS_DIR", "/kcover")) / f"{os.environ['JOB_NAME']}-{pod}.json"

    def begin(self, step, saved_at):
        saved = {"checkpointStep": step, "checkpointAt": saved_at} if saved_at else {}
        self.tell("compiling", step=step, at=now(), **saved)

    def step_done(self, step):
        self.told.update(step=step, at=now())
        if time.monotonic() - self.written > 1:
            self.tell()

    def tell(self, phase="training", **more):
        self.told.update(more, phase=phase)
        self.written = time.monotonic()
        if self.place is None:
            return
        try:
            part = self.place.with_suffix(".part")
            part.write_text(json.dumps(self.told))
            os.replace(part, self.place)
        except OSError as error:
            self.log(f"cannot tell its progress, and trains on: {error}")
            self.place = None


class Pace:
    def __init__(self):
        self.step, self.time = None, time.monotonic()

    def at(self, step):
        """Steps per second since the last call."""
        moment = time.monotonic()
        rate = 0.0 if self.step is None else (step - self.step) / (moment - self.time)
        self.step, self.time = step, moment
        return rate


class Log:
    def __init__(self, rank):
        self.rank = rank

    def __call__(self, text):
        # One write for a line: the ranks of a pod share its output. And not print: a signal handler may interrupt that.
        os.write(1, f"{now()} rank {self.rank}: {text}\n".encode())


def now():
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


if __name__ == "__main__":
    main()
