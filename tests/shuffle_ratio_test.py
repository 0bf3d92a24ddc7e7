#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The warp-shuffle kernels shuffle as little as the paper says: shuffle_ratio_test.py OBJECT...

Reads the machine code of the float32 kernels and counts shuffles and multiply-adds in the bodies of
the innermost loops. With l lefts, r rights, o overlaps and w rows of the left there are
2 l w + r (o - 1 + w) shuffles to l r o w multiply-adds: 3:1 when all are 1, r+2:r for
multi-matrix-right, 11:9 for grouped-overlap of 3 and 3 (paper 4.2 and 4.3), 2l+r:lr for
multi-matrix-both. The main phase's loop must be there, and any other be that of single rows, w = 1,
of the phases around it. Skipped where there is no cuobjdump; CUOBJDUMP names one.
"""
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
FUNCTION = re.compile(r"^\s*Function : (\S+)")
ARCHITECTURE = re.compile(r"^arch = (sm_\d+)")
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);")
TILE = re.compile(r"12warp_shuffle\w*?ElementIffffE\w*?8WarpTileILi(\d+)ELi(\d+)ELi(\d+)ELi(\d+)E")


def disassembler():
    nvcc = shutil.which("nvcc")
    beside = os.path.join(os.path.dirname(nvcc), "cuobjdump") if nvcc else ""
    return (os.environ.get("CUOBJDUMP") or shutil.which("cuobjdump")
            or (beside if os.path.exists(beside) else None))


def kernels_in(listing):
    """(architecture, kernel, [(address, operation, operands)]) of a disassembly."""
    architecture, name, code = "", "", []
    for line in listing.splitlines():
        if found := ARCHITECTURE.match(line):
            architecture = found[1]
        elif found := FUNCTION.match(line):
            if code:
                yield of, name, code
            of, name, code = architecture, found[1], []
        elif found := INSTRUCTION.match(line):
            code.append((int(found[1], 16), found[2], found[3]))
    if code:
        yield of, name, code


def innermost_loops(code):
    """The bodies of loops that have none inside: from a label to the branch back to it. Where the
    compiler is not sure that the lanes are together, it puts a second form of the shuffles, with
    WARPSYNC.COLLECTIVE, behind the kernel; the branch back from there closes no loop."""
    loops = []
    for address, operation, operands in code:
        target = re.search(r"0x([0-9a-f]+)", operands)
        if operation.startswith("BRA") and target and int(target[1], 16) < address:
            loops.append((int(target[1], 16), address))
    for begin, end in loops:
        body = [operation for address, operation, _ in code if begin <= address <= end]
        inside = any((b, e) != (begin, end) and begin <= b and e <= end for b, e in loops)
        if not inside and "WARPSYNC.COLLECTIVE" not in body:
            yield body


def multiplying_loops(code):
    """(shuffles, multiply-adds) of each innermost loop that multiplies."""
    counts = [(sum(op.startswith("SHFL") for op in body), sum(op.startswith("FFMA") for op in body))
              for body in innermost_loops(code)]
    return [count for count in counts if count[1]]


def expected(lefts, rights, overlaps, rows):
    return 2 * lefts * rows + rights * (overlaps - 1 + rows), lefts * rights * overlaps * rows


def is_ratio(count, wanted):
    return count[0] * wanted[1] == count[1] * wanted[0]


def main():
    tool = disassembler()
    if not tool or not sys.argv[1:]:
        print("SKIP no cuobjdump" if not tool else "SKIP built without nvcc")
        return SKIPPED
    passed = failed = 0
    for path in sys.argv[1:]:
        done = subprocess.run([tool, "-sass", path], text=True, capture_output=True, check=True)
        for architecture, name, code in kernels_in(done.stdout):
            tile = TILE.search(name)
            if not tile:
                continue
            lefts, rights, overlaps, rows = map(int, tile.groups())
            main_phase = expected(lefts, rights, overlaps, rows)
            single_rows = expected(lefts, rights, overlaps, 1)
            loops = multiplying_loops(code)
            good = (any(is_ratio(loop, main_phase) for loop in loops)
                    and all(is_ratio(loop, main_phase) or is_ratio(loop, single_rows)
                            for loop in loops))
            passed, failed = passed + good, failed + (not good)
            found = " and ".join("{}:{}".format(*loop) for loop in loops)
            print(f"{'ok  ' if good else 'FAIL'} {architecture} lefts, rights, overlaps, rows "
                  f"{', '.join(tile.groups())}: {found} shuffles to multiply-adds, by the paper "
                  "{}:{}".format(*main_phase))
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
