#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Images of the pages, from the photograph beside this file: make.py FOLDER

    found.jpg      two frames of a clip in which the rocket's nose is followed, with the template in a corner
    response.jpg   a frame, the response of the template, and what of it reaches the thresholds 0.5 and 0.7

The clip is a pan over the photograph with noise and changing brightness, so every true position is known;
a position that is off by more than a pixel ends this program with status 1. Needs NumPy and the built
elements: GST_PLUGIN_PATH_1_0=$PWD/build-demo/plugin docs/images/make.py docs/images
"""
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

import numpy as np

PHOTO, PHOTO_SIZE = pathlib.Path(__file__).resolve().parent / 'rocket.jpg', (640, 427)
NOSE = (296, 116, 56, 84)  # x, y, width, height in the photograph
VIEW = (408, 288)
FRAMES = 60
SHOWN = (8, FRAMES - 1)  # in found.jpg
THRESHOLDS = (0.5, 0.7)


def launch(line, folder):
    subprocess.run(['gst-launch-1.0', '-q', *shlex.split(line)], check=True, cwd=folder)


def photograph(path, size, folder):
    """Its pixels, height x width x 3; `size` is (width, height)."""
    launch(f"filesrc location='{path}' ! decodebin ! videoconvert ! video/x-raw,format=RGB,width={size[0]},"
           f'height={size[1]} ! filesink location=photo.rgb', folder)
    return np.fromfile(folder / 'photo.rgb', np.uint8).reshape(size[1], size[0], 3)


def raw_video(name, size):
    return f'filesrc location={name} ! rawvideoparse format=rgb width={size[0]} height={size[1]} ! videoconvert'


def write_image(pixels, path, encoder, folder):
    height, width, _ = pixels.shape
    np.ascontiguousarray(pixels).tofile(folder / 'image.rgb')
    launch(f"{raw_video('image.rgb', (width, height))} ! {encoder} ! filesink location='{path.resolve()}'", folder)


def cut(pixels, x, y, width, height):
    return pixels[y:y + height, x:x + width]


def pan(photo):
    """(frames, the true place of the nose in each)."""
    random = np.random.default_rng(11)
    frames, truth = [], []
    for t in np.linspace(0, 1, FRAMES):
        left, top = round(25 + 190 * t), round(5 + 100 * t * t)
        gain = 1 + 0.15 * np.sin(5 * t)
        view = cut(photo, left, top, *VIEW) * gain + random.normal(0, 4, (VIEW[1], VIEW[0], 3))
        frames.append(np.clip(view, 0, 255).astype(np.uint8))
        truth.append((NOSE[0] - left, NOSE[1] - top))
    return np.array(frames), truth


def check(lines, truth):
    assert len(lines) == len(truth), (len(lines), len(truth))
    for line, (x, y) in zip(lines, truth):
        (peak,) = json.loads(line)['peaks']
        assert not peak['lost'] and max(abs(peak['x'] - x), abs(peak['y'] - y)) < 1, (x, y, peak)


def found(template, frames, truth, path, folder):
    frames.tofile(folder / 'clip.rgb')
    launch(f"{raw_video('clip.rgb', VIEW)} ! cudaxcorr template=nose.png threshold=0.7 track=true tracker=template "
           'post-messages=false ! xcorrjson location=places.jsonl ! '
           'xcorroverlay line-width=5 font-desc="Sans 13px" trail-length=60 ! videoconvert ! '
           'video/x-raw,format=RGB ! filesink location=drawn.rgb', folder)
    check((folder / 'places.jsonl').read_text(encoding='utf-8').splitlines(), truth)
    first, second = np.fromfile(folder / 'drawn.rgb', np.uint8).reshape(frames.shape)[list(SHOWN)]
    height, width, _ = template.shape
    first[-height - 8:-4, 4:width + 8] = 255
    first[-height - 6:-6, 6:width + 6] = template
    gap = np.full((VIEW[1], 8, 3), 255, np.uint8)
    write_image(np.hstack([first, gap, second]), path, 'jpegenc quality=75', folder)


def response(frame, path, folder):
    frame.tofile(folder / 'frame.rgb')
    launch(f"{raw_video('frame.rgb', VIEW)} ! cudaxcorr name=match template=nose.png threshold=-1 ! fakesink "
           'match.response ! queue ! videoconvert ! video/x-raw,format=RGB ! filesink location=response.rgb', folder)
    scores = np.fromfile(folder / 'response.rgb', np.uint8).reshape(frame.shape)
    reached = [np.where(scores >= 255 * threshold, 255, 0).astype(np.uint8) for threshold in THRESHOLDS]
    across, down = (np.full((VIEW[1], 8, 3), 128, np.uint8), np.full((8, 2 * VIEW[0] + 8, 3), 128, np.uint8))
    rows = [np.hstack([frame, across, scores]), down, np.hstack([reached[0], across, reached[1]])]
    write_image(np.vstack(rows), path, 'jpegenc quality=75', folder)


def main():
    output = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        photo = photograph(PHOTO, PHOTO_SIZE, folder)
        template = cut(photo, *NOSE)
        write_image(template, folder / 'nose.png', 'pngenc', folder)
        frames, truth = pan(photo)
        found(template, frames, truth, output / 'found.jpg', folder)
        response(frames[0], output / 'response.jpg', folder)


if __name__ == '__main__':
    main()
