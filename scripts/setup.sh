#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Installs what is missing and builds into build/. Quick when there is nothing to do.
#
#   scripts/setup.sh [MESON OPTION...]   such as -Dgpu_archs=90 or -Dcuda=disabled
#   scripts/setup.sh --check             says which packages are missing; changes nothing
#
# What dpkg does not know may still be there (another distribution, a GStreamer of one's own), so
# each package has a second test: the tool, pkg-config module, header or GStreamer element it is for.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/scripts/common.sh"

# package | test | what for. A test with commas passes when one of its names is there.
packages='
g++                              | tool:g++,c++,clang++        | the compiler
pkg-config                       | tool:pkg-config             | finds the libraries
ninja-build                      | tool:ninja                  | runs the build
meson                            | tool:meson                  | the build system
libhwy-dev                       | module:libhwy               | Highway: SIMD of the CPU backend
libkissfft-dev                   | module:kissfft-float        | KissFFT: FFT of the CPU backend
libtbb-dev                       | module:tbb                  | oneTBB: threads of the CPU backend
libgstreamer1.0-dev              | module:gstreamer-check-1.0  | GStreamer core and its test library
libgstreamer-plugins-base1.0-dev | module:gstreamer-app-1.0    | video formats, ROI metas, appsrc
libjson-glib-dev                 | module:json-glib-1.0        | JSON-GLib: xcorrjson
libpango1.0-dev                  | module:pangocairo           | Pango and Cairo: xcorroverlay
gstreamer1.0-tools               | tool:gst-launch-1.0         | gst-launch-1.0, gst-inspect-1.0
gstreamer1.0-plugins-base        | element:decodebin           | decodebin, videoconvert, videotestsrc
gstreamer1.0-plugins-good        | element:qtdemux             | PNG and JPEG templates, MP4, RTSP, v4l2
gstreamer1.0-plugins-ugly        | element:x264enc             | the demo encodes its clip
gstreamer1.0-libav               | element:avdec_h264,openh264dec,nvh264dec | H.264 video, BMP templates
libgtest-dev                     | module:gtest_main           | GoogleTest: tests of the library
libboost-context-dev             | header:boost/context/fiber.hpp | Boost.Context: tests of the CUDA kernels on the CPU
'

say() { echo "setup: $*" >&2; }

has_tool() {
  case $1 in
    meson) find_meson >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

has_any() {  # KIND:NAME[,NAME...]
  local name names
  IFS=, read -r -a names <<<"${1#*:}"
  for name in "${names[@]}"; do
    case $1 in
      tool:*) has_tool "$name" ;;
      module:*) pkg-config --exists "$name" ;;
      header:*) echo "#include <$name>" | c++ -E -x c++ - >/dev/null ;;
      element:*) gst-inspect-1.0 --exists "$name" ;;
    esac 2>/dev/null && return 0
  done
  return 1
}

# Prints the packages that are missing, one a line.
missing_packages() {
  local installed=' ' package test rest
  if command -v dpkg-query >/dev/null; then
    installed=" $(dpkg-query -W -f='${Package}:${db:Status-Status} ' 2>/dev/null) "
  fi
  while IFS='|' read -r package test rest; do
    package=${package// /} test=${test// /}
    [ -n "$package" ] || continue
    [[ $installed == *" $package:installed "* ]] || has_any "$test" || echo "$package"
  done <<<"$packages"
}

# Prints the words that run a command as root; fails where that right is missing.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    echo env
  elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    echo sudo env
  else
    return 1
  fi
}

install_packages() {
  local prefix apt
  if ! command -v apt-get >/dev/null; then
    say "missing packages: $*"
    say "there is no apt-get here: install them, or what they provide, by other means"
    return 1
  fi
  if ! prefix=$(as_root); then
    say "missing packages: $*"
    say "no right to install them; as root: apt-get install --no-install-recommends $*"
    return 1
  fi
  say "installing $*"
  read -r -a apt <<<"$prefix"
  apt+=(DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update >&2 || say "the package lists could not be updated; trying with the old ones"
  "${apt[@]}" install -y --no-install-recommends "$@" >&2 || {
    say "apt-get could not install: $*"
    return 1
  }
}

# After the checkout was moved or copied the build folder belongs to another place: make it anew.
configure() {
  local meson=$1
  shift
  if [ ! -f "$build/build.ninja" ]; then
    "$meson" setup "$build" "$root" "$@"
  elif ! grep -qF "\"$root\"" "$build/meson-info/meson-info.json"; then
    "$meson" setup --wipe "$build" "$root" "$@"
  elif [ $# -gt 0 ]; then
    "$meson" configure "$build" "$@"
  fi
}

mapfile -t missing < <(missing_packages)
if [ "${1:-}" = --check ]; then
  [ ${#missing[@]} = 0 ] || { say "missing packages: ${missing[*]}"; exit 1; }
  say "nothing is missing"
  exit 0
fi
[ ${#missing[@]} = 0 ] || install_packages "${missing[@]}" || exit 1

meson=$(find_meson) || { say "meson $meson_version or newer is missing"; exit 1; }
{ configure "$meson" "$@" && "$meson" compile -C "$build"; } >&2 </dev/null || {
  say "the build failed"
  exit 1
}
