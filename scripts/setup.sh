#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Installs what is missing and builds everything, tests included, into build/. Quick when there is
# nothing to do.
#
#   scripts/setup.sh [MESON OPTION...]   such as -Dgpu_archs=90 or -Dcuda=disabled
#   scripts/setup.sh --check             says which packages are missing; changes nothing
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"

mapfile -t who < <(needed_packages)

if [ "${1:-}" = --check ]; then
  mapfile -t missing < <(missing_packages "${who[@]}")
  [ ${#missing[@]} = 0 ] || { say "missing packages: ${missing[*]}"; exit 1; }
  say "nothing is missing"
  exit 0
fi
install_packages "${who[@]}"

configure "$root/build" "$@"
compile "$root/build"
