# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command `xcorr`: one file a subcommand, `main` chooses."""
