// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The CUDA context that the pipeline's elements share, by GStreamer's CUDA library: one context for
// all of them costs less memory and no switching. A build without that library
// (pipeline_context_absent.cpp) has none, and the device's primary context serves.
#pragma once

#include <gst/gst.h>

#include <xcorr/types.hpp>

typedef struct _GstCudaContext GstCudaContext;

namespace cudaxcorr {

class PipelineContext {
 public:
  PipelineContext() = default;
  PipelineContext(const PipelineContext&) = delete;
  ~PipelineContext() { release(); }

  /// Takes the context of a neighbour or the application, or makes one. False when there is none to
  /// be had: no such library, no driver, no such device.
  bool ensure(GstElement* element, int cuda_device_id);
  void release();

  /// Whether ensure() found one, since release().
  bool exists() const { return context_ != nullptr; }
  /// CUDA's number of its device.
  int ordinal() const;

  /// The element's `set_context`, and its answer to a CONTEXT query: true when answered.
  void set_context(GstElement* element, GstContext* context, int cuda_device_id);
  bool answer(GstElement* element, GstQuery* query);

 private:
  friend class Current;
  bool push();
  void pop();

  GstCudaContext* context_ = nullptr;
};

/// Makes the context current in this thread while it lives: the pipeline's, or where there is none
/// the device's primary one, which stays. Nothing on the CPU.
class Current {
 public:
  Current(const xcorr::Device& device, PipelineContext& context);
  Current(const Current&) = delete;
  ~Current();

  const xcorr::Status& status() const { return status_; }

 private:
  PipelineContext* pushed_ = nullptr;
  xcorr::Status status_;
};

}  // namespace cudaxcorr
