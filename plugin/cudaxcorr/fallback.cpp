// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/fallback.h"

#include <utility>
#include <vector>

#include "cudaxcorr/analysis.h"
#include "cudaxcorr/backend.h"
#include "cudaxcorr/element.h"

namespace cudaxcorr {
namespace {

xcorr::Status analyse(GstCudaXCorr* self, FrameInFlight& frame) {
  const auto status = start(self, frame);
  return status.ok() ? finish(self, frame) : status;
}

}  // namespace

xcorr::Status fall_back(GstCudaXCorr* self, const Settings& settings,
                        const xcorr::Status& failure) {
  if (!fall_back_to_cpu(self, settings, failure)) return failure;
  std::vector<FrameInFlight*> pending;
  for (FrameInFlight& frame : self->element->frames)
    if (frame.pending) pending.push_back(&frame);
  for (FrameInFlight* frame : pending) frame->forget();  // the new analyser has none of them
  for (FrameInFlight* frame : pending)
    if (auto status = analyse(self, *frame); !status.ok()) return status;
  return {};
}

bool try_gpu(GstCudaXCorr* self, FrameInFlight& frame) {
  auto gpu = gpu_to_try(self, frame.requested.settings);
  if (!gpu || !settle(self).ok()) return false;
  BackendSession cpu = exchange(self, std::move(*gpu));
  const auto status = analyse(self, frame);
  if (status.ok() && frame.due) {
    end_cpu_fallback(self);
    return true;
  }
  GST_INFO_OBJECT(self, "the GPU still fails: %s", status.message().c_str());
  exchange(self, std::move(cpu));
  frame.forget();      // where finishing has failed
  return status.ok();  // it was a frame that passes unanalysed, which tells nothing of the GPU
}

}  // namespace cudaxcorr
