# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced after common.sh: the Debian packages that are needed, and their installation.
#
# What dpkg does not know may still be there (another distribution, a GStreamer of one's own), so
# each package has a second test: the tool, pkg-config module (`arm64:` one for aarch64), header, file, Python module or
# GStreamer element it is for.
# shellcheck shell=bash

# who needs it | package | test | what for. A test with commas passes when one of its names is there.
packages='
demo  | g++                              | tool:g++,c++,clang++        | the compiler
demo  | pkg-config                       | tool:pkg-config             | finds the libraries
demo  | ninja-build                      | tool:ninja                  | runs the build
demo  | meson                            | tool:meson                  | the build system
demo  | libhwy-dev                       | module:libhwy               | Highway: SIMD of the CPU backend
demo  | libkissfft-dev                   | module:kissfft-float        | KissFFT: FFT of the CPU backend
demo  | libtbb-dev                       | module:tbb                  | oneTBB: threads of the CPU backend
demo  | libgstreamer1.0-dev              | module:gstreamer-check-1.0  | GStreamer core and its test library
demo  | libgstreamer-plugins-base1.0-dev | module:gstreamer-app-1.0    | video formats, ROI metas, appsrc
demo  | libjson-glib-dev                 | module:json-glib-1.0        | JSON-GLib: xcorrjson
demo  | libpango1.0-dev                  | module:pangocairo           | Pango and Cairo: xcorroverlay
demo  | libyaml-dev                      | module:yaml-0.1             | libyaml: settings of single templates
demo  | zlib1g-dev                       | module:zlib                 | zlib: .npz files of xcorrjson
demo  | gstreamer1.0-tools               | tool:gst-launch-1.0         | gst-launch-1.0, gst-inspect-1.0
demo  | gstreamer1.0-plugins-base        | element:decodebin           | decodebin, videoconvert, videotestsrc
demo  | gstreamer1.0-plugins-good        | element:qtdemux             | PNG and JPEG templates, MP4, RTSP, v4l2
demo  | gstreamer1.0-plugins-ugly        | element:x264enc             | the demo encodes its clip
demo  | gstreamer1.0-libav               | element:avdec_h264,openh264dec,nvh264dec | H.264 video, BMP templates
tests | ccache                           | tool:ccache                 | nothing is compiled twice
tests | libgtest-dev                     | module:gtest_main           | GoogleTest: tests of the library
tests | libboost-context-dev             | header:boost/context/fiber.hpp | Boost.Context: tests of the CUDA kernels on the CPU
tests | python3-dev                      | tool:python3-config         | headers of Python: the Python package
tests | python3-venv                     | python:ensurepip            | virtual environments: tests of the Python package
tests | python3-jsonschema               | python:jsonschema            | JSON Schema: what xcorrjson writes
tests | python3-yaml                     | python:yaml                 | PyYAML: what the settings of single templates may be
tests | libhiredis-dev                   | module:hiredis              | hiredis: xcorrredis
tests | redis-server                     | tool:redis-server           | a server for the tests of xcorrredis
tests | python3-gi                       | python:gi                   | PyGObject: xcorr.archive and xcorr.fleet
tests | gir1.2-gst-plugins-base-1.0      | python:gi.repository.Gst    | GStreamer for PyGObject
tests | debhelper                        | tool:dh                     | builds the Debian packages
tests | lintian                          | tool:lintian                | looks for mistakes in them
tests | doxygen                          | tool:doxygen                | comments of headers for the site of the pages
tests | python3-sphinx                   | python:sphinx               | makes the site
tests | python3-myst-parser              | python:myst_parser          | Markdown for Sphinx
tests | python3-breathe                  | python:breathe              | what Doxygen found for Sphinx
tests | furo                             | python:furo                 | how the site looks
gpu   | libgstreamer-plugins-bad1.0-dev  | module:gstreamer-cuda-1.0   | frames in GPU memory
arm64 | crossbuild-essential-arm64       | tool:aarch64-linux-gnu-g++  | the compiler for aarch64
arm64 | qemu-user-static                 | tool:qemu-aarch64-static    | runs what it compiles
arm64 | pkgconf:arm64                    | tool:aarch64-linux-gnu-pkg-config | finds the libraries for aarch64
arm64 | libhwy-dev:arm64                 | arm64:libhwy                | as above, these for aarch64
arm64 | libkissfft-dev:arm64             | arm64:kissfft-float         |
arm64 | libtbb-dev:arm64                 | arm64:tbb                   |
arm64 | libgtest-dev:arm64               | arm64:gtest_main            |
arm64-plugin | libgstreamer1.0-dev:arm64              | arm64:gstreamer-check-1.0 |
arm64-plugin | libgstreamer-plugins-base1.0-dev:arm64 | arm64:gstreamer-app-1.0   |
arm64-plugin | libjson-glib-dev:arm64                 | arm64:json-glib-1.0       |
arm64-plugin | libpango1.0-dev:arm64                  | arm64:pangocairo          |
arm64-plugin | libyaml-dev:arm64                      | arm64:yaml-0.1            |
arm64-plugin | zlib1g-dev:arm64                       | arm64:zlib                |
arm64-plugin | gstreamer1.0-plugins-base:arm64        | file:/usr/lib/aarch64-linux-gnu/gstreamer-1.0/libgstplayback.so |
arm64-plugin | gstreamer1.0-plugins-good:arm64        | file:/usr/lib/aarch64-linux-gnu/gstreamer-1.0/libgstisomp4.so   |
arm64-plugin | gstreamer1.0-libav:arm64               | file:/usr/lib/aarch64-linux-gnu/gstreamer-1.0/libgstlibav.so    |
'

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
      arm64:*) aarch64-linux-gnu-pkg-config --exists "$name" ;;
      file:*) [ -e "$name" ] ;;
      header:*) echo "#include <$name>" | c++ -E -x c++ - >/dev/null ;;
      python:*) "$(command -v /usr/bin/python3 || echo python3)" -c "import $name" ;;  # Meson's
      element:*) gst-inspect-1.0 --exists "$name" ;;
    esac 2>/dev/null && return 0
  done
  return 1
}

# missing_packages WHO...: those that are missing, one per line.
missing_packages() {
  local installed=' ' who package test rest
  if command -v dpkg-query >/dev/null; then
    installed=" $(dpkg-query -W -f='${Package}:${db:Status-Status} ' 2>/dev/null) "
  fi
  while IFS='|' read -r who package test rest; do
    who=${who// /} package=${package// /} test=${test// /}
    [[ -n $who && " $* " == *" $who "* ]] || continue
    [[ $installed == *" $package:installed "* ]] || has_any "$test" || echo "$package"
  done <<<"$packages"
}

# Prints who needs packages where all is built and tested that can be here, one per line; says what is left out.
# shellcheck disable=SC2154  # of common.sh
needed_packages() {
  printf '%s\n' demo tests
  if ! have_nvcc; then
    say "the CUDA backend is left out: $no_nvcc"
  elif gpus >/dev/null; then
    echo gpu
  else
    say "the CUDA backend is built, but its tests on a GPU are skipped: there is no NVIDIA GPU here"
  fi
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

# how_to_install PACKAGE...: prints the commands.
how_to_install() {
  local before='' flags=--no-install-recommends
  if [[ "$*" == *:arm64* ]]; then
    before='dpkg --add-architecture arm64 && apt-get update && '
    flags+=' --no-remove'
  fi
  echo "${before}apt-get install $flags $*"
}

# install_packages WHO...: those that are missing. None makes way for those of another architecture.
install_packages() {
  local missing prefix as apt keep=() added=''
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! command -v apt-get >/dev/null; then
    say "missing packages: ${missing[*]}"
    say "there is no apt-get here: install them, or what they provide, by other means"
    return 1
  fi
  if ! prefix=$(as_root); then
    say "missing packages: ${missing[*]}"
    say "no right to install them; as root: $(how_to_install "${missing[@]}")"
    return 1
  fi
  say "installing ${missing[*]}"
  read -r -a as <<<"$prefix"
  apt=("${as[@]}" DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
  if [[ "${missing[*]}" == *:arm64* ]]; then
    keep=(--no-remove)
    if ! dpkg --print-foreign-architectures | grep -qx arm64; then
      added=yes
      "${as[@]}" dpkg --add-architecture arm64
    fi
  fi
  "${apt[@]}" update >&2 || say "the package lists could not be updated; trying with the old ones"
  "${apt[@]}" install -y --no-install-recommends "${keep[@]}" "${missing[@]}" >&2 || {
    say "apt-get could not install: ${missing[*]}"
    # Without it, the lists of a mirror that has none for arm64 can be updated again.
    [ -z "$added" ] || "${as[@]}" dpkg --remove-architecture arm64
    return 1
  }
}
