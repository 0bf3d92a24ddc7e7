#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Makes what a release has, of the commit that is checked out, and installs each part of it where nothing else is:
#
#   scripts/release.sh [STEP...]     source packages wheels sums try-packages try-wheel try-source; all unless named
#
# It comes to lie in build-release/VERSION: the source archive, Debian packages, wheels and SHA256SUMS. Packages and wheels
# are made of the archive, not of the checkout. The environment variable WHEELS has the kinds of wheels, of those that
# scripts/wheel.sh makes, such as WHEELS=cpu or WHEELS='cpu aarch64'; unless set they are cpu, cuda where nvcc is, and
# aarch64 where its cross compiler is. Each try has a fresh Debian 12 below build-release, by debootstrap and chroot, for
# which one must be root; its Debian is fetched once.
set -euo pipefail
shopt -s inherit_errexit

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

steps=("$@")
[ $# -gt 0 ] || steps=(source packages wheels sums try-packages try-wheel try-source)

version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" "$root/meson.build")
name=cudaxcorr-$version
work=$root/build-release
out=$work/$version
mkdir -p "$out"

make_source() {
  if ! git -C "$root" diff --quiet HEAD; then
    say "the checkout has changes that are not committed; a release is a commit"
    return 1
  fi
  head -n 1 "$root/debian/changelog" | grep -qF "($version)" || { say "debian/changelog is not of $version"; return 1; }
  git -C "$root" archive --prefix="$name/" HEAD | xz -6 >"$out/$name.tar.xz"
}

# Where the archive is unpacked. Builds there are kept as long as it is the same.
unpack() {
  if [ ! -d "$work/tree/$name" ] || [ "$out/$name.tar.xz" -nt "$work/tree/$name" ]; then
    rm -rf "$work/tree"
    mkdir -p "$work/tree"
    tar -C "$work/tree" -xJf "$out/$name.tar.xz"
    touch "$work/tree/$name"
  fi
}

make_packages() {
  unpack
  (cd "$work/tree/$name" && dpkg-buildpackage -b -us -uc)
  rm -f "$out"/*.deb
  mv "$work/tree"/*.deb "$work/tree"/*.buildinfo "$work/tree"/*.changes "$out"
}

# Prints the kinds for which there is all that it takes here, and says which others are left out.
wheels_here() {
  echo cpu
  if have_nvcc; then echo cuda; else say "no wheels with CUDA: $no_nvcc"; fi
  if command -v aarch64-linux-gnu-g++ >/dev/null; then
    echo aarch64
  else
    say "no wheels for aarch64: there is no cross compiler, aarch64-linux-gnu-g++"
  fi
}

make_wheels() {
  local kinds kind
  kinds=${WHEELS:-$(wheels_here)}
  say "wheels: ${kinds//$'\n'/ }"
  unpack
  for kind in $kinds; do
    "$work/tree/$name/scripts/wheel.sh" "$kind"
    rm -rf "${out:?}/$kind"
    mkdir -p "$out/$kind"
    mv "$work/tree/$name/build-wheel/$kind"/*.whl "$out/$kind"
  done
}

make_sums() {
  local sums
  sums=$(cd "$out" && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs -d '\n' sha256sum)
  echo "$sums" | tee "$out/SHA256SUMS"
}

# fresh: makes a Debian and prints its folder.
fresh() {
  local debian=$work/debian.tar there
  [ "$(id -u)" = 0 ] || { say "a Debian of its own needs root"; return 1; }
  command -v debootstrap >/dev/null || { say "there is no debootstrap here"; return 1; }
  there=$(mktemp -d "$work/try-XXXXXX")
  if [ ! -f "$debian" ]; then
    debootstrap --variant=minbase --include=ca-certificates bookworm "$there" "${MIRROR:-http://deb.debian.org/debian}" >&2
    tar -C "$there" -cf "$debian.part" --one-file-system .
    mv "$debian.part" "$debian"
  else
    tar -C "$there" -xf "$debian"
  fi
  cp /etc/resolv.conf "$there/etc/resolv.conf"
  cp "$out/SHA256SUMS" "$there/root"
  echo "$there"
}

# inside FOLDER: runs the commands on standard input there, with nothing of this machine but its proxies.
inside() {
  local set=(PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive) proxy
  for proxy in http_proxy https_proxy no_proxy; do
    [ -z "${!proxy:-}" ] || set+=("$proxy=${!proxy}")
  done
  # shellcheck disable=SC2016  # the inner shell has the arguments
  unshare --mount --propagation private sh -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" env -i "$@" bash -eux -s
  ' "$1" "${set[@]}"
}

try_packages() {
  local there
  there=$(fresh)
  cp "$out"/*.deb "$root/examples/correlate.cpp" "$there/root"
  inside "$there" <<'END'
cd /root
sha256sum --ignore-missing -c SHA256SUMS
apt-get update -q
apt-get install -q -y --no-install-recommends ./*.deb gstreamer1.0-tools g++ pkg-config
gst-inspect-1.0 cudaxcorr | grep -F "Version"
c++ -std=c++20 correlate.cpp $(pkg-config --cflags --libs xcorr) -o correlate
./correlate
apt-get purge -q -y libxcorr0
if gst-inspect-1.0 cudaxcorr; then exit 1; fi
END
  rm -rf --one-file-system "$there"
}

try_wheel() {
  local there
  there=$(fresh)
  cp "$out"/cpu/*-cp311-*.whl "$there/root"
  inside "$there" <<'END'
cd /root
apt-get update -q
apt-get install -q -y --no-install-recommends python3-venv python3-numpy python3-pil
python3 -m venv --system-site-packages venv
venv/bin/pip install --no-index ./*.whl
venv/bin/python -c '
import numpy, PIL.Image, xcorr
image = numpy.random.default_rng(0).integers(0, 256, (480, 640), "u1")
PIL.Image.fromarray(image).save("image.png")
assert xcorr.match_template(image, image[100:164, 200:264]).argmax() == 100 * 577 + 200'
venv/bin/xcorr cut image.png 200,100,64,64 -o part.png
venv/bin/xcorr find image.png -t part.png | grep -F 200.00
venv/bin/xcorr doctor
test -f venv/share/man/man1/xcorr-find.1
END
  rm -rf --one-file-system "$there"
}

try_source() {
  local there
  there=$(fresh)
  cp "$out/$name.tar.xz" "$there/root"
  inside "$there" <<END
cd /root
sha256sum --ignore-missing -c SHA256SUMS
apt-get update -q
apt-get install -q -y --no-install-recommends xz-utils
tar -xJf $name.tar.xz
cd $name
scripts/demo.sh
END
  rm -rf --one-file-system "$there"
}

for step in "${steps[@]}"; do
  say "$step"
  case $step in
    source | packages | wheels | sums) "make_$step" ;;
    try-packages | try-wheel | try-source) "${step/-/_}" ;;
    *) say "no such step: $step"; exit 2 ;;
  esac
done
