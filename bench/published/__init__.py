# SPDX-License-Identifier: LGPL-2.1-or-later
"""What paper.py is made of: `problems` (the paper's grid), `measuring` (checkcorr --bench on it), `results` (what was
measured, and what is published), `drawing` (figures), `writing` (tables)."""
