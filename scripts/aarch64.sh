#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds the library, or the elements, for aarch64 with Debian's cross compiler, in build-aarch64, and runs their tests
# under QEMU: a sample of checkcorr's cases, with some of every variant, and every fifth test of the library, which are
# for what is the same on all processors; or the tests of the elements. What is missing for that is said, with status 77.
#
#   scripts/aarch64.sh [MESON TEST ARGUMENT...]            by default checkcorr-cpu and a fifth of api; all of api: api
#   scripts/aarch64.sh --plugin [MESON TEST ARGUMENT...]   by default the elements' tests on the CPU
#
# `scripts/test.sh --full` installs what the library's tests need. The elements' need a chroot with Debian 12: there the
# native development packages of GStreamer make way for those of arm64.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"

folder=$root/build-aarch64
plugin=disabled who=(arm64)
if [ "${1:-}" = --plugin ]; then
  shift
  plugin=enabled
  who+=(arm64-plugin)
fi
mapfile -t missing < <(missing_packages "${who[@]}")
if [ ${#missing[@]} -gt 0 ]; then
  say "aarch64 is not tested: packages are missing; as root: $(how_to_install "${missing[@]}")"
  exit 77
fi

# Debian's ccache has cross compilers in a folder of its own. Meson looks for it with native ones alone.
PATH=/usr/lib/ccache:$PATH
# As scripts/test.sh has it: tests end before optimisation would.
configure "$folder" --cross-file "$root/scripts/aarch64.ini" -Doptimization=1 -Dpch=true -Dcuda=disabled \
  -Dplugin="$plugin" -Dsimt=disabled -Dexamples=false -Ddocs=disabled
meson=$(find_meson)
if [ $plugin = enabled ]; then
  # QEMU takes no limit of memory, which the tests without memory set.
  mapfile -t tests < <("$meson" test -C "$folder" --no-rebuild --list | sed -n '/out of memory/d; s/^.* \/ \(plugin .* cpu\)$/\1/p')
  targets=(plugin/gstcudaxcorr)
  for name in "${tests[@]% cpu}"; do targets+=("tests/plugin/${name// /-}"); done
  # Its scanner of plugins is a program for aarch64, which does not start by itself.
  export GST_REGISTRY_FORK=no
else
  tests=(checkcorr-cpu api)
  targets=(tests/checkcorr/checkcorr tests/api/test-api)
fi
compile "$folder" "${targets[@]}"
if [ $# = 0 ]; then
  set -- "${tests[@]}"
  export GTEST_TOTAL_SHARDS=5 GTEST_SHARD_INDEX=0
fi
status=0
"$meson" test -C "$folder" --no-rebuild --setup=full --print-errorlogs "$@" </dev/null || status=1
exec python3 "$root/scripts/count_tests.py" "$status" "$folder"/meson-logs/testlog-full.json
