// SPDX-License-Identifier: LGPL-2.1-or-later
#include "pipeline_context.h"

#define GST_USE_UNSTABLE_API
#include <gst/cuda/gstcudautils.h>

namespace cudaxcorr {

bool PipelineContext::ensure(GstElement* element, int cuda_device_id) {
  if (!gst_cuda_load_library()) return false;
  if (context_ && cuda_device_id >= 0 && ordinal() != cuda_device_id) release();
  return gst_cuda_ensure_element_context(element, cuda_device_id, &context_);
}

void PipelineContext::release() { gst_clear_object(&context_); }

int PipelineContext::ordinal() const {
  guint id = 0;
  g_object_get(context_, "cuda-device-id", &id, nullptr);
  return static_cast<int>(id);
}

void PipelineContext::set_context(GstElement* element, GstContext* context, int cuda_device_id) {
  if (gst_cuda_load_library())
    gst_cuda_handle_set_context(element, context, cuda_device_id, &context_);
}

bool PipelineContext::answer(GstElement* element, GstQuery* query) {
  return context_ && gst_cuda_handle_context_query(element, query, context_);
}

bool PipelineContext::push() { return gst_cuda_context_push(context_); }

void PipelineContext::pop() { gst_cuda_context_pop(nullptr); }

}  // namespace cudaxcorr
