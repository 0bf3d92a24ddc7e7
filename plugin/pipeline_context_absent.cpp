// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A build without GStreamer's CUDA library.
#include "pipeline_context.h"

namespace cudaxcorr {

bool PipelineContext::ensure(GstElement*, int) { return false; }
void PipelineContext::release() {}
int PipelineContext::ordinal() const { return -1; }
void PipelineContext::set_context(GstElement*, GstContext*, int) {}
bool PipelineContext::answer(GstElement*, GstQuery*) { return false; }
bool PipelineContext::push() { return false; }
void PipelineContext::pop() {}

}  // namespace cudaxcorr
