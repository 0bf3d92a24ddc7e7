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

xcorr::Result<Workplace> open_on(xcorr::Result<Devices> devices, const PipelineContext& context,
                                 const Settings& settings) {
  if (!devices.ok()) return devices.status();
  auto analyser = Analyser::open(std::move(devices.value()), settings.search.match, context);
  if (!analyser.ok()) return analyser.status();
  return Workplace{context, std::make_unique<Analyser>(std::move(analyser.value()))};
}

xcorr::Result<Workplace> open_cpu(const Settings& settings) {
  auto cpu = xcorr::open_devices(xcorr::Backend::cpu);
  if (!cpu.ok()) return cpu.status();
  return open_on(Devices(std::move(cpu.value())), {}, settings);
}

/// With a kernel of its own: the one in the settings may be a GPU's.
xcorr::Result<Workplace> open_stand_in(Settings settings) {
  settings.search.match.kernel = "auto";
  return open_cpu(settings);
}

/// In a context of its own: that of the pipeline may be lost.
xcorr::Result<Workplace> open_new_gpu(const Settings& settings) {
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
  to.set_format(element.format);
  to.keep_tracks_of(*element.analyser);
}

void adopt(GstCudaXCorr* self, Workplace workplace) {
  exchange(self, std::move(workplace));
  announce(self);
}

void warn_of_stand_in(GstCudaXCorr* self, const xcorr::Status& failure) {
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
  auto cpu = absent ? open_cpu(settings) : open_stand_in(settings);
  if (!cpu.ok()) return cpu.status();
  adopt(self, std::move(cpu.value()));
  if (absent && names_gpus) {
    warn_of_unused_gpus(self, gpu.status().message());
  } else if (absent) {
    GST_INFO_OBJECT(self, "working on the CPU: %s", gpu.status().message().c_str());
  } else {
    self->element->stand_in.emplace(StandIn{time_of_next_try(), {}});
    warn_of_stand_in(self, gpu.status());
  }
  return {};
}

void close_backend(GstCudaXCorr* self) {
  self->element->stand_in.reset();  // waits for what is being opened
  exchange(self, {});
  set_active_backend(self, BackendChoice::automatic);
}

xcorr::Status work_in(GstCudaXCorr* self, const PipelineContext& context,
                      const Settings& settings) {
  Element& element = *self->element;
  auto opened = open_on(devices_for(context, element.analyser->devices()), context, settings);
  if (!opened.ok()) return opened.status();
  GST_INFO_OBJECT(self, "working in the CUDA context of the frames");
  hand_over(element, *opened.value().analyser);
  exchange(self, std::move(opened.value()));
  return {};
}

bool may_stand_in_for_gpu(const GstCudaXCorr* self, const Settings& settings,
                          const xcorr::Status& failure) {
  return settings.device.backend == BackendChoice::automatic && is_failure_of_device(failure) &&
         self->element->analyser->device().backend == xcorr::Backend::cuda;
}

bool stand_in_for_gpu(GstCudaXCorr* self, const Settings& settings, const xcorr::Status& failure) {
  Element& element = *self->element;
  if (!may_stand_in_for_gpu(self, settings, failure)) return false;
  auto cpu = open_stand_in(settings);
  if (!cpu.ok()) return false;
  hand_over(element, *cpu.value().analyser);
  element.stand_in.emplace(StandIn{time_of_next_try(), {}});
  adopt(self, std::move(cpu.value()));
  warn_of_stand_in(self, failure);
  return true;
}

bool is_standing_in(const GstCudaXCorr* self) {
  const Element& element = *self->element;
  return element.stand_in && element.analyser->device().backend == xcorr::Backend::cpu;
}

std::optional<Workplace> gpu_to_try(GstCudaXCorr* self, const Settings& settings) {
  Element& element = *self->element;
  if (!element.stand_in) return std::nullopt;
  StandIn& stand_in = *element.stand_in;
  if (!stand_in.opening.valid()) {
    if (g_get_monotonic_time() >= stand_in.next_try)
      stand_in.opening = std::async(std::launch::async, open_new_gpu, settings);
    return std::nullopt;
  }
  if (stand_in.opening.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return std::nullopt;
  stand_in.next_try = time_of_next_try();
  auto gpu = stand_in.opening.get();
  if (!gpu.ok()) {
    GST_INFO_OBJECT(self, "the GPU still fails: %s", gpu.status().message().c_str());
    return std::nullopt;
  }
  hand_over(element, *gpu.value().analyser);
  return std::move(gpu.value());
}

Workplace exchange(GstCudaXCorr* self, Workplace workplace) {
  Element& element = *self->element;
  const StreamLock streaming(self);
  std::swap(element.analyser, workplace.analyser);
  const ObjectLock lock(self);
  std::swap(element.context, workplace.context);
  return workplace;
}

void end_standing_in(GstCudaXCorr* self) {
  GST_INFO_OBJECT(self, "the GPU works again");
  self->element->stand_in.reset();
  announce(self);
}

}  // namespace cudaxcorr
