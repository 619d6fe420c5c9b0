"""A trainer that reports its progress to kcover, and saves when it is told to end. A stand-in for yours: training is a sleep, a checkpoint is a number in a file.

    python trainer.py progress.json checkpoint.txt
"""

import json
import os
import signal
import sys
import time
from datetime import datetime, timezone

place, saved = sys.argv[1:3]
told = {}
ending = False


def tell(phase="training", **more):
    told.update(more, phase=phase)
    with open(place + ".part", "w") as file:
        json.dump(told, file)
    os.replace(place + ".part", place)


def now():
    return datetime.now(timezone.utc).isoformat()


def end(*_):
    global ending
    ending = True  # The loop sees it after its step: nothing is saved in the middle of one.


def save(step):
    tell("checkpointing")
    with open(saved + ".part", "w") as file:
        file.write(str(step))
        file.flush()
        os.fsync(file.fileno())
    os.replace(saved + ".part", saved)
    # The acknowledgement comes only now, because the checkpoint is complete.
    tell(checkpointStep=step, checkpointAt=now())


signal.signal(signal.SIGTERM, end)
step = int(open(saved).read()) if os.path.exists(saved) else 0
tell("compiling", step=step, at=now())
while not ending:
    time.sleep(0.1)
    step += 1
    tell(step=step, at=now())
    if step % 100 == 0:
        save(step)
save(step)
