# SPDX-License-Identifier: LGPL-2.1-or-later
import sys

from ..command.main import main

if __name__ == "__main__":
    sys.exit(main(["fleet", *sys.argv[1:]]))
