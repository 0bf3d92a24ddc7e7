// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/backend.h"

#include <chrono>
#include <utility>

#include "common/fault.h"
#include "common/stream_lock.h"
#include "cudaxcorr/element.h"

namespace cudaxcorr {
namespace {

constexpr gint64 seconds_between_tries = 5;

gint64 time_of_next_try() {
  return g_get_monotonic_time() + seconds_between_tries * G_USEC_PER_SEC;
}

xcorr::Result<BackendSession> open_on(xcorr::Result<Devices> devices,
                                      const PipelineContext& context, const Settings& settings) {
  if (!devices.ok()) return devices.status();
  auto analyser = Analyser::open(std::move(devices.value()), settings.search.match, context);
  if (!analyser.ok()) return analyser.status();
  return BackendSession{context, std::make_unique<Analyser>(std::move(analyser.value()))};
}

xcorr::Result<BackendSession> open_cpu(const Settings& settings) {
  auto cpu = xcorr::open_devices(xcorr::Backend::cpu);
  if (!cpu.ok()) return cpu.status();
  return open_on(Devices(std::move(cpu.value())), {}, settings);
}

/// With a kernel of its own: the one in the settings may be a GPU's.
xcorr::Result<BackendSession> open_cpu_fallback(Settings settings) {
  settings.search.match.kernel = "auto";
  return open_cpu(settings);
}

/// In a context of its own: that of the pipeline may be lost.
xcorr::Result<BackendSession> open_new_gpu(const Settings& settings) {
  PipelineContext context;
  auto gpus = find_gpus_anew(context, settings.device);
  return open_on(std::move(gpus), context, settings);
}

void set_active_backend(GstCudaXCorr* self, BackendChoice backend) {
  {
    const ObjectLock lock(self);
    self->element->report.active_backend = backend;
  }
  g_object_notify(G_OBJECT(self), "active-backend");
}

void announce(GstCudaXCorr* self) {
  const bool on_gpu = self->element->analyser->device().backend == xcorr::Backend::cuda;
  set_active_backend(self, on_gpu ? BackendChoice::cuda : BackendChoice::cpu);
}

/// Lets another analyser go on where the present one is.
void hand_over(const Element& element, Analyser& to) {
  to.set_format(element.caps.info);
  to.keep_tracks_of(*element.analyser);
}

void adopt(GstCudaXCorr* self, BackendSession session) {
  exchange(self, std::move(session));
  announce(self);
}

void warn_of_cpu_fallback(GstCudaXCorr* self, const xcorr::Status& failure) {
  post_warning(self,
               {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED,
                "The CPU works in the place of the GPU until that does again; it has failed: " +
                    failure.message()});
}

/// Who names GPUs shall know that they are not used.
void warn_of_unused_gpus(GstCudaXCorr* self, const std::string& reason) {
  post_warning(self, {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                      "'devices' has no effect, the CPU works: " + reason});
}

}  // namespace

xcorr::Status open_backend(GstCudaXCorr* self, const Settings& settings) {
  const bool names_gpus = !settings.device.devices.ordinals.empty();
  if (settings.device.backend == BackendChoice::cpu) {
    auto cpu = open_cpu(settings);
    if (!cpu.ok()) return cpu.status();
    if (names_gpus) warn_of_unused_gpus(self, "that is what 'backend' says");
    adopt(self, std::move(cpu.value()));
    return {};
  }
  PipelineContext& context = self->element->context;
  auto devices = find_gpus(GST_ELEMENT(self), context, settings.device);
  const xcorr::Status found = devices.status();
  auto gpu = open_on(std::move(devices), context, settings);
  if (gpu.ok()) {
    adopt(self, std::move(gpu.value()));
    return {};
  }
  if (settings.device.backend == BackendChoice::cuda) {
    // A build without CUDA has no GPU to offer either.
    if (found.ok()) return gpu.status();
    return {xcorr::Code::not_found, gpu.status().message()};
  }
  const bool absent = !found.ok() && is_absent(found);
  if (!absent && !is_failure_of_device(gpu.status())) return gpu.status();
  auto cpu = absent ? open_cpu(settings) : open_cpu_fallback(settings);
  if (!cpu.ok()) return cpu.status();
  adopt(self, std::move(cpu.value()));
  if (absent && names_gpus) {
    warn_of_unused_gpus(self, gpu.status().message());
  } else if (absent) {
    GST_INFO_OBJECT(self, "working on the CPU: %s", gpu.status().message().c_str());
  } else {
    self->element->cpu_fallback.emplace(CpuFallback{time_of_next_try(), {}});
    warn_of_cpu_fallback(self, gpu.status());
  }
  return {};
}

void close_backend(GstCudaXCorr* self) {
  self->element->cpu_fallback.reset();  // waits for what is being opened
  exchange(self, {});
  set_active_backend(self, BackendChoice::automatic);
}

xcorr::Status work_in(GstCudaXCorr* self, const GpuPlace& place, const Settings& settings) {
  Element& element = *self->element;
  auto opened = open_on(devices_for(place, element.analyser->devices()), place.context, settings);
  if (!opened.ok()) return opened.status();
  GST_INFO_OBJECT(self, "working in the CUDA context of the frames");
  hand_over(element, *opened.value().analyser);
  exchange(self, std::move(opened.value()));
  return {};
}

bool may_fall_back_to_cpu(const GstCudaXCorr* self, const Settings& settings,
                          const xcorr::Status& failure) {
  return settings.device.backend == BackendChoice::automatic && is_failure_of_device(failure) &&
         self->element->analyser->device().backend == xcorr::Backend::cuda;
}

bool fall_back_to_cpu(GstCudaXCorr* self, const Settings& settings, const xcorr::Status& failure) {
  Element& element = *self->element;
  if (!may_fall_back_to_cpu(self, settings, failure)) return false;
  auto cpu = open_cpu_fallback(settings);
  if (!cpu.ok()) return false;
  hand_over(element, *cpu.value().analyser);
  element.cpu_fallback.emplace(CpuFallback{time_of_next_try(), {}});
  adopt(self, std::move(cpu.value()));
  warn_of_cpu_fallback(self, failure);
  return true;
}

bool is_on_cpu_fallback(const GstCudaXCorr* self) {
  const Element& element = *self->element;
  return element.cpu_fallback && element.analyser->device().backend == xcorr::Backend::cpu;
}

std::optional<BackendSession> gpu_to_try(GstCudaXCorr* self, const Settings& settings) {
  Element& element = *self->element;
  if (!element.cpu_fallback) return std::nullopt;
  CpuFallback& cpu_fallback = *element.cpu_fallback;
  if (!cpu_fallback.opening.valid()) {
    if (g_get_monotonic_time() >= cpu_fallback.next_try)
      cpu_fallback.opening = std::async(std::launch::async, open_new_gpu, settings);
    return std::nullopt;
  }
  if (cpu_fallback.opening.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return std::nullopt;
  cpu_fallback.next_try = time_of_next_try();
  auto gpu = cpu_fallback.opening.get();
  if (!gpu.ok()) {
    GST_INFO_OBJECT(self, "the GPU still fails: %s", gpu.status().message().c_str());
    return std::nullopt;
  }
  hand_over(element, *gpu.value().analyser);
  return std::move(gpu.value());
}

BackendSession exchange(GstCudaXCorr* self, BackendSession session) {
  Element& element = *self->element;
  const StreamLock streaming(self);
  std::swap(element.analyser, session.analyser);
  element.refused.reset();
  const ObjectLock lock(self);
  std::swap(element.context, session.context);
  return session;
}

void end_cpu_fallback(GstCudaXCorr* self) {
  GST_INFO_OBJECT(self, "the GPU works again");
  self->element->cpu_fallback.reset();
  announce(self);
}

}  // namespace cudaxcorr
