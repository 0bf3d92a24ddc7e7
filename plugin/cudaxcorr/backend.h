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
struct BackendSession {
  PipelineContext context;
  std::unique_ptr<Analyser> analyser;
};

/// The CPU works in the GPU's place.
struct CpuFallback {
  gint64 next_try;  ///< of the GPU, by g_get_monotonic_time()
  std::future<xcorr::Result<BackendSession>> opening;
};

/// At the start: opens the backend of the settings.
xcorr::Status open_backend(GstCudaXCorr* self, const Settings& settings);
/// At the end; frames in flight must have been dropped.
void close_backend(GstCudaXCorr* self);

/// In the CUDA context of frames; there must be none in flight.
xcorr::Status work_in(GstCudaXCorr* self, const GpuPlace& place, const Settings& settings);

/// Whether an analysis failed for a reason that the CPU need not have, which may then stand in.
bool may_fall_back_to_cpu(const GstCudaXCorr* self, const Settings& settings,
                          const xcorr::Status& failure);
/// After a failed analysis: whether the CPU has taken over, so that it can be repeated.
bool fall_back_to_cpu(GstCudaXCorr* self, const Settings& settings, const xcorr::Status& failure);
/// Whether it has.
bool is_on_cpu_fallback(const GstCudaXCorr* self);

/// While the CPU stands in: a GPU to be tried with the next frame, if its time has come.
std::optional<BackendSession> gpu_to_try(GstCudaXCorr* self, const Settings& settings);
/// Puts it in the analyser's place; what was there is returned, to be put back if that fails.
BackendSession exchange(GstCudaXCorr* self, BackendSession session);
/// The GPU works again.
void end_cpu_fallback(GstCudaXCorr* self);

}  // namespace cudaxcorr
