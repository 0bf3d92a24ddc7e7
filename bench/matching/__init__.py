# SPDX-License-Identifier: LGPL-2.1-or-later
"""What calibrate_matches.py measures with: `cases` (frames in which a part is, is several times, or is not)."""
