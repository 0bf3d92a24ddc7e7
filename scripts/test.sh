#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sets up, then runs every test, those of the GPU too where there is one. The last line is
# `N passed, N failed, N skipped`, the cases inside a test program counted one by one.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/scripts/common.sh"
"$root/scripts/setup.sh" || exit 1

meson=$(find_meson)
results=$build/meson-logs/testlog.json
rm -f "$results"
"$meson" test -C "$build" --no-rebuild --print-errorlogs </dev/null
status=$?
exec python3 "$root/scripts/count_tests.py" "$results" "$status"
