// SPDX-License-Identifier: LGPL-2.1-or-later
//
// GStreamer's own measure of what an element adds to each frame: the latency tracer, whose log is
// read in the process.
#pragma once

#include <vector>

namespace bench {

/// Before gst_init(): the tracer then watches all elements. False, which is said, where it is
/// broken.
bool enable_latency_tracer();
/// After gst_init(), before pipelines run: keeps what is told of cudaxcorr.
void read_latency_tracer();
/// Milliseconds, sorted, since the last call; without the first ones, as lanes do.
std::vector<double> take_element_latencies();

}  // namespace bench
