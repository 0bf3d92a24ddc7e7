# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The README's two commands, on a machine of their own:
#
#   docker build -t cudaxcorr .
#   docker run --rm -it cudaxcorr
#
# With the CUDA backend: --build-arg BASE=nvidia/cuda:13.0.1-devel-ubuntu24.04 for the first, --gpus=all for the second.
ARG BASE=debian:12
FROM ${BASE}
WORKDIR /cudaxcorr
COPY . .
RUN scripts/demo.sh
RUN scripts/test.sh
ENV GST_PLUGIN_PATH_1_0=/cudaxcorr/build-demo/plugin
CMD ["gst-inspect-1.0", "cudaxcorr"]
