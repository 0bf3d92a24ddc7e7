// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/devices.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

namespace cudaxcorr {
namespace {

/// The numbers of `devices`, or of `cuda-device-id`.
std::vector<int> asked_for(const DeviceSettings& settings) {
  if (!settings.devices.ordinals.empty()) return settings.devices.ordinals;
  return {settings.cuda_device_id};
}

xcorr::Result<Devices> open_gpus(const std::vector<int>& ordinals) {
  std::vector<xcorr::Device> devices;
  for (const int ordinal : ordinals) {
    auto device = xcorr::open_device(xcorr::Backend::cuda, ordinal);
    if (!device.ok()) return device.status();
    devices.push_back(std::move(device.value()));
  }
  return Devices(std::move(devices));
}

/// CUDA's numbers of all GPUs, where any will do and there are several.
std::vector<int> to_choose_from(const DeviceSettings& settings) {
  std::vector<int> ordinals;
  if (first_of(settings) >= 0) return ordinals;
  const auto gpus = xcorr::open_devices(xcorr::Backend::cuda);
  if (gpus.ok() && gpus.value().size() > 1)
    for (const xcorr::Device& gpu : gpus.value()) ordinals.push_back(gpu.ordinal);
  return ordinals;
}

}  // namespace

GType backend_type() {
  static const GType type = [] {
    static constexpr GEnumValue values[] = {
        {static_cast<int>(BackendChoice::automatic), "CUDA where there is a GPU, else the CPU",
         "auto"},
        {static_cast<int>(BackendChoice::cuda), "NVIDIA GPU", "cuda"},
        {static_cast<int>(BackendChoice::cpu), "CPU", "cpu"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstCudaXCorrBackend", values);
  }();
  return type;
}

bool assign(DeviceList& field, const GValue* value) {
  const gchar* text = g_value_get_string(value);
  std::vector<int> ordinals;
  for (const char *at = text, *end = at ? at + std::strlen(at) : at; at != end;) {
    int ordinal = -1;
    const auto [next, error] = std::from_chars(at, end, ordinal);
    if (error != std::errc() || ordinal < 0 || std::ranges::count(ordinals, ordinal) > 0)
      return false;
    ordinals.push_back(ordinal);
    at = next;
    if (at != end && (*at++ != ',' || at == end)) return false;
  }
  field.ordinals = std::move(ordinals);
  return true;
}

void put(const DeviceList& field, GValue* value) {
  std::string text;
  for (const int ordinal : field.ordinals)
    text.append(text.empty() ? "" : ",").append(std::to_string(ordinal));
  g_value_set_string(value, text.empty() ? nullptr : text.c_str());
}

int first_of(const DeviceSettings& settings) { return asked_for(settings).front(); }

Devices::Devices(std::vector<xcorr::Device> devices) : all(std::move(devices)) {
  std::vector<int> gpus;
  for (const xcorr::Device& device : all)
    if (device.backend == xcorr::Backend::cuda) gpus.push_back(device.ordinal);
  claim = DeviceClaim(std::move(gpus));
}

xcorr::Result<Devices> find_gpus(GstElement* element, PipelineContext& context,
                                 const DeviceSettings& settings) {
  std::vector<int> ordinals = asked_for(settings);
  DeviceClaim claim;  // until the devices have their own
  if (const auto gpus = to_choose_from(settings); !gpus.empty() && !context.find(element))
    claim = DeviceClaim::on_least_loaded(gpus);
  if (!claim.ordinals().empty()) {
    ordinals = claim.ordinals();
    context = PipelineContext::shared(ordinals.front());
  } else {
    context.ensure(element, ordinals.front());
    if (context.exists()) ordinals.front() = context.ordinal();
  }
  return open_gpus(ordinals);
}

xcorr::Result<Devices> find_gpus_anew(PipelineContext& context, const DeviceSettings& settings) {
  const std::vector<int> gpus = to_choose_from(settings);
  const DeviceClaim claim = gpus.empty() ? DeviceClaim() : DeviceClaim::on_least_loaded(gpus);
  auto devices = open_gpus(gpus.empty() ? asked_for(settings) : claim.ordinals());
  if (devices.ok()) context = PipelineContext::create(devices.value().first().ordinal);
  return devices;
}

xcorr::Result<Devices> devices_for(const GpuPlace& place,
                                   const std::vector<xcorr::Device>& present) {
  if (present.size() == 1) return open_gpus({place.ordinal});
  std::vector<xcorr::Device> devices = present;
  std::stable_partition(devices.begin(), devices.end(), [&](const xcorr::Device& device) {
    return device.ordinal == place.ordinal;
  });
  return Devices(std::move(devices));
}

bool can_read_in(const std::vector<xcorr::Device>& devices, const GpuPlace& place) {
  return devices.front().backend == xcorr::Backend::cuda && place.exists() &&
         (devices.size() == 1 ||
          std::ranges::find(devices, place.ordinal, &xcorr::Device::ordinal) != devices.end());
}

bool is_absent(const xcorr::Status& status) {
  return status.code() == xcorr::Code::not_found || status.code() == xcorr::Code::unsupported;
}

bool is_failure_of_device(const xcorr::Status& status) {
  return status.code() == xcorr::Code::device_error || status.code() == xcorr::Code::out_of_memory;
}

}  // namespace cudaxcorr
