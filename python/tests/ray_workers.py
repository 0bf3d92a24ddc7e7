# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ray's processes of one test, among others on the machine."""
import os
import pathlib
import time

MARK = "XCORR_TEST_FOLDER"


def environment(folder):
    """For a driver, whose workers inherit it."""
    return {**os.environ, MARK: str(folder)}


def busy(folder, task):
    """Those of its workers that do this task right now."""
    return processes(lambda words, process: task.encode() in words[0] and
                     f"{MARK}={folder}".encode() in (process / "environ").read_bytes().split(b"\0"))


def agents_of(raylet):
    """Of a node, by its raylet's process: it ends with them."""
    return processes(lambda words, process: any(b"Agent" in word or b"agent.py" in word for word in words) and
                     int((process / "stat").read_text().rpartition(")")[2].split()[1]) == raylet)


def processes(are):
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if are((process / "cmdline").read_bytes().split(b"\0"), process):
                found.append(int(process.name))
        except OSError:
            pass  # it has ended
    return found


def wait_for(condition):
    """What it is once it is true. Fails after a minute and a half: on a busy machine Ray begins in many seconds."""
    end = time.monotonic() + 90
    while not (met := condition()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)
    return met
