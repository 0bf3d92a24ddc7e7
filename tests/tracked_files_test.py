#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""No archives, objects or other blobs in git: tracked_files_test.py SOURCE

A tracked file is text or an image, and none that .gitignore names; none but images and results that a page names is
larger than 1 MiB. Lines of Python have at most 120 characters.
Skipped where there is no git or no checkout, as in a source archive.
"""
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[1])
SKIPPED = 77
LARGEST = 1 << 20
LONGEST = 120
IMAGES = {'.png', '.jpg', '.svg'}


def tracked(*options):
    try:
        done = subprocess.run(['git', '-C', SOURCE, 'ls-files', '-z', *options], capture_output=True, text=True,
                              check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f'SKIPPED: {error}')
        sys.exit(SKIPPED)
    return [SOURCE / name for name in done.stdout.split('\0') if name]


def is_text(data):
    try:
        return '\0' not in data.decode('utf-8')
    except UnicodeDecodeError:
        return False


def fault(data, suffix, named_in_page):
    """What is wrong with a file of these bytes, or nothing."""
    if len(data) > LARGEST and suffix not in IMAGES and not named_in_page:
        return f'has {len(data)} bytes, and no page names it'
    if suffix not in IMAGES and not is_text(data):
        return 'is neither text nor an image'
    if suffix == '.py' and (long := [str(number) for number, line in enumerate(data.decode().splitlines(), 1)
                                     if len(line) > LONGEST]):
        return f'has more than {LONGEST} characters in line {", ".join(long)}'
    return ''


assert fault(b'a' * (LARGEST + 1), '.csv', False) and not fault(b'a' * (LARGEST + 1), '.csv', True)
assert fault(b'\x1f\x8b\x08\0', '.gz', False)
assert fault(b'\n' + b'a' * (LONGEST + 1), '.py', False).endswith('in line 2')
assert not fault('ü'.encode() * LONGEST, '.py', False)
assert not fault(b'\x89PNG\0', '.png', False) and not fault('größer'.encode(), '.md', False)

files = [path for path in tracked() if path.is_file() and not path.is_symlink()]
pages = ''.join(path.read_text(encoding='utf-8') for path in files if path.suffix == '.md')
faults = [f'{path.relative_to(SOURCE)} {said}' for path in files
          if (said := fault(path.read_bytes(), path.suffix, path.name in pages))]
faults += [f'{path.relative_to(SOURCE)} is ignored' for path in tracked('-c', '-i', '--exclude-standard')]
print('\n'.join(faults) or f'{len(files)} tracked files, each text or an image')
sys.exit(1 if faults or not files else 0)
