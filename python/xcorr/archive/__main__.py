# SPDX-License-Identifier: LGPL-2.1-or-later
import sys

from ..command.main import main

sys.exit(main(["archive", *sys.argv[1:]]))
