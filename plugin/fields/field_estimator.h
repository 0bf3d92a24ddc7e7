// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the streaming thread computes: a FieldMatcher for the present task and format, on one
// device. Independent of the element, its lock and its bus.
#pragma once

#include <optional>
#include <vector>

#include <gst/video/video.h>

#include <xcorr/field.hpp>

#include "fields/task.h"
#include "matching/devices.h"
#include "matching/pipeline_context.h"

namespace cudaxcorr::fields {

class FieldEstimator {
 public:
  FieldEstimator(Devices device, const PipelineContext& context);
  ~FieldEstimator();
  FieldEstimator(const FieldEstimator&) = delete;

  const xcorr::Device& device() const { return device_.first(); }

  void set_format(const GstVideoInfo& format);
  /// Whether configure() has succeeded for this task and the present format.
  bool is_ready_for(const Task& task) const { return matcher_ && task == task_; }
  /// Prepares for a task, with the reference that its file has, if any. After a failure what was
  /// prepared before stays.
  xcorr::Status configure(const Task& task);

  /// An estimate of how long a field takes, as configured.
  double seconds() const { return seconds_; }
  bool has_reference() const { return has_reference_; }
  void forget_reference() { has_reference_ = false; }
  /// The image has been read when this returns.
  xcorr::Status set_reference(const xcorr::MatrixView& image);
  /// From the reference, which must be there, to the frame.
  xcorr::Status measure(const xcorr::MatrixView& frame, std::vector<xcorr::FieldVector>& vectors);
  /// The frame measured last becomes the reference.
  xcorr::Status advance();
  /// Columns and rows of the vectors.
  xcorr::Size grid() const { return matcher_->grid(); }

 private:
  Devices device_;  ///< one
  PipelineContext context_;
  GstVideoInfo format_;
  std::optional<xcorr::FieldMatcher> matcher_;
  Task task_;
  bool has_reference_ = false;
  double seconds_ = 0;
};

}  // namespace cudaxcorr::fields
