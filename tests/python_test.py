#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Python package, installed as its README says, passes its tests: python_test.py SOURCE ARCHS

In a virtual environment of the test's own, below the working directory. The build has the CUDA backend where there is
a GPU; ARCHS are the architectures for it, or empty for none. Skipped where PyPI cannot be reached or Python has no
`venv`. Archives and fleets are tested with the plugin of the build, where PyGObject is.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE, ARCHS = pathlib.Path(sys.argv[1]), sys.argv[2]
SKIPPED = 77


def run(*command, check=True, **more):
    return subprocess.run([str(word) for word in command], check=check, text=True, **more)


def skip(reason):
    print(f'SKIPPED: {reason}')
    sys.exit(SKIPPED)


def has_gpu():
    return bool(shutil.which('nvidia-smi')) and run('nvidia-smi', '-L', check=False).returncode == 0


def lend_pygobject(python):
    """That of the distribution, alone: PyPI's has to be compiled, and its other packages are not those of the tests."""
    found = run(sys.executable, '-c', 'import gi; print(gi.__path__[0])', check=False, stdout=subprocess.PIPE)
    if found.returncode == 0:
        there = run(python, '-c', 'import sysconfig; print(sysconfig.get_path("platlib"))', stdout=subprocess.PIPE)
        pathlib.Path(there.stdout.strip(), 'gi').symlink_to(found.stdout.strip())


def main(folder):
    environment = folder / 'venv'
    if run(sys.executable, '-m', 'venv', environment, check=False).returncode:
        skip('this Python makes no virtual environments (Debian: python3-venv)')
    python = environment / 'bin/python'
    pip = [python, '-m', 'pip', '--disable-pip-version-check', '-q']
    if run(*pip, 'download', '--no-deps', '-d', folder / 'probe', 'pytest', check=False).returncode:
        skip('PyPI cannot be reached')
    setup = '--config-settings=setup-args='
    cuda = [f'{setup}-Dxcorr:gpu_archs={ARCHS}'] if ARCHS and has_gpu() else [f'{setup}-Dxcorr:cuda=disabled']
    # Kernels for the instructions of this machine only: those for all take minutes to compile.
    one_set = {**os.environ, 'CXXFLAGS': '-DHWY_COMPILE_ONLY_STATIC -march=native'}
    run(*pip, 'install', *cuda, f'{SOURCE}/python[test,ray,stacks]', env=one_set)
    lend_pygobject(python)
    # From where no `xcorr` but the installed one is found.
    tests = run(python, '-m', 'pytest', '-q', '-rs', '-p', 'no:cacheprovider', SOURCE / 'python/tests', cwd=folder,
                check=False, stdout=subprocess.PIPE)
    print(tests.stdout)
    counts = {word.rstrip('s,'): int(count) for count, word in
              zip(*[iter(tests.stdout.strip().splitlines()[-1].split(' in ')[0].split())] * 2)}
    failed = counts.get('failed', 0) + counts.get('error', 0)
    print(f'{counts.get("passed", 0)} passed, {failed} failed, {counts.get("skipped", 0)} skipped')
    return tests.returncode


with tempfile.TemporaryDirectory(dir='.', prefix='python-') as name:
    status = main(pathlib.Path(name).resolve())
sys.exit(status)
