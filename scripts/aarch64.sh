#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds the library, or the elements, for aarch64 with Debian's cross compiler, in build-aarch64, and runs their tests
# under QEMU: a sample of checkcorr's cases and the tests of the library, or those of the elements. What is missing for
# that is said in a sentence, with status 77.
#
#   scripts/aarch64.sh [MESON TEST ARGUMENT...]            by default the tests checkcorr-cpu and api
#   scripts/aarch64.sh --plugin [MESON TEST ARGUMENT...]   by default the elements' tests on the CPU
#
# What is needed, on Debian 12 and as root:
#
#   dpkg --add-architecture arm64 && apt-get update
#   apt-get install crossbuild-essential-arm64 qemu-user-static pkgconf:arm64 {libhwy,libkissfft,libtbb,libgtest}-dev:arm64
#
# and with --plugin, in a chroot, since the native development packages of GStreamer make way for these:
#
#   apt-get install {libgstreamer1.0,libgstreamer-plugins-base1.0,libjson-glib,libyaml,libpango1.0}-dev:arm64 \
#     gstreamer1.0-{plugins-base,plugins-good,libav}:arm64
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

folder=$root/build-aarch64
modules=(libhwy kissfft-float tbb gtest_main)
plugin=disabled
if [ "${1:-}" = --plugin ]; then
  shift
  plugin=enabled
  modules+=(gstreamer-check-1.0 gstreamer-video-1.0 json-glib-1.0 yaml-0.1 pangocairo)
fi
missing() { say "aarch64 is not tested: there is no $1; the head of scripts/aarch64.sh says what is needed"; exit 77; }

for tool in aarch64-linux-gnu-{g++,pkg-config} qemu-aarch64-static; do
  command -v "$tool" >/dev/null || missing "$tool"
done
for module in "${modules[@]}"; do
  aarch64-linux-gnu-pkg-config --exists "$module" || missing "$module for arm64"
done

# Debian's ccache has cross compilers in a folder of its own. Meson looks for it with native ones alone.
PATH=/usr/lib/ccache:$PATH
# As scripts/test.sh has it: tests end before optimisation would.
configure "$folder" --cross-file "$root/scripts/aarch64.ini" -Doptimization=1 -Dcuda=disabled -Dplugin="$plugin" \
  -Dsimt=disabled -Dexamples=false -Ddocs=disabled
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
[ $# -gt 0 ] || set -- "${tests[@]}"
status=0
"$meson" test -C "$folder" --no-rebuild --setup=full --print-errorlogs "$@" </dev/null || status=1
exec python3 "$root/scripts/count_tests.py" "$status" "$folder"/meson-logs/testlog-full.json
