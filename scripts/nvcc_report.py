#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs nvcc and keeps what the assembler says of each kernel's registers and memory.

    nvcc_report.py REPORT NVCC ARGUMENTS...

The resource usage goes to the file REPORT, which scripts/registers.py reads; everything else that
nvcc says (warnings, errors) goes where it always does.
"""
import re
import subprocess
import sys

USAGE = re.compile(r"^ptxas info\s*:|^\s+\d+ bytes stack frame")


def main():
    report, command = sys.argv[1], sys.argv[2:]
    done = subprocess.run([*command, "-Xptxas", "-v"], stderr=subprocess.PIPE, text=True,
                          check=False)
    lines = done.stderr.splitlines(keepends=True)
    sys.stderr.writelines(line for line in lines if not USAGE.match(line))
    with open(report, "w", encoding="utf-8") as file:
        file.writelines(line for line in lines if USAGE.match(line))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
