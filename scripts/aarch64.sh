#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds the library for aarch64 with Debian's cross compiler, in build-aarch64, and runs its tests under QEMU: a sample
# of checkcorr's cases and the tests of the library. What is missing for that is said in a sentence, with status 77.
#
#   scripts/aarch64.sh [MESON TEST ARGUMENT...]     by default the tests checkcorr-cpu and api
#
# What is needed, on Debian 12 and as root:
#
#   dpkg --add-architecture arm64 && apt-get update
#   apt-get install crossbuild-essential-arm64 qemu-user-static pkgconf:arm64 {libhwy,libkissfft,libtbb,libgtest}-dev:arm64
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

folder=$root/build-aarch64
targets=(tests/checkcorr/checkcorr tests/api/test-api)
missing() { say "aarch64 is not tested: there is no $1; the head of scripts/aarch64.sh says what is needed"; exit 77; }

for tool in aarch64-linux-gnu-{g++,pkg-config} qemu-aarch64-static; do
  command -v "$tool" >/dev/null || missing "$tool"
done
for module in libhwy kissfft-float tbb gtest_main; do
  aarch64-linux-gnu-pkg-config --exists "$module" || missing "$module for arm64"
done

# Debian's ccache has cross compilers in a folder of its own. Meson looks for it with native ones alone.
PATH=/usr/lib/ccache:$PATH
# As scripts/test.sh has it: tests end before optimisation would.
configure "$folder" --cross-file "$root/scripts/aarch64.ini" -Doptimization=1 -Dcuda=disabled -Dplugin=disabled \
  -Dsimt=disabled -Dexamples=false -Ddocs=disabled
compile "$folder" "${targets[@]}"
[ $# -gt 0 ] || set -- checkcorr-cpu api
status=0
"$(find_meson)" test -C "$folder" --no-rebuild --setup=full --print-errorlogs "$@" </dev/null || status=1
exec python3 "$root/scripts/count_tests.py" "$status" "$folder"/meson-logs/testlog-full.json
