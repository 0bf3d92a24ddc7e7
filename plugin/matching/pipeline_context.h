// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The CUDA context that the pipeline's elements share through GStreamer's CUDA library. A single
// context saves memory and context switches, and lets the element read frames in GPU memory in
// place. Builds without that library (pipeline_context_absent.cpp) use the device's primary context
// instead.
#pragma once

#include <utility>

#include <gst/gst.h>

typedef struct _GstCudaContext GstCudaContext;

namespace cudaxcorr {

/// A reference; copies refer to the same context.
class PipelineContext {
 public:
  PipelineContext() = default;
  PipelineContext(const PipelineContext& other) : context_(other.context_) {
    if (context_) gst_object_ref(context_);
  }
  PipelineContext& operator=(PipelineContext other) {
    std::swap(context_, other.context_);
    return *this;
  }
  ~PipelineContext() { release(); }
  bool operator==(const PipelineContext&) const = default;

  /// The context of a frame in CUDA memory; none for other frames.
  static PipelineContext of(GstBuffer* frame);

  /// A new one, which nobody shares yet; none if that is not possible.
  static PipelineContext create(int cuda_device_id);

  /// The one that elements without a neighbour share on a GPU among several. None if that is not
  /// possible.
  static PipelineContext shared(int cuda_device_id);

  /// Takes the context of a neighbour or the application, of any GPU. False if there is none.
  bool find(GstElement* element);

  /// Takes the context of a neighbour or the application, or else creates one. False if that is not
  /// possible: no library, no driver, no such device.
  bool ensure(GstElement* element, int cuda_device_id);
  void release();

  /// Whether this refers to a context.
  bool exists() const { return context_ != nullptr; }
  /// CUDA's ordinal of its device.
  int ordinal() const;

  /// The element's `set_context`, and its answer to a CONTEXT query: true when answered.
  void set_context(GstElement* element, GstContext* context, int cuda_device_id);
  bool answer(GstElement* element, GstQuery* query);

 private:
  friend class CurrentContext;
  bool push() const;
  void pop() const;

  GstCudaContext* context_ = nullptr;
};

/// Whether elements can exchange frames in CUDA memory: needs the library and a driver.
bool has_cuda_memory();

/// Flags to map a frame in CUDA memory for reading on the GPU.
GstMapFlags flags_to_read_on_gpu();
/// Waits until pending writes to a mapped frame in CUDA memory have completed.
void wait_for_writers(GstBuffer* frame);

}  // namespace cudaxcorr
