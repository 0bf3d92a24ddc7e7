// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/devices.h"

namespace cudaxcorr {

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

xcorr::Result<xcorr::Device> find_gpu(const PipelineContext& context, int cuda_device_id) {
  return xcorr::open_device(xcorr::Backend::cuda,
                            context.exists() ? context.ordinal() : cuda_device_id);
}

bool is_absent(const xcorr::Status& status) {
  return status.code() == xcorr::Code::not_found || status.code() == xcorr::Code::unsupported;
}

bool is_failure_of_device(const xcorr::Status& status) {
  return status.code() == xcorr::Code::device_error || status.code() == xcorr::Code::out_of_memory;
}

}  // namespace cudaxcorr
