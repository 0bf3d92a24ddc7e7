#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kernels compile for every architecture that nvcc knows, from 7.5 on: other_archs_test.py BUILT FILES [NVCC FLAG...]

BUILT, with commas: those that the build has all kernels for, which are left out. FILES, with commas: kernels that use
what differs between architectures: matrix instructions, asynchronous copies, clusters. Without nvcc nothing is tried.
"""
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
LEAST = 75


def known_by(nvcc):
    printed = subprocess.run([nvcc, '--list-gpu-arch'], check=True, capture_output=True, text=True).stdout
    return sorted(arch for arch in map(int, re.findall(r'compute_(\d+)', printed)) if arch >= LEAST)


def compiles(command, arch, file):
    """That it does is asked, not how good it is, which takes the assembler longer."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*command, '-Xptxas', '-O1', f'-arch=sm_{arch}', '-cubin', file, '-o', folder + '/code'],
                              check=False, capture_output=True, text=True)
    print(f'{"FAIL" if done.returncode else "ok  "} sm_{arch} {file} {done.stderr}'.rstrip())
    return done.returncode == 0


def main():
    built, files, *command = sys.argv[1:]
    if not command:
        print('SKIP built without nvcc')
        return SKIPPED
    others = [arch for arch in known_by(command[0]) if str(arch) not in built.split(',')]
    results = [compiles(command, arch, file) for arch in others for file in files.split(',')]
    print(f'{sum(results)} passed, {results.count(False)} failed, 0 skipped')
    return 0 if results and all(results) else 1


if __name__ == '__main__':
    sys.exit(main())
