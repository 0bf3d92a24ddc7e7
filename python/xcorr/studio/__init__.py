# SPDX-License-Identifier: LGPL-2.1-or-later
"""`xcorr studio`: a page in the browser where templates are cut, and found in the running picture."""
