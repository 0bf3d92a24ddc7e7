#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""When the kernels of a frame run that is matched by itself: medians over frames, as CSV.

    bench/timeline.py build/bench/libkernel_timeline.so build/bench/match_bench --filter=1920x1080/64/1

runs the program with the library loaded, which asks CUPTI (see kernel_timeline.cpp), and takes the runs of kernels
with nothing on the GPU before them for as long as the host needs for a frame. Of these most have the same kernels in
the same order; the others are left out. Times are microseconds from the beginning of the first kernel. What asks
CUPTI takes time itself, which shows where there are many kernels.
"""
import collections
import csv
import os
import re
import statistics
import subprocess
import sys

REST = 4000  # ns without a kernel between two frames


def recorded(library, command):
    """The program's output, and its kernels: (begin, end, name), in the order of their beginnings."""
    environment = dict(os.environ, CUDA_INJECTION64_PATH=os.path.abspath(library))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    rows = csv.reader(lines[lines.index('begin_ns,end_ns,stream,kernel') + 1:])
    return done.stdout, [(int(begin), int(end), short(name)) for begin, end, _, name in rows]


def short(mangled):
    """The kernel's own name: the last one of those that name it, without what it is a template of."""
    names, rest = [], mangled.removeprefix('_ZN')
    while found := re.match(r'\d+', rest):
        length, rest = int(found[0]), rest[found.end():]
        names.append(rest[:length])
        rest = rest[length:]
    return names[-1] if names else mangled


def frames_of(kernels):
    """Runs of kernels with nothing before them."""
    frames, busy_until = [], 0
    for kernel in kernels:
        if not frames or kernel[0] > busy_until + REST:
            frames.append([])
        frames[-1].append(kernel)
        busy_until = max(busy_until, kernel[1])
    return frames


def timeline(kernels):
    """How many frames there were, and of their kernels the names and median times."""
    frames = frames_of(kernels)
    orders = collections.Counter(tuple(name for _, _, name in frame) for frame in frames)
    order = max(orders, key=lambda names: orders[names])
    same = [frame for frame in frames if tuple(name for _, _, name in frame) == order]
    rows = []
    for i, name in enumerate(order):
        begin, end = (statistics.median(frame[i][edge] - frame[0][0] for frame in same) / 1000 for edge in (0, 1))
        rows.append((name, begin, end))
    return len(same), rows


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    printed, kernels = recorded(sys.argv[1], sys.argv[2:])
    print(printed, end='')
    count, rows = timeline(kernels)
    print('frames,kernel,begin_us,end_us')
    for name, begin, end in rows:
        print(f'{count},{name},{begin:.1f},{end:.1f}')


if __name__ == '__main__':
    main()
