# SPDX-License-Identifier: LGPL-2.1-or-later
"""`python -m xcorr.field` and xcorr-field are `xcorr field`."""
from __future__ import annotations

import sys
from typing import Sequence

from ..command import main as xcorr


def main(arguments: Sequence[str] | None = None) -> int:
    return xcorr.main(["field", *(sys.argv[1:] if arguments is None else arguments)])


if __name__ == "__main__":
    sys.exit(main())
