#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints `N passed, N failed, N skipped` from Meson's JUnit file.

    count_tests.py FILE STATUS

STATUS is what `meson test` exited with. Exits 0 when something ran and nothing failed.
"""
import sys
import xml.etree.ElementTree as ET


def count(path):
    passed = failed = skipped = 0
    for case in ET.parse(path).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main():
    path, status = sys.argv[1], int(sys.argv[2])
    try:
        passed, failed, skipped = count(path)
    except (OSError, ET.ParseError) as error:
        print(f"no test results: {error}", file=sys.stderr)
        passed, failed, skipped = 0, 1, 0
    if status != 0 and failed == 0:  # a program that ended badly after its cases had passed
        failed = 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
