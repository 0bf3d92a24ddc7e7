# SPDX-License-Identifier: LGPL-2.1-or-later
"""What poses.py measures with: `images` (photographs as functions of the place), `scenes` (frames with parts of known
pose), `shifts` (frames moved by quarters of a pixel), `judge` (what was found against what is there)."""
