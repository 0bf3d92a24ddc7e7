# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command xcorr-field: displacement fields of images, folders and videos, into files and plots."""
