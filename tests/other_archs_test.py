#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kernels compile for an architecture that the build has no code for: other_archs_test.py ARCH FILES NVCC FLAG...

FILES, with commas: the kernels.
"""
import subprocess
import sys
import tempfile


def compiles(command, file):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*command, '-cubin', file, '-o', folder + '/code'],
                              check=False, capture_output=True, text=True)
    print(f'{"FAIL" if done.returncode else "ok  "} {file} {done.stderr}'.rstrip())
    return done.returncode == 0


def main():
    arch, files, *nvcc = sys.argv[1:]
    results = [compiles([*nvcc, '-arch=sm_' + arch], file) for file in files.split(',')]
    print(f'{sum(results)} passed, {results.count(False)} failed, 0 skipped')
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
