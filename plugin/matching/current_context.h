// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Makes the element's CUDA context current in this thread for a scope: the pipeline's or, without
// one, the device's primary context, which then stays current. Does nothing on the CPU.
#pragma once

#include <xcorr/device.hpp>

#include "matching/pipeline_context.h"

namespace cudaxcorr {

class CurrentContext {
 public:
  CurrentContext(const xcorr::Device& device, const PipelineContext& context);
  CurrentContext(const CurrentContext&) = delete;
  ~CurrentContext();

  const xcorr::Status& status() const { return status_; }

 private:
  const PipelineContext* pushed_ = nullptr;
  xcorr::Status status_;
};

}  // namespace cudaxcorr
