# Source this in bash: unpacks gstreamer.tar.gz (once) and makes it the GStreamer in
# use. GPU_BUNDLE is where it lies.
export GPU_BUNDLE=${TMPDIR:-/tmp}/gpu-bundle-51eb890457ad-$(id -u)
if [ ! -d "$GPU_BUNDLE" ]; then
  rm -rf "$GPU_BUNDLE.part"
  mkdir -p "$GPU_BUNDLE.part"
  tar -C "$GPU_BUNDLE.part" -xzf "$(dirname "${BASH_SOURCE[0]}")/gstreamer.tar.gz" || return 1
  mv "$GPU_BUNDLE.part" "$GPU_BUNDLE"
fi

export PATH=$GPU_BUNDLE/bin:$PATH
export LD_LIBRARY_PATH=$GPU_BUNDLE/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH=$GPU_BUNDLE/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export GST_PLUGIN_SYSTEM_PATH_1_0=$GPU_BUNDLE/lib/gstreamer-1.0
export GST_PLUGIN_SCANNER_1_0=$GPU_BUNDLE/lib/gstreamer1.0/gstreamer-1.0/gst-plugin-scanner
export GST_REGISTRY_1_0=$GPU_BUNDLE/registry.bin
export GIO_MODULE_DIR=$GPU_BUNDLE/lib/gio       # absent: keeps the machine's modules out
rm -f "$GST_REGISTRY_1_0"                       # the driver may differ since last time

# Is the library on LD_LIBRARY_PATH or in the loader's cache?
_bundle_has_lib() {
  local dir dirs
  IFS=: read -r -a dirs <<< "$LD_LIBRARY_PATH"
  for dir in "${dirs[@]}"; do
    if [ -e "$dir/$1" ]; then return 0; fi
  done
  { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | grep -F "$1 (" >/dev/null
}

# The driver's libraries, where the loader does not know them.
for _bundle_dir in /usr/local/nvidia/lib64 /usr/local/nvidia/lib; do
  for _bundle_lib in libcuda.so.1 libnvcuvid.so.1; do
    if [ -e "$_bundle_dir/$_bundle_lib" ] && ! _bundle_has_lib "$_bundle_lib"; then
      LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$_bundle_dir
    fi
  done
done
if [ -d "$GPU_BUNDLE/lib/nvcuvid-stub" ] && ! _bundle_has_lib libnvcuvid.so.1; then
  echo "env.sh: no libnvcuvid.so.1 here; a stand-in takes its place (no nvdec elements)" >&2
  LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$GPU_BUNDLE/lib/nvcuvid-stub
fi

# NVRTC, for cudaconvert and cudascale, by links to it alone: the rest of CUDA's folder
# stays off LD_LIBRARY_PATH, where it could displace other programs' CUDA libraries.
_bundle_nvcc=$(readlink -f "$(command -v nvcc)" || true)
for _bundle_dir in "${CUDA_HOME:-}" "${_bundle_nvcc%/bin/nvcc}" /usr/local/cuda; do
  for _bundle_lib in "$_bundle_dir"/lib{64,}/libnvrtc.so.[0-9]*; do
    if [ -e "$_bundle_lib" ]; then
      mkdir -p "$GPU_BUNDLE/lib/nvrtc"
      ln -sf "${_bundle_lib%/*}"/libnvrtc{,-builtins}.so.[0-9]* "$GPU_BUNDLE/lib/nvrtc/"
      ln -sf "$_bundle_lib" "$GPU_BUNDLE/lib/nvrtc/libnvrtc.so"
      LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$GPU_BUNDLE/lib/nvrtc
      break 2
    fi
  done
done
unset -f _bundle_has_lib
unset _bundle_dir _bundle_lib _bundle_nvcc
