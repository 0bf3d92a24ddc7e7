#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Installs what is missing and builds everything, tests included, into build/. Quick when there is
# nothing to do.
#
#   scripts/setup.sh [MESON OPTION...]   such as -Dgpu_archs=90 or -Dcuda=disabled
#   scripts/setup.sh --configure         all but the build
#   scripts/setup.sh --check             says which packages are missing; changes nothing
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"

who=(demo tests)
if ! have_nvcc; then
  say "the CUDA backend is left out: $no_nvcc"
elif gpus >/dev/null; then
  who+=(gpu)
else
  say "the CUDA backend is built, but its tests on a GPU are skipped: there is no NVIDIA GPU here"
fi

if [ "${1:-}" = --check ]; then
  mapfile -t missing < <(missing_packages "${who[@]}")
  [ ${#missing[@]} = 0 ] || { say "missing packages: ${missing[*]}"; exit 1; }
  say "nothing is missing"
  exit 0
fi
install_packages "${who[@]}"

build=1
if [ "${1:-}" = --configure ]; then
  build=
  shift
fi
configure "$root/build" "$@"
[ -z "$build" ] || compile "$root/build"
