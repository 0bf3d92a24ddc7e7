// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fields/backend.h"

#include <utility>

#include "common/fault.h"
#include "common/stream_lock.h"
#include "fields/element.h"
#include "matching/current_context.h"

namespace cudaxcorr::fields {
namespace {

void set_active_backend(GstCudaXCorrField* self, BackendChoice backend) {
  {
    const ObjectLock lock(self);
    self->element->state.report.active_backend = backend;
  }
  g_object_notify(G_OBJECT(self), "active-backend");
}

/// In the place of what was there.
void adopt(GstCudaXCorrField* self, std::unique_ptr<FieldEstimator> estimator,
           PipelineContext context) {
  Element& element = *self->element;
  const StreamLock streaming(self);
  std::swap(element.estimator, estimator);
  const ObjectLock lock(self);
  std::swap(element.context, context);
}

void work_on(GstCudaXCorrField* self, Devices device, const PipelineContext& context) {
  auto estimator = std::make_unique<FieldEstimator>(std::move(device), context);
  estimator->set_format(self->element->caps.info);
  adopt(self, std::move(estimator), context);
}

xcorr::Status work_on_cpu(GstCudaXCorrField* self) {
  auto cpu = xcorr::open_devices(xcorr::Backend::cpu);
  if (!cpu.ok()) return cpu.status();
  work_on(self, Devices(std::move(cpu.value())), {});
  set_active_backend(self, BackendChoice::cpu);
  return {};
}

/// Where work can begin.
xcorr::Result<Devices> open_gpu(GstCudaXCorrField* self, PipelineContext& context,
                                const DeviceSettings& settings) {
  auto gpu = find_gpus(GST_ELEMENT(self), context, settings);
  if (!gpu.ok()) return gpu;
  const CurrentContext current(gpu.value().first(), context);
  if (!current.status().ok()) return current.status();
  return gpu;
}

void warn_of_cpu_fallback(GstCudaXCorrField* self, const xcorr::Status& failure) {
  post_warning(self, {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED,
                      "The CPU works in the place of the GPU from now on; it has failed: " +
                          failure.message()});
}

}  // namespace

xcorr::Status open_backend(GstCudaXCorrField* self, const DeviceSettings& settings) {
  if (settings.backend == BackendChoice::cpu) return work_on_cpu(self);
  PipelineContext& context = self->element->context;
  auto gpu = open_gpu(self, context, settings);
  if (gpu.ok()) {
    work_on(self, std::move(gpu.value()), context);
    set_active_backend(self, BackendChoice::cuda);
    return {};
  }
  // A build without CUDA has no GPU to offer either.
  if (settings.backend == BackendChoice::cuda)
    return {is_absent(gpu.status()) ? xcorr::Code::not_found : gpu.status().code(),
            gpu.status().message()};
  if (is_absent(gpu.status()))
    GST_INFO_OBJECT(self, "working on the CPU: %s", gpu.status().message().c_str());
  else
    warn_of_cpu_fallback(self, gpu.status());
  return work_on_cpu(self);
}

void close_backend(GstCudaXCorrField* self) {
  adopt(self, nullptr, {});
  set_active_backend(self, BackendChoice::automatic);
}

xcorr::Status work_in(GstCudaXCorrField* self, const GpuPlace& place) {
  auto device = devices_for(place, {self->element->estimator->device()});
  if (!device.ok()) return device.status();
  GST_INFO_OBJECT(self, "working in the CUDA context of the frames");
  work_on(self, std::move(device.value()), place.context);
  return {};
}

bool fall_back_to_cpu(GstCudaXCorrField* self, const DeviceSettings& settings,
                      const xcorr::Status& failure) {
  if (settings.backend != BackendChoice::automatic || !is_failure_of_device(failure) ||
      self->element->estimator->device().backend != xcorr::Backend::cuda)
    return false;
  if (!work_on_cpu(self).ok()) return false;
  warn_of_cpu_fallback(self, failure);
  return true;
}

}  // namespace cudaxcorr::fields
