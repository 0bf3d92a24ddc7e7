// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A build without GStreamer's CUDA library.
#include "matching/pipeline_context.h"

namespace cudaxcorr {

PipelineContext PipelineContext::of(GstBuffer*) { return {}; }
PipelineContext PipelineContext::create(int) { return {}; }
PipelineContext PipelineContext::shared(int) { return {}; }
bool PipelineContext::find(GstElement*) { return false; }
bool PipelineContext::ensure(GstElement*, int) { return false; }
void PipelineContext::release() {}
int PipelineContext::ordinal() const { return -1; }
void PipelineContext::set_context(GstElement*, GstContext*, int) {}
bool PipelineContext::answer(GstElement*, GstQuery*) { return false; }
bool PipelineContext::push() const { return false; }
void PipelineContext::pop() const {}

bool has_cuda_memory() { return false; }
GstMapFlags flags_to_read_on_gpu() { return GST_MAP_READ; }
void wait_for_writers(GstBuffer*) {}

}  // namespace cudaxcorr
