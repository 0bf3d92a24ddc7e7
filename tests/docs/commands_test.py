#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Commands of a page run when they are pasted in order, and print what it says: commands_test.py PROGRAMS SOURCE PAGE

PROGRAMS is the folder with the built examples, SOURCE the checkout, PAGE a file in it. Pages other than the README go
on from where scripts/demo.sh ends. A block ```text shows lines that the block ```sh before it prints (see printed.py).
What takes minutes (clone, build, tests), or a device that no test machine has, has a stand-in: the folders of builds
come into being where the page makes them. Exits with 77, Meson's code for a skipped test, when something of the system
is missing.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import printed
from rtsp_server import RtspServer

FRAMES = 150  # of the clip that the demo makes
SKIPPED = 77
MESSAGE = 'cudaxcorr, timestamp='
END = '== end of a block =='
# That of a new user, who has to be told where the plugin is. Where there are several, the system's python3 is the one
# that has PyGObject.
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if name != 'GST_PLUGIN_PATH_1_0'},
               'PATH': f"/usr/bin:{os.environ['PATH']}"}
SCRIPTS = ('scripts/demo.sh', 'scripts/setup.sh', 'scripts/test.sh')
STAND_INS = {  # pattern: replacement
    r'git clone \S+ cudaxcorr': 'mv checkout cudaxcorr',
    r'^scripts/demo\.sh$': 'mkdir build-demo && ln -s "$BUILT"/{examples,plugin} build-demo && '
                           'GST_PLUGIN_PATH_1_0=build-demo/plugin build-demo/examples/demo --out=build-demo/demo',
    r'^scripts/(setup|test)\.sh$|^meson compile -C build$': 'ln -sfn "$BUILT" build',
    r'^meson (setup|compile|install) .*$': ':',
    r'^sudo apt-get .*$|^dpkg-buildpackage .*$': ':',  # the test `packages`
    r'^scripts/release\.sh$': ':',  # of a commit; what it makes is tried by itself
    r'\bx264enc\b': 'x264enc threads=1',  # what it makes depends on how many there are
    r'\bautovideosink\b': 'fakesink',
    r'\bv4l2src device=/dev/video0\b': f'videotestsrc num-buffers={FRAMES}',
    r'\bqtdemux ! h264parse ! nvh264dec\b': 'decodebin',
    r'\S+/examples/click-to-track\b': r'\g<0> --sink=fakesink',
    r'^.*\brtspsrc\b.*$': ':',  # a test of its own: its stream has no end
}


def blocks(page):
    """The page's blocks of commands, each command in one line, with the blocks of lines shown of what they print."""
    found = []
    for kind, text in re.findall(r'^```(sh|text)\n(.*?)^```$', page.read_text(encoding='utf-8'),
                                 re.MULTILINE | re.DOTALL):
        if kind == 'sh':
            found.append((text.replace('\\\n', ' '), []))
        else:
            found[-1][1].append(text.splitlines())
    return found


def with_stand_ins(commands):
    for pattern, replacement in STAND_INS.items():
        commands = re.sub(pattern, replacement, commands, flags=re.MULTILINE)
    return commands


def make_checkout(folder, source):
    checkout = folder / 'checkout'
    checkout.mkdir()
    for entry in source.iterdir():
        if not entry.name.startswith('build'):
            (checkout / entry.name).symlink_to(entry)
    for script in SCRIPTS:
        assert os.access(source / script, os.X_OK), script


def run(commands, folder, built):
    """What blocks of commands print, each."""
    script = ''.join(f"{with_stand_ins(block)}printf '\\n%s\\n' '{END}'\n" for block in commands)
    done = subprocess.run(['bash', '-euo', 'pipefail', '-c', script], cwd=folder, text=True, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, env={**ENVIRONMENT, 'BUILT': str(built)})
    assert done.returncode == 0, f'{script}\nexit {done.returncode}\n{done.stdout}{done.stderr}'
    return done.stdout.split(f'{END}\n')[:-1]


def check_rtsp(line, folder):
    """The line for a network camera, with a camera of the test's own, till half of the clip has come."""
    with RtspServer(folder / 'build-demo/demo/clip.mp4') as url:
        words = [f'location={url}' if word.startswith('location=rtsp:') else word for word in shlex.split(line)]
        with subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE) as client:
            messages = 0
            for text in client.stdout:
                messages += MESSAGE in text
                if messages == FRAMES // 2:
                    break
            client.terminate()
    assert messages == FRAMES // 2, messages


def need(commands):
    """Ends the test where the page needs what is not here."""
    if 'read_meta.py' in commands:
        check = ("import gi; gi.require_version('Gst', '1.0'); from gi.repository import Gst; "
                 'Gst.Structure.__getitem__')
        if subprocess.run(['python3', '-c', check], capture_output=True, check=False, env=ENVIRONMENT).returncode:
            skip("there is no PyGObject with GStreamer's additions here")
    needed = {'rtspsrc': 'rtspsrc', 'click-to-track': 'cairooverlay'}
    for word, element in needed.items():
        if word in commands and subprocess.run(['gst-inspect-1.0', '--exists', element], check=False).returncode:
            skip(f'there is no {element} here')


def skip(why):
    print(why)
    sys.exit(SKIPPED)


def main():
    programs, source, page = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3]
    start, parts = blocks(source / 'README.md')[0][0], blocks(source / page)
    assert start.endswith('scripts/demo.sh\n'), start
    commands = [block for block, _ in parts]
    need(''.join(commands))
    with tempfile.TemporaryDirectory(prefix='cudaxcorr docs ') as name:
        folder = Path(name)
        make_checkout(folder, source)
        if page != 'README.md':
            run([start], folder, programs.parent)
            folder = folder / 'cudaxcorr'
        outputs = run(commands, folder, programs.parent)
        compared = 0
        for output, (block, shown) in zip(outputs, parts, strict=True):
            expected = FRAMES * with_stand_ins(block).count('gst-launch-1.0 -m ')
            assert output.count(MESSAGE) == expected, (expected, output)
            for lines in shown:
                assert printed.has(output.splitlines(), lines), '\n'.join([block, 'prints', output, 'not', *lines])
                compared += len(lines)
        for line in re.findall('^.*rtspsrc.*$', ''.join(commands), re.MULTILINE):
            check_rtsp(line, folder)
    print(f'{sum(len(block.splitlines()) for block in commands)} lines, {compared} lines of output')


if __name__ == '__main__':
    main()
