#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Where GLib and GStreamer are not to be found the library is configured alone, with its tests, and
# its largest header compiles; who insists on the elements is told what is missing.
#
#   library_alone.sh MESON SOURCE
set -euo pipefail

meson=$1 source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Nothing is found but what the library needs.
mkdir "$folder/modules"
for module in libhwy tbb kissfft-float gtest gtest_main; do
  cp "$(pkg-config --variable=pcfiledir "$module")/$module.pc" "$folder/modules"
done
export PKG_CONFIG_LIBDIR=$folder/modules
unset PKG_CONFIG_PATH
options=(-Dcuda=disabled)

says() { grep -qE "$1" "$folder/said" || { cat "$folder/said"; echo "FAIL: no line like $1"; exit 1; }; }

if "$meson" setup "$folder/refused" "$source" "${options[@]}" -Dplugin=enabled >"$folder/said" 2>&1; then
  echo "FAIL: -Dplugin=enabled is content without GStreamer"
  exit 1
fi
says 'ERROR: .*gstreamer-1.0.* not found'

"$meson" setup "$folder/build" "$source" "${options[@]}" >"$folder/said"
says 'GStreamer elements *: no, gstreamer-1.0 is missing'
"$meson" compile -C "$folder/build" header-match >"$folder/said" 2>&1 || { cat "$folder/said"; exit 1; }
