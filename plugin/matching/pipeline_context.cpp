// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/pipeline_context.h"

#include <algorithm>

#define GST_USE_UNSTABLE_API
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>

namespace cudaxcorr {
namespace {

/// Null for other kinds of memory. A frame in CUDA memory is a single block.
GstCudaMemory* cuda_memory(GstBuffer* frame) {
  if (gst_buffer_n_memory(frame) != 1) return nullptr;
  GstMemory* memory = gst_buffer_peek_memory(frame, 0);
  return gst_is_cuda_memory(memory) ? GST_CUDA_MEMORY_CAST(memory) : nullptr;
}

}  // namespace

PipelineContext PipelineContext::of(GstBuffer* frame) {
  PipelineContext found;
  if (const GstCudaMemory* memory = cuda_memory(frame))
    found.context_ = static_cast<GstCudaContext*>(gst_object_ref(memory->context));
  return found;
}

PipelineContext PipelineContext::create(int cuda_device_id) {
  PipelineContext made;
  if (gst_cuda_load_library())
    made.context_ = gst_cuda_context_new(static_cast<guint>(std::max(cuda_device_id, 0)));
  return made;
}

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

bool PipelineContext::push() const { return gst_cuda_context_push(context_); }

void PipelineContext::pop() const { gst_cuda_context_pop(nullptr); }

bool has_cuda_memory() { return gst_cuda_load_library(); }

GstMapFlags flags_to_read_on_gpu() { return static_cast<GstMapFlags>(GST_MAP_READ | GST_MAP_CUDA); }

void wait_for_writers([[maybe_unused]] GstBuffer* frame) {
#if GST_CHECK_VERSION(1, 24, 0)
  gst_cuda_memory_sync(cuda_memory(frame));
#endif  // earlier versions push frames only after they are written
}

}  // namespace cudaxcorr
