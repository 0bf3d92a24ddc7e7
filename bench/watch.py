#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What it costs to watch a screen: bench/watch.py [--templates=100] [--frames=600]

A photograph of 1920x1080 stands for the screen; the templates are parts of it, each looked for in a region that reaches
a margin beyond its place, as `templates.yaml` says. Prints the time of the CPU for a frame, without that of a pipeline
that only passes frames, and how many frames of a live source were analysed. With --recording a file is made besides, of
a screen that shows the photograph and noise in turn, and searched as fast as it is decoded; with --watch by
`xcorr watch`, whose events are compared with what the file shows. Needs NumPy, OpenCV, the plugin and gst-launch-1.0;
no Python bindings of GStreamer, and the package xcorr for --watch alone.
"""
import argparse
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

import cv2
import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[1]
PHOTOGRAPH = SOURCE / 'docs/images/rocket.jpg'
WIDTH, HEIGHT = 1920, 1080
PARTS = 5
LEAST_CONTRAST = 15  # gray levels; noise has 20 before it is blurred, 2 after it


def make_screen(folder, options):
    flag = cv2.IMREAD_GRAYSCALE if options.match_on == 'luma' else cv2.IMREAD_COLOR
    screen = cv2.resize(cv2.imread(str(PHOTOGRAPH), flag), (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC)
    noise = np.random.default_rng(1).normal(128, 20, (HEIGHT, WIDTH)).clip(0, 255).astype(np.uint8)
    if screen.ndim == 3:
        noise = cv2.cvtColor(noise, cv2.COLOR_GRAY2BGR)
    screen = cv2.addWeighted(screen, 0.7, noise, 0.3, 0)
    cv2.imwrite(f'{folder}/screen.png', screen)
    cv2.imwrite(f'{folder}/nothing.png', noise)
    rules = []
    for number, (x, y, side) in enumerate(write_parts(folder / 'templates', screen, options)):
        left, top = max(0, x - options.margin), max(0, y - options.margin)
        size = side + 2 * options.margin
        rules.append(f'{number}: {{region: [{left}, {top}, {size}, {size}]}}')
    if options.margin >= 0:
        (folder / 'templates/templates.yaml').write_text('\n'.join(rules) + '\n')


def write_parts(folder, picture, options, least_contrast=0):
    """Squares of the picture with that contrast become images, named by numbers. Returns (x, y, side) of each."""
    seen = cv2.GaussianBlur(picture, (0, 0), 3)  # without noise
    numbers, places = random.Random(1), []
    folder.mkdir()
    while len(places) < options.templates:
        side = numbers.choice(options.sides)
        x, y = numbers.randrange(WIDTH - side), numbers.randrange(HEIGHT - side)
        if seen[y:y + side, x:x + side].std() >= least_contrast:
            cv2.imwrite(f'{folder}/{len(places)}.png', picture[y:y + side, x:x + side])
            places.append((x, y, side))
    return places


def still(folder, image, frames, rate, live=False):
    """The elements of a source that shows one image."""
    return ['filesrc', f'location={folder}/{image}.png', '!', 'pngdec', '!', 'videoconvert', '!',
            'video/x-raw,format=NV12', '!', 'imagefreeze', f'num-buffers={frames}',
            *(['is-live=true'] if live else []), '!', f'video/x-raw,framerate={rate}/1']


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
          f'{search:.2f}, passing frames alone {times["none"][1]:.2f}; start {start:.2f} s; '
          f'load {os.getloadavg()[0]:.1f}')


def live(folder, options, element):
    """Frames of a source that waits for nobody. Those of the first --settle seconds, while it starts, do not count."""
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


def make_recording(folder, options, seconds):
    """PARTS times the screen and then noise. Returns the file and the frames of each."""
    file = folder / 'recording.mkv'
    length = seconds * options.rate // (2 * PARTS)
    parts = [[*still(folder, image, length, options.rate), '!', 'screen.'] for image in ['screen', 'nothing'] * PARTS]
    launch(['concat', 'name=screen', '!', 'videoconvert', '!', *options.encoder.split(), '!', 'matroskamux', '!',
            'filesink', f'location={file}', *(word for part in parts for word in part)])
    return file, length


def decode(file):
    """Frames stay in the memory in which the decoder leaves them."""
    return ['filesrc', f'location={file}', '!', 'decodebin', '!', 'video/x-raw(ANY)', '!', 'queue']


def decoded_alone(file):
    """Seconds."""
    return launch([*decode(file), '!', 'fakesink', 'sync=false'])[1]


def recording(folder, options, element):
    """Its decoder alone, and the search."""
    file, _ = make_recording(folder, options, options.recording)
    alone = decoded_alone(file)
    _, searched, lines = run(decode(file), element)
    events = appeared(lines)
    frames = len(lines)
    print(f'recording of {frames} frames: decoded in {alone:.2f} s ({frames / alone:.0f} frames/s), searched in '
          f'{searched:.2f} s ({frames / searched:.0f}): {searched / alone:.2f} times; 12 hours of it in '
          f'{searched / frames * options.rate * 12 * 60:.0f} minutes; {len(events)} times a label appeared')


def cut_templates(folder, file, options):
    """Out of the recording, as users do, where there is something to see: coding alters what is flat most."""
    raw = folder / 'frame.raw'
    launch(['filesrc', f'location={file}', '!', 'decodebin', '!', 'videoconvert', '!', 'video/x-raw,format=GRAY8', '!',
            'identity', 'eos-after=2', '!', 'filesink', f'location={raw}'])
    frame = np.frombuffer(raw.read_bytes()[:WIDTH * HEIGHT], np.uint8).reshape(HEIGHT, WIDTH)
    write_parts(folder / 'cut', frame, options, LEAST_CONTRAST)
    return folder / 'cut'


def watch(folder, options, _):
    """`xcorr watch` beside the decoder alone."""
    file, length = make_recording(folder, options, options.watch)
    templates = cut_templates(folder, file, options)
    alone = decoded_alone(file)
    begin = time.monotonic()
    words = ['watch', file, '--templates', templates, '--format', 'json', '--threshold', '0.8',
             '--device', options.backend, *(['--report', folder / 'report.json'] if options.report else [])]
    done = subprocess.run([sys.executable, '-m', 'xcorr', *words], check=True, text=True, stdout=subprocess.PIPE)
    watched = time.monotonic() - begin
    frame = 1 / options.rate
    told = {(event['label'], event['event'], round(event['at'] / frame))
            for event in map(json.loads, done.stdout.splitlines())}
    shown = {(str(label), what, 2 * part * length + offset)
             for label in range(options.templates) for part in range(PARTS)
             for what, offset in (('appeared', 0), ('gone', length - 1))}
    frames = 2 * PARTS * length
    print(f'xcorr watch of {frames} frames, {options.templates} templates: decoded in {alone:.2f} s '
          f'({frames / alone:.0f} frames/s), watched in {watched:.2f} s, its start too ({frames / watched:.0f}): '
          f'{watched / alone:.2f} times; {len(told & shown)} of {len(shown)} events to the frame, '
          f'{len(told - shown)} others')
    if told != shown:
        sys.exit(f'missing: {sorted(shown - told)[:5]}, not shown: {sorted(told - shown)[:5]}')


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
    parser.add_argument('--watch', type=int, default=0, help='seconds of a file that `xcorr watch` looks at')
    parser.add_argument('--report', action='store_true', help='with thumbnails of first and last frames')
    parser.add_argument('--encoder', default='x264enc pass=quant quantizer=18 speed-preset=ultrafast',
                        help='of these files')
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
        for wanted, measure in ((options.frames, cost), (options.live, live), (options.recording, recording),
                                (options.watch, watch)):
            if wanted:
                measure(folder, options, element)


if __name__ == '__main__':
    main()
