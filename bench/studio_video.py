#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the studio's live pictures cost by JPEG and by WebRTC: bench/studio_video.py CLIP [--seconds=20] [--rounds=2]

Plays the clip to a page in headless Chromium on the same machine, in turns by both ways, with a template if --template
names one. Prints a line of CSV each: CPU of the server and of the browser, in percent of a core, what the page
received, how many pictures it showed, and after how long 95 of 100 of them were on the screen since the pipeline had
their frames. Needs the package xcorr with GStreamer's plugins, Playwright and Chromium.
"""
import argparse
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from playwright import sync_api

WAYS = 'mjpeg', 'webrtc'
SETTLE = 5  # s, before anything counts
#: So that what arrives by WebRTC can be asked for.
KEEP_PEERS = '''window.peers = []; window.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(...values) { super(...values); peers.push(this); } };'''
RECEIVED = '''async () => { let bytes = 0;
  for (const peer of peers) for (const each of (await peer.getStats()).values()) {
    if (each.type === "inbound-rtp") bytes += each.bytesReceived + each.headerBytesReceived;
  }
  return bytes; }'''


def processes():
    """Of each its parent and its seconds of CPU, with those of children that have ended."""
    found = {}
    for path in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = path.read_text(encoding='utf-8').rpartition(')')[2].split()
        except OSError:  # it has ended since
            continue
        found[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf('SC_CLK_TCK')
    return found


def cpu(of, table):
    """Of a process and of all below it."""
    return table[of][1] + sum(cpu(each, table) for each, (parent, _) in table.items() if parent == of)


class Counts:
    """What goes over the page's websocket."""

    def __init__(self, page):
        self.received, self.shown, self.behind = 0, 0, []
        page.on('websocket', self.listen)

    def listen(self, socket):
        socket.on('framereceived', self.take)
        socket.on('framesent', self.sent)

    def take(self, payload):
        self.received += len(payload)
        text = payload[4:4 + int.from_bytes(payload[:4], 'little')] if isinstance(payload, bytes) else payload
        behind = json.loads(text).get('behind')
        self.behind += [] if behind is None else [behind]

    def sent(self, payload):
        self.shown += json.loads(payload).get('do') == 'shown'


def measure(way, browser, options, folder):
    words = ['studio', '--no-browser', '--port', '0', '--device', 'cpu', f'--video={way}', options.clip,
             *(['-t', options.template] if options.template else [])]
    with subprocess.Popen([sys.executable, '-m', 'xcorr', *words], cwd=folder, text=True,
                          stdout=subprocess.PIPE) as server:
        page = browser.new_page(viewport={'width': 1366, 'height': 768})
        try:
            page.add_init_script(KEEP_PEERS)
            counts = Counts(page)
            page.goto(server.stdout.readline().split()[-1])
            page.wait_for_timeout(1000 * SETTLE)
            shown_by = page.inner_text('#way')
            counts.received, counts.shown, counts.behind = -page.evaluate(RECEIVED), 0, []
            before, begun = processes(), time.monotonic()
            page.wait_for_timeout(1000 * options.seconds)
            after, took = processes(), time.monotonic() - begun
            received = counts.received + page.evaluate(RECEIVED)
        finally:
            page.close()
            server.terminate()
    tops = {'server': server.pid, 'browser': next(each for each, (parent, _) in after.items() if parent == os.getpid()
                                                  and each != server.pid)}
    used = {name: round(100 * (cpu(top, after) - cpu(top, before)) / took) for name, top in tops.items()}
    delays = sorted(counts.behind)
    return {'way': way, 'shown_by': shown_by, 'server_cpu_percent': used['server'],
            'browser_cpu_percent': used['browser'], 'mbit_s': round(8e-6 * received / took, 2),
            'pictures_s': round(counts.shown / took, 1), 'p95_ms': round(1000 * delays[int(0.95 * len(delays))]),
            'load': round(os.getloadavg()[0], 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('clip', type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument('--template', type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument('--seconds', type=int, default=20)
    parser.add_argument('--rounds', type=int, default=2)
    options = parser.parse_args()
    table = None
    with tempfile.TemporaryDirectory() as folder, sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which('chromium') or shutil.which('google-chrome'))
        for way in WAYS * options.rounds:
            row = measure(way, browser, options, folder)
            if not table:
                table = csv.DictWriter(sys.stdout, row)
                table.writeheader()
            table.writerow(row)
            sys.stdout.flush()
        browser.close()


if __name__ == '__main__':
    main()
