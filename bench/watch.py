#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What it costs to watch a screen: bench/watch.py [--templates=100] [--frames=600]

A photograph of 1920x1080 stands for the screen; the templates are parts of it, each looked for in a region that reaches a
margin beyond its place, as `templates.yaml` says. Prints the time of the CPU for a frame, without that of a pipeline that
only passes frames, and how many frames of a live source were analysed. With --recording a file is made besides, of a
screen that shows the photograph and noise in turn, and searched as fast as it is decoded. Needs Pillow, the plugin and
gst-launch-1.0; no Python bindings.
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
    mode = 'L' if options.match_on == 'luma' else 'RGB'
    screen = Image.open(PHOTOGRAPH).convert(mode).resize((WIDTH, HEIGHT), Image.BICUBIC)
    noise = Image.effect_noise((WIDTH, HEIGHT), 20).convert(mode)
    screen = Image.blend(screen, noise, 0.3)
    screen.save(folder / 'screen.png')
    noise.save(folder / 'nothing.png')
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


def still(folder, image, frames, rate, live=False):
    """The elements of a source that shows one image."""
    return ['filesrc', f'location={folder}/{image}.png', '!', 'pngdec', '!', 'videoconvert', '!', 'video/x-raw,format=NV12',
            '!', 'imagefreeze', f'num-buffers={frames}', *(['is-live=true'] if live else []), '!',
            f'video/x-raw,framerate={rate}/1']


def launch(words):
    """Seconds of the CPU and by the clock, and the lines of xcorrjson."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(['gst-launch-1.0', '-q', *words], check=True, text=True, stdout=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - begin, [json.loads(line) for line in done.stdout.splitlines()]


def run(source, element):
    return launch([*source, '!', *element, '!', 'xcorrjson', '!', 'fakesink', 'sync=false'])


def appeared(lines):
    return [event for line in lines for event in line['events'] if event['event'] == 'appeared']


def cost(folder, options, element):
    few = 20  # what the start costs
    times = {}
    for what, words in ('search', element), ('none', ['identity']):
        start = run(still(folder, 'screen', few, options.rate), words)
        whole = run(still(folder, 'screen', few + options.frames, options.rate), words)
        times[what] = start[0], 1000 * (whole[0] - start[0]) / options.frames, whole[2]
    start, search, lines = times['search']
    print(f'{options.templates} templates, {len({event["label"] for event in appeared(lines)})} found; CPU ms a frame: '
          f'{search:.2f}, passing frames alone {times["none"][1]:.2f}; start {start:.2f} s; load {os.getloadavg()[0]:.1f}')


def live(folder, options, element):
    """Frames of a source that waits for nobody. What begins while the element starts is not counted: --settle seconds."""
    _, _, lines = run(still(folder, 'screen', options.live, options.rate, live=True), element)
    first = lines[0]['running-time'] + options.settle * 1e9
    counted = [line for line in lines if line['running-time'] >= first]
    times = sorted(line['processing-time'] for line in counted if line['analysed'])
    if not times:
        print(f'live at {options.rate} frames a second: {len(counted)} frames, 0 analysed')
        return
    exact = sum(event['unanalysed'] == 0 for event in appeared(lines))
    print(f'live at {options.rate} frames a second: {len(counted)} frames, {sum(line["analysed"] for line in counted)} '
          f'analysed; in the element {times[len(times) // 2] / 1e6:.2f} ms (median), '
          f'{times[int(0.99 * len(times))] / 1e6:.2f} (99 of 100); {exact} of {len(appeared(lines))} labels appeared '
          'exact to the frame')


def recording(folder, options, element):
    """Of `recording` seconds: its decoder alone, and the search."""
    file = folder / 'recording.mkv'
    length = options.recording * options.rate // 10
    parts = [[*still(folder, image, length, options.rate), '!', 'screen.'] for image in ['screen', 'nothing'] * 5]
    launch(['concat', 'name=screen', '!', 'videoconvert', '!', *options.encoder.split(), '!', 'matroskamux', '!', 'filesink',
            f'location={file}', *(word for part in parts for word in part)])
    decode = ['filesrc', f'location={file}', '!', 'decodebin', '!', 'video/x-raw', '!', 'queue']
    _, alone, _ = launch([*decode, '!', 'fakesink', 'sync=false'])
    _, searched, lines = run(decode, element)
    events = appeared(lines)
    frames = len(lines)
    print(f'recording of {frames} frames: decoded in {alone:.2f} s ({frames / alone:.0f} frames/s), searched in '
          f'{searched:.2f} s ({frames / searched:.0f}): {searched / alone:.2f} times; 12 hours of it in '
          f'{searched / frames * options.rate * 12 * 60:.0f} minutes; {len(events)} times a label appeared')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n', maxsplit=1)[0])
    parser.add_argument('--templates', type=int, default=100)
    parser.add_argument('--frames', type=int, default=600, help='to measure the CPU with (0: none)')
    parser.add_argument('--sides', type=lambda text: [int(each) for each in text.split(',')], default=[32, 48, 64])
    parser.add_argument('--margin', type=int, default=16, help='of the regions, pixels; -1: none, in the whole frame')
    parser.add_argument('--live', type=int, default=300, help='frames of the live source (0: none)')
    parser.add_argument('--rate', type=int, default=30, help='frames a second')
    parser.add_argument('--settle', type=float, default=0, help='seconds of the live source that are not counted')
    parser.add_argument('--recording', type=int, default=0, help='seconds of a file that is made and searched')
    parser.add_argument('--encoder', default='x264enc pass=quant quantizer=18 speed-preset=ultrafast', help='of that file')
    parser.add_argument('--match-on', choices=('luma', 'color', 'edges', 'color-edges'), default='luma')
    parser.add_argument('--backend', default='cpu')
    parser.add_argument('--async-depth', type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_screen(folder, options)
        element = ['cudaxcorr', f'backend={options.backend}', f'templates-dir={folder}/templates', 'threshold=0.9',
                   'subpixel=none', 'events=true', 'post-messages=false', 'attach-roi-meta=false',
                   f'match-on={options.match_on}', f'async-depth={options.async_depth}']
        for wanted, measure in (options.frames, cost), (options.live, live), (options.recording, recording):
            if wanted:
                measure(folder, options, element)


if __name__ == '__main__':
    main()
