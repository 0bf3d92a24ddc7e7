#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where a part of a photograph is, how sure that is, and the same part turned and scaled.

    find.py PHOTOGRAPH IMAGE

Needs scikit-image and Matplotlib besides xcorr. The image for docs/python.md is made of docs/images/rocket.jpg.
"""
import sys

import matplotlib.patches as patches
import matplotlib.pyplot as plt
import numpy as np
import skimage.io
import skimage.transform

import xcorr

photograph, image = sys.argv[1:]

# Gray, as 8-bit numbers: their scores are exact.
colour = skimage.io.imread(photograph)
gray = np.rint(colour @ [0.299, 0.587, 0.114]).astype(np.uint8)
part = gray[118:178, 308:338]

# ---- one image, one template: as scikit-image's function ------------------------------------------
response = xcorr.match_template(gray, part)
y, x = np.unravel_index(response.argmax(), response.shape)
print(f"upright: at {x}, {y}, score {response.max():.4f}")

# ---- at any angle and size ----------------------------------------------------------------------------
turned = skimage.transform.rotate(gray, 40, resize=True, mode="edge", preserve_range=True)
turned = np.rint(skimage.transform.rescale(turned, 0.9, preserve_range=True)).astype(np.uint8)
matcher = xcorr.Matcher([part], threshold=0.7, device="auto",
                        poses=xcorr.Poses(angle_extent=90, scale_min=0.85, scale_max=1.0))
pose = matcher.match(turned)[0]["pose"]
print(f"turned: by {pose['angle']:.1f} degrees, scaled by {pose['scale']:.3f}, on the {matcher.device}")

# ---- drawn --------------------------------------------------------------------------------------------
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
axes[0].imshow(gray, cmap="gray")
axes[0].add_patch(patches.Rectangle((x - 0.5, y - 0.5), part.shape[1], part.shape[0], fill=False, color="red"))
axes[0].set_title("found upright")
axes[1].imshow(response, cmap="viridis", vmin=-1, vmax=1)
axes[1].set_title("what every place scores")
axes[2].imshow(turned, cmap="gray")
axes[2].add_patch(patches.Rectangle((pose["center_x"] - pose["width"] / 2, pose["center_y"] - pose["height"] / 2),
                                pose["width"], pose["height"], angle=-pose["angle"], rotation_point="center",
                                fill=False, color="red"))
axes[2].set_title(f"turned by {pose['angle']:.1f}°, scaled by {pose['scale']:.2f}")
for axis in axes:
    axis.axis("off")
figure.savefig(image, dpi=80)
