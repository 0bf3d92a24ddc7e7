#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The plugin must load where there is no driver: GStreamer blacklists a plugin with a library that
# cannot be resolved, for good. Usage: no_cuda_needed.sh PLUGIN
set -eu
needed=$(readelf -d "$1" | grep NEEDED)
echo "$needed"
# GStreamer's own libgstcuda is no library of CUDA: it needs none and finds the driver itself.
! echo "$needed" | grep -v libgstcuda | grep -Ei 'cuda|cufft|nvrtc|nvidia'
