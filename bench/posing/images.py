# SPDX-License-Identifier: LGPL-2.1-or-later
"""Photographs as functions of the place, and pixels as their means over areas.

Between its pixels a photograph is bilinear: that is what the scene is, so nothing that looks for it there has to agree
about it. Centres of pixels have whole coordinates, angles are in degrees and counter-clockwise as seen.
"""
import numpy as np

LUMA = (0.299, 0.587, 0.114)


def photographs():
    """{name: gray, as float32} of those that come with scikit-image."""
    import skimage.data  # pylint: disable=import-outside-toplevel
    names = ('astronaut', 'brick', 'camera', 'cell', 'chelsea', 'coffee', 'coins', 'grass', 'gravel',
             'hubble_deep_field', 'moon', 'page', 'retina', 'rocket', 'text')
    return {name: gray(getattr(skimage.data, name)()) for name in names}


def gray(image):
    image = np.asarray(image, np.float32)
    return image[..., :3] @ np.array(LUMA, np.float32) if image.ndim == 3 else image


def at(photograph, x, y):
    """Its values at places; beyond its border those of the border."""
    height, width = photograph.shape
    x, y = np.clip(x, 0, width - 1), np.clip(y, 0, height - 1)
    left, top = np.minimum(x.astype(int), width - 2), np.minimum(y.astype(int), height - 2)
    u, v = x - left, y - top
    first = top * width + left
    values = photograph.ravel()
    upper = values[first] * (1 - u) + values[first + 1] * u
    lower = values[first + width] * (1 - u) + values[first + width + 1] * u
    return upper * (1 - v) + lower * v


def seen_from(center, pose, x, y):
    """Places (x, y) of a frame, relative to the centre of what lies in it at a pose (x, y, angle, scale), in its own
    axes, plus `center`."""
    pose_x, pose_y, angle, scale = pose
    cosine, sine = np.cos(np.deg2rad(angle)) / scale, np.sin(np.deg2rad(angle)) / scale
    x, y = x - pose_x, y - pose_y
    return cosine * x - sine * y + center[0], sine * x + cosine * y + center[1]


def samples(width, height, across):
    """Of each pixel `across` times `across` places, spread evenly: yields (x, y) of all pixels."""
    steps = (np.arange(across) + 0.5) / across - 0.5
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    for down in steps:
        for right in steps:
            yield x + right, y + down


def to_bytes(image):
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)
