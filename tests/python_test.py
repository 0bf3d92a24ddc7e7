#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Python package, installed by pip: python_test.py SOURCE [FOLDER]

FOLDER has libxcorr.so: over that the package passes all its tests. Without FOLDER pip compiles the library too, as the
package's README says, and the README's example prints what it says.

All in a virtual environment of the test's own, below the working directory. Skipped where PyPI cannot be reached or
Python has no `venv`. Archives, fleets and the studio are tested with the plugin of the build, where PyGObject is.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE, LIBRARY = pathlib.Path(sys.argv[1]), ''.join(sys.argv[2:])
SKIPPED = 77
# s, many times what they take: what waits for ever fails by its name, long before Meson ends all of it without a word.
PROBE_LIMIT, INSTALL_LIMIT, TESTS_LIMIT = 120, 1200, 1200


def run(*command, check=True, **more):
    return subprocess.run([str(word) for word in command], check=check, text=True, **more)


def skip(reason):
    print(f'SKIPPED: {reason}')
    sys.exit(SKIPPED)


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
    return test_package(python, pip, folder) if LIBRARY else test_readme(python, pip, folder)


def install(pip, package, *options):
    run(*pip, 'install', *(f'--config-settings=setup-args={option}' for option in options), package,
        timeout=INSTALL_LIMIT)


def test_package(python, pip, folder):
    install(pip, f'{SOURCE}/python[test,ray,stacks,studio]', f'-Dlibrary={LIBRARY}')
    lend_pygobject(python)
    # From where no `xcorr` but the installed one is found.
    return run(python, '-m', 'pytest', '-q', '-rs', '-p', 'no:cacheprovider', SOURCE / 'python/tests', cwd=folder,
               check=False, timeout=TESTS_LIMIT, env={**os.environ, 'LD_LIBRARY_PATH': LIBRARY}).returncode


def test_readme(python, pip, folder):
    """CUDA would take many minutes to compile, and optimisation a third of the rest."""
    install(pip, SOURCE / 'python', '-Dxcorr:cuda=disabled', '-Dxcorr:pch=true', '-Doptimization=0')
    readme = (SOURCE / 'python/README.md').read_text(encoding='utf-8')
    code = re.search(r'^```python\n(.*?)^```$', readme, re.MULTILINE | re.DOTALL)[1]
    printed = run(python, '-c', code, cwd=folder, stdout=subprocess.PIPE).stdout.strip()
    print(printed)
    return not code.endswith(f'# {printed}\n')


with tempfile.TemporaryDirectory(dir='.', prefix='python-') as name:
    status = main(pathlib.Path(name).resolve())
sys.exit(status)
