// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/pipeline_context.h"

#include <algorithm>
#include <map>
#include <mutex>

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

/// Contexts take turns on a GPU, so elements that could have any context have the same. It is not
/// told to the pipeline's bins: they would hand it to elements that are to work on another GPU.
PipelineContext PipelineContext::shared(int cuda_device_id) {
  static std::mutex mutex;
  static std::map<int, GWeakRef> contexts;
  const std::lock_guard lock(mutex);
  GWeakRef& known = contexts[cuda_device_id];  // all zeros: of nothing
  PipelineContext found;
  found.context_ = static_cast<GstCudaContext*>(g_weak_ref_get(&known));
  if (found.exists()) return found;
  found = create(cuda_device_id);
  g_weak_ref_set(&known, found.context_);
  return found;
}

bool PipelineContext::find(GstElement* element) {
  if (context_) return true;
  if (!gst_cuda_load_library()) return false;
  GstQuery* query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
  const auto ask = +[](GstElement* asking, GstPad* pad, gpointer asked) -> gboolean {
    GstContext* context = nullptr;
    if (gst_pad_peer_query(pad, static_cast<GstQuery*>(asked)))
      gst_query_parse_context(static_cast<GstQuery*>(asked), &context);
    if (context) gst_element_set_context(asking, context);  // which comes to set_context()
    return context == nullptr;                              // go on
  };
  if (gst_element_foreach_src_pad(element, ask, query))
    gst_element_foreach_sink_pad(element, ask, query);
  gst_query_unref(query);
  if (!context_)
    gst_element_post_message(
        element, gst_message_new_need_context(GST_OBJECT(element), GST_CUDA_CONTEXT_TYPE));
  return context_ != nullptr;
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
