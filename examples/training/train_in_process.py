#!/usr/bin/env python3
"""The trainer of train.py, which restarts training inside its processes when kcover asks for that: no pod and no process ends.

    torchrun --nproc_per_node 2 train_in_process.py --checkpoints /data/checkpoints --timeout-seconds 30

Needs torchrun, whose agent keeps the addresses of the ranks, and the three variables KUBEFLOW_TRAINER_SERVER_*: docs/progress.md.
"""

import gc
import json
import os
import ssl
import threading
import time
import urllib.request
from datetime import datetime, timezone
from urllib.parse import urljoin

import torch.distributed as dist

from train import Log, join_group, read_options, train

POLL_SECONDS = 2.0
# A rank that has lost its group waits this long for the question, and then fails as any other: kcover restarts its pod or the job.
WAIT_SECONDS = 120.0


def main():
    options = read_options()
    log = Log(int(os.environ["RANK"]))
    kcover = Kcover(log)
    question = None
    while True:
        error = attempt(options, kcover, question)
        log(f"leaves the group: {first_line(error)}")
        if question and not kcover.is_done(question):
            kcover.answer(question, "refused", f"cannot restart training: {first_line(error)}")
            raise error
        leave()
        question = kcover.wait()
        if question is None:
            raise error
        kcover.answer(question, "accepted")


def attempt(options, kcover, question):
    """Trains to the end and exits, or returns why this rank leaves its group."""
    try:
        rank, device = rejoin(options, question) if question else join_group(options)
        train(options, rank, device, before_step=Watch(kcover, question))
    except (RuntimeError, Asked) as error:  # A collective that fails is a RuntimeError.
        return error.with_traceback(None)  # A traceback keeps the old model, and with it the connections of the group.


class Asked(Exception):
    """kcover asks for a restart while this rank still trains."""


class Watch:
    """Called before each step: answers that training goes on, and leaves when the next question comes."""

    def __init__(self, kcover, question):
        self.kcover, self.question, self.steps = kcover, question, 0

    def __call__(self):
        if self.question and self.steps == 1:
            self.kcover.answer(self.question, "done")
        self.steps += 1
        if self.kcover.open_question():
            raise Asked("kcover asks for a restart")


def rejoin(options, question):
    """A new group of the same ranks. The id of the question keeps its keys apart from those of the old group."""
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False, wait_for_workers=False)
    group = {"rank": int(os.environ["RANK"]), "world_size": int(os.environ["WORLD_SIZE"])}
    return join_group(options, store=dist.PrefixStore(question["id"], store), **group)


def leave():
    """The other ranks see their connections close, so a collective that waits for this rank fails there too."""
    if dist.is_initialized():
        dist.destroy_process_group()


class Kcover:
    """Asks kcover, in a thread of its own, whether this pod shall restart training, and answers. Its certificate and token are those of progress over HTTP."""

    def __init__(self, log):
        self.log = log
        self.url = urljoin(os.environ["KUBEFLOW_TRAINER_SERVER_URL"], "restart-in-process")
        certificate = os.environ.get("KUBEFLOW_TRAINER_SERVER_CA_CERT")
        self.tls = ssl.create_default_context(cafile=certificate) if certificate else None
        self.answered = {}
        self.question = None
        threading.Thread(target=self.poll, daemon=True).start()

    def poll(self):
        while True:
            try:
                self.question = self.send().get("recover")
            except Exception as error:  # An outage of kcover must not end training.
                self.log(f"cannot ask kcover: {first_line(error)}")
            time.sleep(POLL_SECONDS)

    def open_question(self):
        question = self.question
        return question if question and question["id"] not in self.answered else None

    def is_done(self, question):
        return self.answered.get(question["id"]) == "done"

    def wait(self):
        """The next question; None: nobody asks."""
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            if self.open_question():
                return self.open_question()
            time.sleep(0.1)
        return None

    def answer(self, question, status, because=""):
        self.answered[question["id"]] = status
        # One process of each pod speaks for it; any may refuse.
        if status != "refused" and os.environ.get("LOCAL_RANK", "0") != "0":
            return
        self.log(f"{status}: {because or question['reason']}")
        while datetime.now(timezone.utc) < deadline_of(question):
            try:
                self.send({"id": question["id"], "status": status, "because": because[:200]})
                return
            except Exception as error:
                self.log(f"cannot answer kcover: {first_line(error)}")
                time.sleep(POLL_SECONDS)

    def send(self, body=None):
        # A kubelet renews the token in its file.
        with open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"]) as file:
            headers = {"Authorization": f"Bearer {file.read().strip()}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body else None
        with urllib.request.urlopen(urllib.request.Request(self.url, data, headers), timeout=5, context=self.tls) as answer:
            return json.load(answer)


def deadline_of(question):
    return datetime.strptime(question["deadline"][:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)


def first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


if __name__ == "__main__":
    main()
