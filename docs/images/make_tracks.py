#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""tracks.jpg: a target in the photographs beside this file that turns, grows, hides, leaves and comes back, and what
tracker=filter says of it: make_tracks.py FOLDER [SEQUENCE]

SEQUENCE is a folder for its frames and their true boxes, for the programs in bench/ that read sequences.
Every true place is known. A place that is claimed while the target is hidden or away, one that misses it, or too few
that are found end this program with status 1. Needs what make.py needs.
"""
import json
import pathlib
import sys
import tempfile

import numpy as np

from make import PHOTO, PHOTO_SIZE, VIEW, cut, launch, photograph, raw_video, write_image

ASTRONAUT, ASTRONAUT_SIZE = PHOTO.with_name('astronaut.jpg'), (256, 256)
HEAD = (78, 6, 68, 72)  # x, y, width, height in that photograph
POST = (282, 96, 84, 288)  # in PHOTO: what the target hides behind
POST_LEFT = 170  # in the view
FRAMES = 130
SHOWN = (0, 16, 27, 42, 62, 84, 100, 126)  # what happens there is said below the image in docs/tracking.md
COLUMNS = 4
TOLERANCE = 6  # pixels, of the middle
LEAST_FOUND = 0.8  # of the frames that show it whole
OUT_OF_SIGHT = 0.15  # of its width, at most


def pose(frame):
    """(x, y of the middle, degrees, scale)."""
    x = 60 + 4 * frame if frame < 105 else 60 + 4 * (frame - 105)
    y = 120 + 40 * np.sin(frame / 18)
    return x, y, 15 * np.sin(frame / 17.5), 1 + 0.15 * np.sin(frame / 17.5)


def put(view, image, x, y, degrees, scale):
    """Draws the image with its middle there, bilinearly."""
    height, width, _ = image.shape
    rows, columns = np.mgrid[:view.shape[0], :view.shape[1]]
    turn = np.exp(1j * np.radians(degrees)) / scale
    place = ((columns - x) + 1j * (rows - y)) * turn + ((width - 1) + 1j * (height - 1)) / 2
    inside = (place.real >= 0) & (place.real < width - 1) & (place.imag >= 0) & (place.imag < height - 1)
    place = place[inside]
    left, top = place.real.astype(int), place.imag.astype(int)
    across, down = (place.real - left)[:, None], (place.imag - top)[:, None]
    view[inside] = ((1 - down) * ((1 - across) * image[top, left] + across * image[top, left + 1]) +
                    down * ((1 - across) * image[top + 1, left] + across * image[top + 1, left + 1]))


def share_in_view(frame):
    """Of the target's width."""
    x, _, _, scale = pose(frame)
    half = HEAD[2] * scale / 2
    seen = min(x + half, VIEW[0]) - max(x - half, 0)
    hidden = min(x + half, POST_LEFT + POST[2]) - max(x - half, POST_LEFT)
    return round(max(0, seen - max(0, hidden)) / (2 * half), 6)


def clip(photo, head):
    random = np.random.default_rng(5)
    post, frames = cut(photo, *POST), []
    for frame in range(FRAMES):
        view = cut(photo, 30 + frame // 2, 80, *VIEW).astype(float)
        put(view, head, *pose(frame))
        view[:, POST_LEFT:POST_LEFT + POST[2]] = post
        view = view * (1 + 0.1 * np.sin(frame / 9)) + random.normal(0, 4, view.shape)
        frames.append(np.clip(view, 0, 255).astype(np.uint8))
    return np.array(frames)


def check(lines):
    """No claim while it is out of sight, none beside it, and most of the frames that show all of it."""
    whole = seen = 0
    for frame, line in enumerate(lines):
        x, y, _, _ = pose(frame)
        found = [peak for peak in json.loads(line)['peaks'] if not peak['lost']]
        for peak in found:
            off = np.hypot(peak['center-x'] - x, peak['center-y'] - y)
            assert share_in_view(frame) > OUT_OF_SIGHT, frame
            assert off < TOLERANCE + 30 * (share_in_view(frame) < 1), (frame, off)
        whole += share_in_view(frame) == 1
        seen += share_in_view(frame) == 1 and len(found) == 1
    assert seen >= LEAST_FOUND * whole, (seen, whole)


def sheet(drawn, path, folder):
    tiles = [np.pad(drawn[frame], ((2, 2), (2, 2), (0, 0)), constant_values=255) for frame in SHOWN]
    rows = [np.hstack(tiles[at:at + COLUMNS]) for at in range(0, len(tiles), COLUMNS)]
    write_image(np.vstack(rows), path, 'jpegenc quality=60', folder)


def write_sequence(sequence, folder):
    """PNG files of the clip and groundtruth.txt: x, y, width, height, upright; NaN where less than half of it is in
    view."""
    sequence.mkdir(parents=True, exist_ok=True)
    launch(f"{raw_video('clip.rgb', VIEW)} ! pngenc ! multifilesink location='{sequence.resolve()}/%04d.png'", folder)
    with open(sequence / 'groundtruth.txt', 'w', encoding='utf-8') as truth:
        for frame in range(FRAMES):
            x, y, _, scale = pose(frame)
            width, height = HEAD[2] * scale, HEAD[3] * scale
            box = (x - width / 2, y - height / 2, width, height) if share_in_view(frame) >= 0.5 else 4 * [np.nan]
            print(*(f'{number:.2f}' for number in box), sep=',', file=truth)


def main():
    output = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        photo = photograph(PHOTO, PHOTO_SIZE, folder)
        head = cut(photograph(ASTRONAUT, ASTRONAUT_SIZE, folder), *HEAD)
        write_image(head, folder / 'head.png', 'pngenc', folder)
        frames = clip(photo, head)
        frames.tofile(folder / 'clip.rgb')
        if len(sys.argv) > 2:
            write_sequence(pathlib.Path(sys.argv[2]), folder)
        launch(f"{raw_video('clip.rgb', VIEW)} ! cudaxcorr template=head.png track=true tracker=filter "
               'post-messages=false ! xcorrjson location=places.jsonl ! xcorroverlay line-width=5 '
               'font-desc="Sans 14px" ! videoconvert ! video/x-raw,format=RGB ! filesink location=drawn.rgb', folder)
        check((folder / 'places.jsonl').read_text(encoding='utf-8').splitlines())
        sheet(np.fromfile(folder / 'drawn.rgb', np.uint8).reshape(frames.shape), output / 'tracks.jpg', folder)


if __name__ == '__main__':
    main()
