# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced by the scripts beside it: where things are, what is said, how Meson is run.
# shellcheck shell=bash disable=SC2034

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
meson_version=1.0.1
# A toolkit is used even where nobody has put it on PATH.
PATH=$PATH:/usr/local/cuda/bin

say() { echo "$(basename "$0" .sh): $*" >&2; }

# about CPU_SECONDS: how long that takes when all cores are idle.
about() {
  local cores seconds
  cores=$(nproc)
  seconds=$(($1 / cores))
  if [ "$seconds" -lt 100 ]; then
    echo "about $((seconds / 10 * 10 + 10)) s on $cores idle cores"
  else
    echo "about $(((seconds + 30) / 60)) min on $cores idle cores"
  fi
}

have_nvcc() { command -v nvcc >/dev/null; }
no_nvcc="there is no nvcc, neither on PATH nor in /usr/local/cuda/bin"

# Prints the compute capabilities of the GPUs here, such as 90, one per line; fails where there is none.
gpus() {
  nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    tr -d . | grep -xE '[0-9]+'
}

# Prints what to build machine code for here, least first, with commas: for each GPU the newest architecture that it
# runs and nvcc knows. Where CUDA is of no use it prints why, and fails.
archs_to_build() {
  local known gpu archs
  gpus >/dev/null || { echo "there is no NVIDIA GPU here (nvidia-smi names none)"; return 1; }
  have_nvcc || { echo "$no_nvcc"; return 1; }
  known=$(nvcc --list-gpu-arch | tr -dc '0-9\n')
  archs=$(for gpu in $(gpus); do
    awk -v gpu="$gpu" '$1 >= 75 && $1 <= gpu && $1 > newest { newest = $1 }
                       END { if (newest) print newest }' <<<"$known"
  done | sort -nu | paste -sd,)
  echo "${archs:-the GPU is older than compute capability 7.5}"
  [ -n "$archs" ]
}

# Prints what packages and wheels have machine code for, as archs_to_build() does: what kernels are tuned on, and the
# GPUs after that, which need not compile PTX at first use, as far as nvcc knows them.
archs_to_release() {
  comm -12 <(printf '%s\n' 75 90 100 120 | sort) <(nvcc --list-gpu-arch | tr -dc '0-9\n' | sort) | sort -n | paste -sd,
}

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

# configure FOLDER OPTION...: always, because what Meson found last time (no nvcc, say) may have changed.
# After the checkout was moved or copied the build folder belongs to another place: it is made again.
configure() {
  local folder=$1 meson how=()
  shift
  meson=$(find_meson) || { say "meson $meson_version or newer is missing"; return 1; }
  if [ -f "$folder/build.ninja" ]; then
    how=(--reconfigure)
    grep -qF "\"$root\"" "$folder/meson-info/meson-info.json" || how=(--wipe)
  fi
  "$meson" setup "${how[@]}" "$folder" "$root" "$@" >&2 </dev/null || {
    say "Meson could not configure $folder"
    return 1
  }
}

# Caches of compilers, where one is used, are shared by all checkouts, and take what -Dpch=true precompiles.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros

# compile FOLDER [TARGET...]
compile() {
  "$(find_meson)" compile -C "$@" >&2 </dev/null || {
    say "the build failed"
    return 1
  }
}
