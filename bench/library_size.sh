#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# How large the library of a build is as it is installed, compressed as packages have it, and how much machine code it
# has for each architecture, which lies compressed in it. CSV on standard output. Needs the CUDA toolkit's cuobjdump.
#
#   bench/library_size.sh BUILD
set -euo pipefail
shopt -s inherit_errexit nullglob

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
strip -o "$folder/library" "$(readlink -f "$1/kernels/libxcorr.so.0")"
cd "$folder"

echo what,bytes
echo "libxcorr.so.0,$(stat -c %s library)"
echo "compressed by xz,$(xz -c library | wc -c)"
cuobjdump -xelf all library >/dev/null
archs=$(printf '%s\n' *.cubin | grep -oE 'sm_[0-9]+a?' | sort -uV)
for arch in $archs; do
  echo "machine code of $arch,$(cat ./*"$arch".*cubin | wc -c)"
done
