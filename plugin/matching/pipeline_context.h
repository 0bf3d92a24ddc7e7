// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The CUDA context that the pipeline's elements share, by GStreamer's CUDA library: one context for
// all of them costs less memory and no switching, and their frames can be read where they lie. A
// build without that library (pipeline_context_absent.cpp) has none, and the device's primary
// context serves.
#pragma once

#include <utility>

#include <gst/gst.h>

typedef struct _GstCudaContext GstCudaContext;

namespace cudaxcorr {

/// A reference; copies are of the same context.
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

  /// That of a frame in CUDA memory; of others none.
  static PipelineContext of(GstBuffer* frame);

  /// Takes the context of a neighbour or the application, or makes one. False when there is none to
  /// be had: no such library, no driver, no such device.
  bool ensure(GstElement* element, int cuda_device_id);
  void release();

  /// Whether there is one.
  bool exists() const { return context_ != nullptr; }
  /// CUDA's number of its device.
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

/// Whether elements here can exchange frames in CUDA memory: there is the library and a driver.
bool has_cuda_memory();

/// To map a frame in CUDA memory for reading on the GPU.
GstMapFlags flags_to_read_on_gpu();
/// Waits until what others write to a mapped frame in CUDA memory is there.
void wait_for_writers(GstBuffer* frame);

}  // namespace cudaxcorr
