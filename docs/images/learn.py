#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `xcorr.learn_mask` makes of a drawn sign on photographs, for docs/template.md: learn.py FOLDER

    learn-mask.png  three samples of a round sign with another number and another light in each, and the first one as
                    the mask leaves it

Ends with an error unless the mask has nearly all of the sign round the number, and nothing of the ground. Needs the
package xcorr and Pillow.
"""
import pathlib
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import xcorr

IMAGES = pathlib.Path(__file__).resolve().parent
SIDE, FINE, SHOWN = 72, 4, 3  # pixels, parts of a pixel in drawings, times as large in the picture
GROUNDS = (('rocket.jpg', 60, 300), ('astronaut.jpg', 90, 60), ('gravel.jpg', 30, 30))
LIGHTS = ((1, 0), (0.7, 30), (0.85, 5))
NUMBER = (20, 25, 52, 47)  # where it is


def drawn(draw_on):
    """A plane of 0 to 1."""
    large = Image.new('L', (SIDE * FINE, SIDE * FINE))
    draw_on(ImageDraw.Draw(large))
    return np.asarray(large.resize((SIDE, SIDE), Image.Resampling.BOX)) / 255


def disc(radius):
    middle = SIDE * FINE / 2
    reach = radius * FINE
    return drawn(lambda pen: pen.ellipse([middle - reach, middle - reach, middle + reach, middle + reach], fill=255))


def number(text):
    font = ImageFont.load_default(24 * FINE)
    return drawn(lambda pen: pen.text((SIDE * FINE / 2, SIDE * FINE / 2), text, fill=255, font=font, anchor='mm'))


def samples():
    random = np.random.default_rng(1)
    for (name, left, top), (gain, offset), text in zip(GROUNDS, LIGHTS, ('30', '50', '70')):
        photograph = Image.open(IMAGES / name).convert('L').crop((left, top, left + SIDE, top + SIDE))
        sign = 40 + 190 * disc(27) - 190 * number(text)
        image = np.asarray(photograph) * (1 - disc(34)) + sign * disc(34)
        image = gain * image + offset + random.normal(0, 2, image.shape)
        yield np.clip(np.round(image), 0, 255).astype(np.uint8)


def enlarged(gray):
    return np.kron(gray, np.ones((SHOWN, SHOWN), np.uint8))


def main(folder):
    pictures = list(samples())
    mask = xcorr.learn_mask(pictures)
    left, top, right, bottom = NUMBER
    fixed = disc(33) == 1
    fixed[top - 1:bottom + 1, left - 1:right + 1] = False
    if mask[fixed].mean() < 0.9 * 255 or mask[disc(35) == 0].any():
        sys.exit(f'{mask[fixed].mean() / 255:.2f} of the sign, {(mask[disc(35) == 0] > 0).mean():.2f} of the ground')
    down, across = np.mgrid[:SIDE, :SIDE]
    checkered = np.where((down // 4 + across // 4) % 2, 205, 245).astype(np.uint8)
    panels = [*map(enlarged, pictures), enlarged(np.where(mask > 0, pictures[0], checkered))]
    gap = np.full((SIDE * SHOWN, 12), 255, np.uint8)
    shown = np.hstack([each for panel in panels for each in (panel, gap)][:-1])
    Image.fromarray(shown).save(pathlib.Path(folder) / 'learn-mask.png')


if __name__ == '__main__':
    main(*sys.argv[1:])
