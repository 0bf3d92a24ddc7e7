#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The shared library exports what the public headers declare and nothing else, and needs no library
# of CUDA. Usage: exports_test.sh LIBRARY
set -eu
# But instances of the standard library's templates, which an optimised build has inlined.
exported=$(nm -D --defined-only -C "$1" | cut -d' ' -f3- | grep -v '^[^(]* std::')
for name in open_device make_current CurrentDevice::CurrentDevice set_max_threads max_threads allocate_host release_host register_host unregister_host is_flat copy_luma searched_region \
    gaussian_weights Correlator::create Filter::create Matcher::create LiveTemplate::create; do
  echo "$exported" | grep -q "^xcorr::$name(" || { echo "xcorr::$name is not exported" >&2; exit 1; }
done
internal=$(echo "$exported" | grep -vE '^xcorr::[A-Za-z_]+(\(|::)' || true)
internal="$internal$(echo "$exported" | grep -E '^xcorr::(cpu|cuda|stage|Runtime|Block)::|::Impl::' || true)"
[ -z "$internal" ] || { echo "exported, but no business of users: $internal" >&2; exit 1; }
! readelf -d "$1" | grep NEEDED | grep -Ei 'cuda|cufft|nvrtc|nvidia'
