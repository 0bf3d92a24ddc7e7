#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Commands of a page run when they are pasted in order: commands_test.py PROGRAMS SOURCE PAGE

PROGRAMS is the folder with the built examples, SOURCE the checkout, PAGE a file in it. Pages other than the README
go on from where its commands end. What takes minutes (clone, build, tests), or a device that no test machine has, has a
stand-in. Exits with 77, Meson's code for a skipped test, when something of the system is missing.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rtsp_server import RtspServer

FRAMES = 30
SKIPPED = 77
MESSAGE = 'cudaxcorr, timestamp='
# That of a new user, who has to be told where the plugin is. Where there are several, the system's python3 is the one
# that has PyGObject.
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if name != 'GST_PLUGIN_PATH_1_0'},
               'PATH': f"/usr/bin:{os.environ['PATH']}"}
SCRIPTS = ('scripts/demo.sh', 'scripts/setup.sh', 'scripts/test.sh')
STAND_INS = {  # pattern: replacement
    r'git clone \S+ cudaxcorr': 'mv checkout cudaxcorr',
    r'^scripts/demo\.sh$': 'GST_PLUGIN_PATH_1_0=build-demo/plugin '
                           f'build-demo/examples/demo --out=build-demo/demo --frames={FRAMES}',
    r'^scripts/(setup|test)\.sh$|^meson (setup|compile|install) .*$': ':',
    r'^sudo apt-get .*$|^dpkg-buildpackage .*$': ':',  # the test `packages`
    r'\bautovideosink\b': 'fakesink',
    r'\bv4l2src device=/dev/video0\b': f'videotestsrc num-buffers={FRAMES}',
    r'\bqtdemux ! h264parse ! nvh264dec\b': 'decodebin',
    r'\bbuild/examples/click-to-track\b': 'build/examples/click-to-track --sink=fakesink',
    r'^.*\brtspsrc\b.*$': ':',  # a test of its own: its stream has no end
}


def blocks(page):
    """The commands of a page, each in one line."""
    return ''.join(re.findall(r'^```sh\n(.*?)^```', page.read_text(encoding='utf-8'),
                              re.MULTILINE | re.DOTALL)).replace('\\\n', ' ')


def with_stand_ins(commands):
    for pattern, replacement in STAND_INS.items():
        commands = re.sub(pattern, replacement, commands, flags=re.MULTILINE)
    return commands


def make_checkout(folder, programs, source):
    """The sources, and what the scripts would have built of them."""
    checkout = folder / 'checkout'
    checkout.mkdir()
    for entry in source.iterdir():
        if not entry.name.startswith('build'):
            (checkout / entry.name).symlink_to(entry)
    for script in SCRIPTS:
        assert os.access(source / script, os.X_OK), script
    for build in ('build', 'build-demo'):
        (checkout / build).mkdir()
        (checkout / build / 'examples').symlink_to(programs)
        (checkout / build / 'plugin').symlink_to(programs.parent / 'plugin')


def run(commands, folder):
    """What they print."""
    done = subprocess.run(['bash', '-euo', 'pipefail', '-c', commands], cwd=folder, text=True, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, env=ENVIRONMENT)
    assert done.returncode == 0, f'{commands}\nexit {done.returncode}\n{done.stdout}{done.stderr}'
    return done.stdout


def check_rtsp(line, folder):
    """The line for a network camera, with a camera of the test's own, till half of the clip has come."""
    with RtspServer(folder / 'build-demo/demo/clip.mp4') as url:
        words = [f'location={url}' if word.startswith('location=rtsp:') else word for word in shlex.split(line)]
        with subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE) as client:
            messages = 0
            for printed in client.stdout:
                messages += MESSAGE in printed
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
    readme, commands = blocks(source / 'README.md'), blocks(source / page)
    need(commands)
    with tempfile.TemporaryDirectory(prefix='cudaxcorr docs ') as name:
        folder = Path(name)
        make_checkout(folder, programs, source)
        printed = run(with_stand_ins(readme), folder)
        if page != 'README.md':
            folder = folder / 'cudaxcorr'
            printed = run(with_stand_ins(commands), folder)
        expected = FRAMES * with_stand_ins(commands).count('gst-launch-1.0 -m ')
        assert printed.count(MESSAGE) == expected, (expected, printed)
        for line in re.findall('^.*rtspsrc.*$', commands, re.MULTILINE):
            check_rtsp(line, folder)
    print(f'{len(commands.splitlines())} lines')


if __name__ == '__main__':
    main()
