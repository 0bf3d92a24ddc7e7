#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Installs OpenPIV, OpenCV and the package xcorr into a virtual environment below a folder, and compares them:
#   field_peers.sh FOLDER --field-bench=build/bench/field_bench [...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
shift
if [ ! -x "$folder/bin/openpiv-ready" ]; then
  python3 -m venv "$folder"
  "$folder/bin/pip" install -q openpiv opencv-python-headless "$here/../python"
  ln -s python "$folder/bin/openpiv-ready"
fi
exec "$folder/bin/python" "$here/field_peers.py" "$@"
