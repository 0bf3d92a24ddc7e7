// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where the element computes. With backend=auto a GPU that fails is no reason to end the stream:
// the CPU stands in for it, with the same results, and every few seconds the GPU is tried again.
// What is tried is opened in another thread, so that frames do not wait for it.
#pragma once

#include <future>
#include <memory>
#include <optional>

#include "cudaxcorr/gstcudaxcorr.h"
#include "cudaxcorr/properties.h"
#include "matching/analyser.h"
#include "matching/pipeline_context.h"

namespace cudaxcorr {

/// An analyser and the pipeline's context that it works in, if any.
struct Workplace {
  PipelineContext context;
  std::unique_ptr<Analyser> analyser;
};

/// The CPU works in the GPU's place.
struct StandIn {
  gint64 next_try;  ///< of the GPU, by g_get_monotonic_time()
  std::future<xcorr::Result<Workplace>> opening;
};

/// At the start: opens the backend of the settings.
xcorr::Status open_backend(GstCudaXCorr* self, const Settings& settings);
/// At the end; frames in flight must have been dropped.
void close_backend(GstCudaXCorr* self);

/// In another CUDA context of the pipeline; there must be no frames in flight.
xcorr::Status work_in(GstCudaXCorr* self, const PipelineContext& context, const Settings& settings);

/// Whether an analysis failed for a reason that the CPU need not have, which may then stand in.
bool may_stand_in_for_gpu(const GstCudaXCorr* self, const Settings& settings,
                          const xcorr::Status& failure);
/// After a failed analysis: whether the CPU has taken over, so that it can be repeated.
bool stand_in_for_gpu(GstCudaXCorr* self, const Settings& settings, const xcorr::Status& failure);
/// Whether it has.
bool is_standing_in(const GstCudaXCorr* self);

/// While the CPU stands in: a GPU to be tried with the next frame, if its time has come.
std::optional<Workplace> gpu_to_try(GstCudaXCorr* self, const Settings& settings);
/// Puts it in the analyser's place; what was there is returned, to be put back if that fails.
Workplace exchange(GstCudaXCorr* self, Workplace workplace);
/// The GPU works again.
void end_standing_in(GstCudaXCorr* self);

}  // namespace cudaxcorr
