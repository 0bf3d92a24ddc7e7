#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints the ten slowest tests and `N passed, N failed, N skipped` from Meson's testlog.json.

    count_tests.py [--share=SECONDS] STATUS FILE...

A program that says how many cases it ran (checkcorr, Check, GoogleTest, unittest, pytest) counts with them, any other
as one. A test that took more than its share of the time fails. STATUS is what `meson test` exited with. Exits 0 when
something passed and nothing failed.
"""
import argparse
import json
import re
import sys


def number(pattern, text):
    """The number that the last match names, or 0."""
    found = re.findall(pattern, text, re.MULTILINE)
    return int(found[-1]) if found else 0


def cases_in(text):
    """(passed, failed, skipped) of a program's own closing lines, or None."""
    if re.search(r"^\d+ passed, \d+ failed, \d+ skipped$", text, re.MULTILINE):
        return tuple(number(rf"(\d+) {what}(?:,|$)", text)
                     for what in ("passed", "failed", "skipped"))
    checks = re.findall(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)", text, re.MULTILINE)
    if checks:
        failed = sum(int(failures) + int(errors) for _, failures, errors in checks)
        return sum(int(count) for count, _, _ in checks) - failed, failed, 0
    if re.search(r"^\[={10}\] \d+ tests? .* ran\.", text, re.MULTILINE):
        return (number(r"^\[  PASSED  \] (\d+) tests?\.", text),
                number(r"^\[  FAILED  \] (\d+) tests?, listed", text),
                number(r"^\[  SKIPPED \] (\d+) tests?, listed", text))
    if unit := re.findall(r"^Ran (\d+) tests? in .*\n+(?:OK|FAILED)(.*)$", text, re.MULTILINE):
        ran, rest = unit[-1]
        failed = number(r"failures=(\d+)", rest) + number(r"errors=(\d+)", rest)
        skipped = number(r"skipped=(\d+)", rest)
        return max(0, int(ran) - failed - skipped), failed, skipped  # a class that is skipped has not run
    if py := re.findall(r"^(?:\d+ [a-z]+,? )+in [\d.]+s", text, re.MULTILINE):
        return (number(r"(\d+) passed", py[-1]), number(r"(\d+) failed", py[-1]) + number(r"(\d+) errors?", py[-1]),
                number(r"(\d+) skipped", py[-1]))
    return None


def count(test):
    if test["result"] == "SKIP":
        return 0, 0, 1
    right = test["result"] == "OK"
    passed, failed, skipped = cases_in((test.get("stdout") or "") + (test.get("stderr") or "")) or (int(right), 0, 0)
    if not right and failed == 0:  # it ended badly: by a signal or by taking too long
        failed = 1
    return passed, failed, skipped


def read(paths):
    tests = []
    for path in paths:
        try:
            with open(path, encoding="utf-8") as lines:
                tests += map(json.loads, lines)
        except OSError as error:
            print(f"no test results: {error}", file=sys.stderr)
    return tests


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, help="seconds that a test may take")
    parser.add_argument("status", type=int)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()

    tests = read(arguments.files)
    slowest = sorted(tests, key=lambda test: -test["duration"])[:10]
    print("slowest tests, seconds:")
    for test in slowest:
        print(f"{test['duration']:8.1f}  {test['name']}")
    late = [test for test in tests if arguments.share and test["duration"] > arguments.share]
    for test in late:
        print(f"FAIL {test['name']} took more than its share of {arguments.share:g} s: split it or make it smaller")

    passed, failed, skipped = (sum(column) for column in zip(*map(count, tests))) if tests else (0, 0, 0)
    failed += len(late)
    if arguments.status != 0 and failed == 0:
        failed = 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
