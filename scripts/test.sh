#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sets up, then runs every test, those of the GPU too where there is one. The last line is
# `N passed, N failed, N skipped`, the cases inside a test program counted one by one.
#
#   scripts/test.sh [--quick]   --quick: without what takes long (see tests/meson.build), and without
#                               the build of what only that needs
set -uo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
case ${1:-} in
  '') setup=() tests=(--no-rebuild) ;;
  --quick) setup=(--configure) tests=(--setup=quick) ;;
  *) say "unknown argument: $1"; exit 2 ;;
esac
"$root/scripts/setup.sh" "${setup[@]}" || exit 1

logs=$root/build/meson-logs
rm -f "$logs"/testlog*
"$(find_meson)" test -C "$root/build" "${tests[@]}" --print-errorlogs </dev/null
status=$?
# Its name says which tests were chosen.
exec python3 "$root/scripts/count_tests.py" "$logs"/testlog*.json "$status"
