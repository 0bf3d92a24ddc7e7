#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Installs and builds what the demo needs and nothing else, in a folder of its own, then runs it: a
# clip and a template made on the spot, the template followed through the clip, also when it hides
# for a second, each position compared with the true one. Fails when a position is off by more than
# a pixel or the target is not found again under the same id. Leaves a clip with what was found drawn
# into it, and a contact sheet of that.
#
#   scripts/demo.sh [--backend=auto|cpu|cuda] [--frames=N] [--out=FOLDER]
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
folder=$root/build-demo

# seconds: of CPU time, for the build.
cuda=(-Dcuda=disabled) what="the CPU backend and the elements" seconds=130
if ! gpus >/dev/null; then
  say "CUDA is left out: there is no NVIDIA GPU here (nvidia-smi names none)"
elif ! have_nvcc; then
  say "CUDA is left out: $no_nvcc"
else
  archs=$(archs_to_build)
  if [ -z "$archs" ]; then
    say "CUDA is left out: the GPU is older than compute capability 7.5"
  else
    cuda=(-Dcuda=enabled "-Dgpu_archs=$archs") seconds=500
    what="the CPU backend, the CUDA backend for architecture $archs and the elements"
  fi
fi

install_packages demo
say "building $what; the first time it takes $(about "$seconds")"
configure "$folder" -Dplugin=enabled -Dtests=false -Ddocs=disabled "${cuda[@]}"
compile "$folder" gstcudaxcorr demo

say "following a target through a made-up clip: a few seconds"
export GST_PLUGIN_PATH_1_0=$folder/plugin${GST_PLUGIN_PATH_1_0:+:$GST_PLUGIN_PATH_1_0}
exec "$folder/examples/demo" --out="$folder/demo" "$@"
