#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The library knows nothing of GLib and GStreamer: no file under the given folder includes them.
set -eu
test -f "$1/meson.build"
if grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"](glib|gobject|gio|gmodule|gst)[-./]?' "$1"; then
  echo "kernels/ may not include GLib or GStreamer headers" >&2
  exit 1
fi
