# SPDX-License-Identifier: LGPL-2.1-or-later
"""Targets with their surroundings to train channels with, see learn_channels.py: cut out of sequences, or made."""
import io
import math
import zipfile

import numpy as np
from PIL import Image

try:
    import torch
    import torch.nn.functional as functional

    from torch_tracker import WINDOW
except ImportError:
    torch = None  # what cuts does without

CROP, CROP_WIDTH = 224, 5.6  # pixels, and times the target's side: a pixel of a crop is one of a window
MOST_CROPS = 60  # of a sequence
LEAST_AREA, QUALITY = 64, 82  # pixels of a target; of JPEG
TEXTURE_CROPS, TEXTURE_GAP = 14, 5  # of a made sequence, frames from one to the next
FINEST, COARSEST = 0.7, 6  # pixels of a window: the deviation of what smooths a texture


def cut_out(frame, box):
    """(a crop with the target in its middle as a JPEG, the target's middle and size in it)."""
    x, y, width, height = box
    side = CROP_WIDTH * math.sqrt(width * height)
    left, top, pixels = round(x + (width - side) / 2), round(y + (height - side) / 2), round(side)
    rows, columns = (np.arange(first, first + pixels).clip(0, end - 1)
                     for first, end in zip((top, left), frame.shape[:2]))
    image = Image.fromarray(frame[np.ix_(rows, columns)][..., ::-1].copy())
    file = io.BytesIO()
    image.resize((CROP, CROP), Image.BOX if pixels > CROP else Image.BICUBIC).save(file, 'JPEG', quality=QUALITY)
    return file.getvalue(), np.array([x + width / 2 - left, y + height / 2 - top, width, height]) * CROP / pixels


def chosen(sequence, rng):
    """Frames that show the target: all, or some that lie about evenly."""
    low, size = np.split(sequence.truth, 2, axis=1)
    seen = (low + size / 2 >= 0) & (low + size / 2 <= sequence.frames[0].shape[1::-1])
    frames = np.flatnonzero(seen.all(axis=1) & (size.prod(axis=1) >= LEAST_AREA))
    if len(frames) <= MOST_CROPS:
        return frames
    aside = rng.uniform(-0.4, 0.4, MOST_CROPS) * len(frames) / MOST_CROPS
    places = (np.linspace(0, len(frames) - 1, MOST_CROPS) + aside).clip(0, len(frames) - 1)
    return frames[np.unique(places.round().astype(int))]


def load(path, names):
    """{name: array} of what this program has written."""
    try:
        with np.load(path) as file:
            return {name: file[name] for name in names}
    except (KeyError, ValueError, zipfile.BadZipFile) as why:
        raise ValueError(f'{path}: {why}') from None


class Crops:
    """Images, boxes by middle and size, frames' numbers; `members`: {sequence: its crops, in the order of frames}."""

    def __init__(self, paths):
        images, boxes, frames, self.members = [], [], [], {}
        for path in paths:
            found = load(path, ('name', 'frame', 'box', 'length', 'jpegs'))
            jpegs = np.split(found['jpegs'], np.cumsum(found['length'])[:-1])
            for jpeg, name in zip(jpegs, found['name']):
                self.members.setdefault(str(name), []).append(len(images))
                images.append(np.asarray(Image.open(io.BytesIO(jpeg)).convert('RGB')).transpose(2, 0, 1))
            boxes.append(found['box'])
            frames.append(found['frame'])
        self.members = {name: np.array(members) for name, members in self.members.items()}
        self.images, self.boxes = torch.as_tensor(np.stack(images)), torch.as_tensor(np.concatenate(boxes))
        self.frames = np.concatenate(frames)

    def add_textures(self, prefix, count):
        """Sequences that are made: a texture moves over another one, or over a picture."""
        first, images, boxes = len(self.images), [self.images], [self.boxes]
        for number in range(count):
            picture = self.images[torch.randint(first, (1,))].float() if torch.rand(()) < 0.3 else None
            crops, box = moving_texture(picture)
            images.append(crops)
            boxes.append(box.expand(TEXTURE_CROPS, 4))
            self.members[f'{prefix}{number}'] = first + number * TEXTURE_CROPS + np.arange(TEXTURE_CROPS)
        self.images, self.boxes = torch.cat(images), torch.cat(boxes)
        self.frames = np.concatenate([self.frames, np.tile(np.arange(TEXTURE_CROPS) * TEXTURE_GAP, count)])

    def windows(self, crops, shift, matrix):
        """Windows of crops: their middles are `shift` pixels from the target's, and by a matrix of two rows each they
        are wider than the target has them, turned and mirrored."""
        matrix = torch.cat([WINDOW / CROP * matrix, ((self.boxes[crops, :2] + shift) / (CROP / 2) - 1)[:, :, None]], 2)
        return resampled(self.images[crops].float(), matrix)


def resampled(images, matrix):
    """Windows of images by matrices of two rows of three numbers, in units of half an image."""
    grid = functional.affine_grid(matrix, (len(images), 3, WINDOW, WINDOW), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode='border', align_corners=False)


def uniform(shape, low, high):
    return low + (high - low) * torch.rand(shape)


def texture(height, width, deviation, colored):
    """Random numbers, smoothed; their mean and contrast are random, too."""
    reach = math.ceil(3 * deviation)
    weights = torch.exp(-torch.arange(-reach, reach + 1).square() / (2 * deviation ** 2))
    values = torch.randn(3 if colored else 1, 1, height + 2 * reach, width + 2 * reach)
    values = functional.conv2d(functional.conv2d(values, weights.view(1, 1, 1, -1)), weights.view(1, 1, -1, 1))[:, 0]
    values = values / values.std() * math.exp(uniform((), math.log(12), math.log(60))) + uniform((), 60, 190)
    return values.expand(3, height, width)


def moving_texture(picture):
    """(crops, the box in each): a rectangle of a texture over another one or over the picture."""
    stretched = math.exp(uniform((), -0.25, 0.25))  # the square root of the target's width by its height
    width, height = (round(CROP / CROP_WIDTH * side) for side in (stretched, 1 / stretched))
    deviation, other = (FINEST * (COARSEST / FINEST) ** torch.rand(()).item() for _ in range(2))
    colored = torch.rand(()) < 0.4
    target = texture(height, width, deviation, colored)
    away = uniform(2, -3, 3) * TEXTURE_GAP * torch.arange(TEXTURE_CROPS)[:, None]  # of the ground, from the target
    away = (away - away.amin(0)).round().int()
    size = (away.amax(0) + CROP).tolist()
    if picture is None:
        ground = texture(*size, deviation if torch.rand(()) < 0.5 else other, colored)
    else:
        ground = functional.interpolate(picture, size=size, mode='bilinear')[0]
    crops = torch.stack([ground[:, y:y + CROP, x:x + CROP] for y, x in away.tolist()])
    left, top = (CROP - width) // 2, (CROP - height) // 2
    crops[:, :, top:top + height, left:left + width] = target
    return crops.clamp(0, 255).byte(), torch.tensor([left + width / 2, top + height / 2, width, height])
