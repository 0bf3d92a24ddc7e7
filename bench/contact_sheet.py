#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A picture of what cudaxcorr says of sequences with ground truth: a row for each run, some frames of it.

    GST_PLUGIN_PATH_1_0=build/plugin bench/contact_sheet.py --output=sheet.jpg FOLDER...
    bench/contact_sheet.py --shown=0,40,60 --element='min-confidence=0.5' --output=sheet.jpg FOLDER
    bench/contact_sheet.py --bad=10 --starts=2 --frames=300 --output=bad.png FOLDER

A FOLDER is a sequence, and what the target is shown in is a frame of it, as for tracks.py. Frames are cut out round the
true box, which is green; the place that is claimed is orange. Below each is its number with the overlap of the two, or
that the place is lost, wrong (an overlap below 0.1) or claimed while the target is out of sight.

With --bad a row is a stretch of so many frames or more in which the place is lost or wrong: ten, three and one frame
before it, how it begins and how it ends. A line of CSV says the same of each. Needs Pillow.
"""
import argparse
import csv
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tracking import sequences
from tracking.element import Element
from tracking.measures import WRONG, overlaps, stretches
from tracking.sequences import Unusable

MARKS = (('true', '#40c057', 4), ('claimed', '#fd7e14', 2))  # of boxes: their colour and the width of their lines
PAPER, BEYOND, INK, BAD = '#ffffff', '#dee2e6', '#343a40', '#c92a2a'
AROUND = 4  # times the target's size is what a frame shows of it
LEAST = 60  # pixels that it shows at least
TEXT, GAP = 13, 6  # pixels of the sheet
BESIDE = (-10, -3, -1, 0, 3, 10)  # frames of a stretch, from its first one, that are shown beside its last one
COLUMNS = ('sequence', 'start', 'first', 'frames', 'lost', 'wrong', 'ends')


def font():
    try:
        return ImageFont.truetype('DejaVuSans.ttf', TEXT)
    except OSError:
        return ImageFont.load_default()


def numbers(text):
    return [int(number) for number in text.split(',')]


# ---- a frame ------------------------------------------------------------------------------------------


def said(box, true):
    """(the words below a frame, whether they tell of a fault)."""
    claimed = not np.isnan(box[0])
    if np.isnan(true[0]):
        return ('claimed unseen', True) if claimed else ('out of sight', False)
    if not claimed:
        return 'lost', True
    overlap = overlaps(box[None, :4], true[None])[0]
    return (f'{overlap:.2f}', False) if overlap >= WRONG else (f'wrong, {overlap:.2f}', True)


def tile(frame, middle, around, boxes, side):
    """`side` pixels squared: what lies up to `around` pixels from `middle`, with the boxes, those of MARKS, drawn."""
    low = np.rint(middle - around).astype(int)
    image = Image.new('RGB', (2 * around, 2 * around), BEYOND)
    image.paste(Image.fromarray(np.ascontiguousarray(frame[..., ::-1])), tuple(map(int, -low)))
    image = image.resize((side, side), Image.BICUBIC)
    draw, scale = ImageDraw.Draw(image), side / (2 * around)
    for box, (_, colour, width) in zip(boxes, MARKS):
        if not np.isnan(box[0]):
            x, y, w, h = scale * np.array([*(box[:2] - low), *box[2:4]])
            draw.rectangle((x, y, x + w, y + h), outline=colour, width=width)
    return image


# ---- a run --------------------------------------------------------------------------------------------


class Run:
    """What a tracker says of a sequence from a frame on."""

    def __init__(self, sequence, start, tracker):
        self.sequence, self.start = sequence, start
        self.boxes, _ = tracker.follow(sequence, start)
        self.truth = sequence.truth[start:]
        self.places = self.truth.copy()  # where it is or, while it is out of sight, was last
        for before, place in zip(self.places, self.places[1:]):
            if np.isnan(place[0]):
                place[:] = before

    def evenly(self, count):
        return [int(number) for number in np.rint(np.linspace(self.start, len(self.sequence.frames) - 1, count))]

    def tiles(self, shown, side):
        """(image, the words below it, their colour) of these frames."""
        around = int(max(LEAST, AROUND * np.median(self.places[np.array(shown) - self.start, 2:].max(axis=1))) / 2)
        for number in shown:
            x, y, w, h = self.places[number - self.start]
            true, box = self.truth[number - self.start], self.boxes[number - self.start]
            words, bad = said(box, true)
            yield (tile(self.sequence.frames[number], np.array([x + w / 2, y + h / 2]), around, (true, box), side),
                   f'{number}: {words}', BAD if bad else INK)

    def bad(self, least, table):
        """(its label, the frames to show) of each stretch, which `table` gets as well."""
        for one in stretches(self.boxes, self.truth, least):
            table.writerow([self.sequence.name, self.start, self.start + one.first, one.frames, one.lost, one.wrong,
                            'found again' if one.found else 'run'])
            beside = {one.last, *(one.first + frame for frame in BESIDE)}
            yield (f'{self.sequence.name} from {self.start}: {one.frames} frames',
                   [self.start + frame for frame in sorted(beside) if 0 <= frame < len(self.truth)])


def rows(options, sequence, tracker, table):
    """(label, tiles) of a sequence."""
    for start in sequence.starts(options.starts):
        run = Run(sequence.first(start + 1 + options.frames if options.frames else None), start, tracker)
        if options.bad:
            found = run.bad(options.bad, table)
        else:
            found = [(sequence.name if options.starts == 1 else f'{sequence.name} from {start}',
                      options.shown or run.evenly(options.columns))]
        for label, shown in found:
            if wanting := [number for number in shown if not 0 <= number - start < len(run.truth)]:
                raise Unusable(f'{sequence.name}: the run from frame {start} has no frame {wanting[0]}')
            yield label, list(run.tiles(shown, options.side))


# ---- the sheet ----------------------------------------------------------------------------------------


def sheet(labelled, side):
    """One image of (label, tiles) below each other."""
    line, written = TEXT + GAP, font()
    height, columns = side + 2 * line + GAP, max(len(tiles) for _, tiles in labelled)
    image = Image.new('RGB', (columns * (side + GAP) + GAP, len(labelled) * height + line + GAP), PAPER)
    draw = ImageDraw.Draw(image)
    for x, (word, colour, width) in zip((GAP, GAP + 8 * TEXT), MARKS):
        draw.rectangle((x, GAP, x + TEXT, GAP + TEXT), outline=colour, width=width)
        draw.text((x + TEXT + GAP, GAP - 1), word, INK, written)
    for index, (label, tiles) in enumerate(labelled):
        y = line + GAP + index * height
        draw.text((GAP, y), label, INK, written)
        for column, (picture, words, colour) in enumerate(tiles):
            x = GAP + column * (side + GAP)
            image.paste(picture, (x, y + line))
            draw.text((x, y + line + side + 2), words, colour, written)
    return image


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add('folders', nargs='+', metavar='FOLDER', help='a sequence')
    add('--output', required=True, metavar='FILE', help='the picture, of a kind that Pillow writes')
    add('--shown', type=numbers, metavar='N,N...', help='these frames; default: evenly from the start to the end')
    add('--columns', type=int, default=6, metavar='N', help='how many frames without --shown; default 6')
    add('--bad', type=int, metavar='N', help='a row for each stretch of so many lost or wrong frames instead')
    add('--starts', type=int, default=1, metavar='N', help='runs a sequence, as of tracks.py; default 1')
    add('--frames', type=int, metavar='N', help='of a run at most, after the first; default: to the end')
    add('--side', type=int, default=150, metavar='PIXELS', help='of a frame in the picture; default 150')
    add('--element', default='', metavar='PROPERTIES', help='cudaxcorr with these. Default: none')
    add('--truth', choices=sequences.FORMATS, help='what the numbers of four are; default: told from them')
    return parser.parse_args()


def main():
    options = parse()
    tracker, table = Element(options.element), csv.writer(sys.stdout, lineterminator='\n')
    try:
        if options.bad:
            table.writerow(COLUMNS)
        labelled = [row for folder in options.folders
                    for row in rows(options, sequences.read(folder, options.truth), tracker, table)]
        if not labelled:
            raise Unusable('there is nothing to show')
        sheet(labelled, options.side).save(options.output, quality=80)
    except (OSError, Unusable) as why:
        print(f'contact_sheet: {why}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
