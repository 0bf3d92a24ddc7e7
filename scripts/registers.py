#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The table of registers and memory of every kernel, and whether arrays stayed in registers.

    registers.py --output=registers.csv FAMILY.usage...   writes the table, from scripts/nvcc_report.py
    registers.py --check registers.csv                    fails when a kernel has a stack frame or spills

An array that is indexed by anything but constants, or that does not fit, lands in "local" memory,
which is device memory: the kernels that keep their work in arrays of registers would lose what they
are for. The compiler says so only in its resource report.
"""
import argparse
import csv
import pathlib
import re
import shutil
import subprocess
import sys

COLUMNS = ["family", "kernel", "arch", "registers", "shared_bytes", "stack_bytes", "spill_bytes"]

# Kernels that may have a stack frame, and why: (family, how the kernel's name begins).
ALLOWED = {}

ENTRY = re.compile(r"Compiling entry function '(\S+)' for 'sm_(\d+)'")
FUNCTION = re.compile(r"Function properties for (\S+)")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def read_report(family, text):
    """A row a kernel and architecture. Frames of functions it calls count as the kernel's."""
    rows, row = [], None
    for line in text.splitlines():
        if found := ENTRY.search(line):
            row = dict.fromkeys(COLUMNS, 0) | {"family": family, "kernel": found[1],
                                               "arch": int(found[2])}
            rows.append(row)
        elif row and (found := FRAME.search(line)):
            row["stack_bytes"] += int(found[1])
            row["spill_bytes"] += int(found[2]) + int(found[3])
        elif row and (found := USED.search(line)):
            shared = SHARED.search(line)
            row["registers"] = int(found[1])
            row["shared_bytes"] = int(shared[1]) if shared else 0
    return rows


def shortened(name):
    """A demangled kernel without what all of them share: return type, namespaces, parameters."""
    name = re.sub(r"\(anonymous namespace\)::|xcorr::(cuda::)?|std::", "", name)
    name = name.removeprefix("void ")
    depth = 0
    for place, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            return name[:place]
    return name


def demangled(names):
    """{mangled: readable}; as they are where no demangler is installed."""
    tool = shutil.which("cu++filt") or shutil.which("c++filt")
    if not tool:
        return {name: name for name in names}
    done = subprocess.run([tool], input="\n".join(names), text=True, capture_output=True, check=True)
    return dict(zip(names, map(shortened, done.stdout.splitlines())))


def write(paths, output):
    rows = []
    for path in map(pathlib.Path, paths):
        rows += read_report(path.name.split(".")[0], path.read_text(encoding="utf-8"))
    names = demangled(sorted({row["kernel"] for row in rows}))
    for row in rows:
        row["kernel"] = names[row["kernel"]]
    rows.sort(key=lambda row: (row["family"], row["kernel"], row["arch"]))
    with open(output, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def reason_of(row):
    """Why this kernel may use local memory, or None."""
    for (family, start), reason in ALLOWED.items():
        if row["family"] == family and row["kernel"].startswith(start):
            return reason
    return None


def check(path):
    """Prints what it finds; 0 when every kernel keeps to registers, or is allowed not to."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    failed = 0
    for row in rows:
        if int(row["stack_bytes"]) == int(row["spill_bytes"]) == 0:
            continue
        reason = reason_of(row)
        failed += reason is None
        print(f"{'allowed, ' + reason + ':' if reason else 'FAIL'} {row['family']}: {row['kernel']}, "
              f"sm_{row['arch']}: stack frame of {row['stack_bytes']} bytes, "
              f"spills of {row['spill_bytes']} bytes")
    most = max((int(row["registers"]) for row in rows), default=0)
    print(f"{len(rows)} kernels, at most {most} registers, {failed} with arrays in local memory")
    return 1 if failed or not rows else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", help="the table to write, from reports")
    parser.add_argument("--check", action="store_true", help="check a table instead")
    parser.add_argument("files", nargs="+", help="reports; with --check the table")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.files[0])
    write(arguments.files, arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
