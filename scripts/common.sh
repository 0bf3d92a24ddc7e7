# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced by the scripts beside it, which set `root` first.
# shellcheck shell=bash disable=SC2034,SC2154

build=$root/build
meson_version=1.0.1

# Prints the path of the first meson that runs and is new enough: one on PATH can be a stand-in for
# an environment that is not active, so the distribution's own comes next.
find_meson() {
  local meson version
  for meson in $(type -aP meson) /usr/bin/meson; do
    version=$("$meson" --version 2>/dev/null) || continue
    if printf '%s\n' "$meson_version" "$version" | sort -CV; then
      echo "$meson"
      return 0
    fi
  done
  return 1
}
