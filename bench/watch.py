#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What it costs to watch a screen: bench/watch.py [--templates=100] [--frames=600]

A photograph of 1920x1080 stands for the screen; the templates are parts of it, each looked for in a region that reaches a
margin beyond its place, as `templates.yaml` says. Prints the time of the CPU for a frame, without that of a pipeline that
only passes frames, and how many frames of a live source at 30 a second were analysed. Needs Pillow and the plugin.
"""
import argparse
import json
import os
import pathlib
import random
import resource
import subprocess
import tempfile
import time

PHOTOGRAPH = pathlib.Path(__file__).parents[1] / 'docs/images/rocket.jpg'
WIDTH, HEIGHT = 1920, 1080


def make_screen(folder, options):
    from PIL import Image  # pylint: disable=import-outside-toplevel
    screen = Image.open(PHOTOGRAPH).convert('L').resize((WIDTH, HEIGHT), Image.BICUBIC)
    noise = Image.effect_noise((WIDTH, HEIGHT), 20)
    screen = Image.blend(screen, noise, 0.3)
    screen.save(folder / 'screen.png')
    places, rules = random.Random(1), []
    (folder / 'templates').mkdir()
    for number in range(options.templates):
        side = places.choice(options.sides)
        x, y = places.randrange(WIDTH - side), places.randrange(HEIGHT - side)
        screen.crop((x, y, x + side, y + side)).save(folder / f'templates/{number}.png')
        left, top = max(0, x - options.margin), max(0, y - options.margin)
        size = side + 2 * options.margin
        rules.append(f'{number}: {{region: [{left}, {top}, {size}, {size}]}}')
    if options.margin >= 0:
        (folder / 'templates/templates.yaml').write_text('\n'.join(rules) + '\n')


def run(folder, frames, element, live=False):
    """Seconds of the CPU and by the clock, and the lines of xcorrjson."""
    words = ['gst-launch-1.0', '-q', 'filesrc', f'location={folder}/screen.png', '!', 'pngdec', '!', 'videoconvert', '!',
             'video/x-raw,format=NV12', '!', 'imagefreeze', f'num-buffers={frames}', *(['is-live=true'] if live else []), '!',
             'video/x-raw,framerate=30/1', '!', *element, '!', 'xcorrjson', '!', 'fakesink', 'sync=false']
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - begin, [json.loads(line) for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--templates', type=int, default=100)
    parser.add_argument('--frames', type=int, default=600)
    parser.add_argument('--sides', type=lambda text: [int(each) for each in text.split(',')], default=[32, 48, 64])
    parser.add_argument('--margin', type=int, default=16, help='of the regions, pixels; -1: none, in the whole frame')
    parser.add_argument('--live', type=int, default=300, help='frames of the live source (0: none)')
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_screen(folder, options)
        element = ['cudaxcorr', 'backend=cpu', f'templates-dir={folder}/templates', 'threshold=0.9', 'subpixel=none',
                   'events=true', 'post-messages=false', 'attach-roi-meta=false']
        few = 20  # what the start costs
        start, _, _ = run(folder, few, element)
        cpu, _, lines = run(folder, few + options.frames, element)
        start_of_none, _, _ = run(folder, few, ['identity'])
        none, _, _ = run(folder, few + options.frames, ['identity'])
        found = {event['label'] for line in lines for event in line['events'] if event['event'] == 'appeared'}
        print(f'{options.templates} templates, {len(found)} found; CPU ms a frame: '
              f'{1000 * (cpu - start) / options.frames:.2f}, passing frames alone '
              f'{1000 * (none - start_of_none) / options.frames:.2f}; start {start:.2f} s; load {os.getloadavg()[0]:.1f}')
        if options.live:
            _, _, lines = run(folder, options.live, element, live=True)
            print(f'live at 30 frames a second: {len(lines)} frames, {sum(line["analysed"] for line in lines)} analysed')


if __name__ == '__main__':
    main()
