# SPDX-License-Identifier: LGPL-2.1-or-later
"""How well targets are followed: sequences with ground truth, what follows them, and what is counted.

sequences reads frames and boxes, element runs cudaxcorr, opencv and pycftrackers trackers of others, measures compares
places with the truth. Boxes are x, y, width, height in pixels from the upper left corner, a row of four floats each;
NaN is "not in view" in the truth and "not seen" in what a tracker says.
"""
