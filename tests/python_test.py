#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Python package, installed as its README says, passes its tests: python_test.py SOURCE ARCHS

In a virtual environment of the test's own, below the working directory. The build has the CUDA backend where there is
a GPU; ARCHS are the architectures for it, or empty for none. Skipped where PyPI cannot be reached or Python has no
`venv`. Archives and fleets are tested with the plugin of the build, where PyGObject is.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

SOURCE, ARCHS = pathlib.Path(sys.argv[1]), sys.argv[2]
SKIPPED = 77
# s, many times what they take: what waits for ever fails by its name, long before Meson ends all of it without a word.
PROBE_LIMIT, INSTALL_LIMIT, TESTS_LIMIT = 120, 1200, 1200


def run(*command, check=True, **more):
    return subprocess.run([str(word) for word in command], check=check, text=True, **more)


def skip(reason):
    print(f'SKIPPED: {reason}')
    sys.exit(SKIPPED)


def has_gpu():
    return bool(shutil.which('nvidia-smi')) and run('nvidia-smi', '-L', check=False).returncode == 0


def answers(*command):
    try:
        return run(*command, check=False, timeout=PROBE_LIMIT).returncode == 0
    except subprocess.TimeoutExpired:
        return False


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
    if not answers(*pip, 'download', '--no-deps', '-d', folder / 'probe', 'pytest'):
        skip('PyPI cannot be reached')
    setup = '--config-settings=setup-args='
    cuda = [f'{setup}-Dxcorr:gpu_archs={ARCHS}'] if ARCHS and has_gpu() else [f'{setup}-Dxcorr:cuda=disabled']
    run(*pip, 'install', *cuda, f'{SOURCE}/python[test,ray,stacks]', timeout=INSTALL_LIMIT)
    lend_pygobject(python)
    # From where no `xcorr` but the installed one is found.
    report = folder / 'report.xml'
    tests = run(python, '-m', 'pytest', '-q', '-rs', '-p', 'no:cacheprovider', f'--junitxml={report}',
                SOURCE / 'python/tests', cwd=folder, check=False, timeout=TESTS_LIMIT)
    print(closing_line(report))
    return tests.returncode


def closing_line(report):
    """As of all tests. There is no report of what ended for waiting too long."""
    if not report.exists():
        return '0 passed, 1 failed, 0 skipped'
    counts = {name: int(count) for name, count in ElementTree.parse(report).find('testsuite').items()
              if name in ('tests', 'failures', 'errors', 'skipped')}
    failed = counts['failures'] + counts['errors']
    return f'{counts["tests"] - failed - counts["skipped"]} passed, {failed} failed, {counts["skipped"]} skipped'


with tempfile.TemporaryDirectory(dir='.', prefix='python-') as name:
    status = main(pathlib.Path(name).resolve())
sys.exit(status)
