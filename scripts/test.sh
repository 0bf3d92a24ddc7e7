#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sets up, then tests. CONTRIBUTING.md says what each command tests, who runs it and when.
#
#   scripts/test.sh          builds everything once, under AddressSanitizer and UBSan, in build-check/
#   scripts/test.sh --full   all tests there are: longer ones of that build, then those of an ordinary
#                            one in build/
#
# The last line is `N passed, N failed, N skipped`, the cases inside a test program counted one by one.
set -uo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
# seconds: CPU time from a fresh clone on two cores of an AMD EPYC, of --full the sum of its parts; an Intel Xeon took a
# third more. With what ccache has from another clone the first takes 600.
case ${1:-} in
  '') name=check setup=default seconds=1900 jobs=$(nproc) share=() ;;
  # One test more than there are cores: that of the Python package, the longest, waits for browsers and servers.
  --full) name=full setup=full seconds=7500 jobs=$(($(nproc) + 1)) share=(--share=600) ;;
  *) say "unknown argument: $1"; exit 2 ;;
esac
last=$root/build-check/last-$name.seconds
if [ -f "$last" ]; then
  say "last time this took $(($(<"$last") / 60)) min here"
else
  say "this takes $(about "$seconds"), a few minutes more where packages are missing"
fi
begin=$SECONDS

mapfile -t who < <(needed_packages)
install_packages "${who[@]}" || exit 1
if [ "$name" = full ] && [ "$(uname -m)" = x86_64 ]; then
  install_packages arm64 || say "the test aarch64 is skipped"
fi
# Kernels for the GPU here; where all are compiled for the other build, too, ccache has them for both. Without a GPU they
# are machine code alone, for the architecture that they are tuned for; the ordinary build has all.
if archs=$(archs_to_build); then
  cuda=(-Dcuda=auto -Dcubins=false)
  if [ "$name" = check ]; then cuda+=("-Dgpu_archs=${archs##*,}"); fi
elif [ "$name" = check ] && have_nvcc; then
  cuda=(-Dgpu_archs=90 -Dcubins=true)
else
  cuda=(-Dcuda=disabled -Dcubins=false)
fi
configure "$root/build-check" -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 -Db_ndebug=false \
  -Dpch=true -Dsimd=native "${cuda[@]}" && compile "$root/build-check" || exit 1
folders=("$root/build-check")
if [ "$name" = full ]; then
  configure "$root/build" -Dpch=true && compile "$root/build" || exit 1
  folders+=("$root/build")
fi

status=0 logs=()
for folder in "${folders[@]}"; do
  rm -f "$folder"/meson-logs/testlog*
  "$(find_meson)" test -C "$folder" --no-rebuild "--setup=$setup" "--num-processes=$jobs" --print-errorlogs </dev/null ||
    status=1
  # Its name says which tests were chosen.
  logs+=("$folder"/meson-logs/testlog*.json)
done
echo $((SECONDS - begin)) >"$last"
say "that took $(((SECONDS - begin + 30) / 60)) min"
exec python3 "$root/scripts/count_tests.py" "${share[@]}" "$status" "${logs[@]}"
