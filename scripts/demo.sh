#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sets up, then runs the demo: a clip and a template made on the spot, the template followed
# through the clip, also when it hides for a second, each position compared with the true one. Fails
# when a place is off by more than a pixel or the target is not found again under the same id. Leaves
# a clip with what was found drawn into it, and a contact sheet of that.
#
#   scripts/demo.sh [--backend=auto|cpu|cuda] [--frames=N] [--out=FOLDER]
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/scripts/common.sh"
"$root/scripts/setup.sh"

export GST_PLUGIN_PATH_1_0=$build/plugin${GST_PLUGIN_PATH_1_0:+:$GST_PLUGIN_PATH_1_0}
exec "$build/examples/demo" --out="$build/demo" "$@"
