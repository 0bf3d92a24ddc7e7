// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/current_context.h"

namespace cudaxcorr {

CurrentContext::CurrentContext(const xcorr::Device& device, const PipelineContext& context) {
  if (device.backend != xcorr::Backend::cuda) return;
  if (!context.exists()) {
    status_ = xcorr::make_current(device);
  } else if (context.push()) {
    pushed_ = &context;
  } else {
    status_ = {xcorr::Code::device_error, "The pipeline's CUDA context cannot be made current"};
  }
}

CurrentContext::~CurrentContext() {
  if (pushed_) pushed_->pop();
}

}  // namespace cudaxcorr
