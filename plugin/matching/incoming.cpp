// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/incoming.h"

#include <utility>

#include "matching/registered_memory.h"
#include "matching/upper_bytes.h"
#include "nvmm/lend.h"

namespace cudaxcorr {
namespace {

/// Where a GPU could read it.
GpuPlace place_of(const FrameCaps& caps, GstBuffer* frame) {
  if (caps.in_nvmm) return {{}, nvmm::gpu_of(frame)};
  const PipelineContext context = PipelineContext::of(frame);
  return {context, context.exists() ? context.ordinal() : -1};
}

std::unique_ptr<MappedFrame> map_on_gpu(const FrameCaps& caps, GstBuffer* frame) {
  if (caps.in_nvmm)
    return std::make_unique<MappedFrame>(caps.info, frame, nvmm::lend_to_gpu(caps.info, frame));
  return std::make_unique<MappedFrame>(caps.info, frame, flags_to_read_on_gpu());
}

}  // namespace

bool FrameCaps::set(const GstCaps* caps) {
  in_nvmm = nvmm::is_in_nvmm(caps);
  return gst_video_info_from_caps(&info, caps);
}

Incoming receive(const FrameCaps& caps, GstBuffer* frame,
                 const std::vector<xcorr::Device>& devices) {
  GpuPlace place = place_of(caps, frame);
  if (can_read_in(devices, place)) {
    auto mapped = map_on_gpu(caps, frame);
    if (*mapped || !caps.in_nvmm) return {std::move(mapped), std::move(place)};
  }
  return {map_on_host(caps, frame), {}};
}

std::unique_ptr<MappedFrame> map_on_host(const FrameCaps& caps, GstBuffer* frame) {
  if (caps.in_nvmm)
    return std::make_unique<MappedFrame>(caps.info, frame, nvmm::lend_to_host(caps.info, frame));
  return std::make_unique<MappedFrame>(caps.info, frame, GST_MAP_READ);
}

void copy_upper_bytes(Incoming& incoming, const FrameCaps& caps, GstBuffer* frame) {
  if (incoming.on_gpu()) incoming = {map_on_host(caps, frame), {}};
  incoming.mapped = in_upper_bytes(std::move(incoming.mapped), frame);
}

void prepare_to_read(const Incoming& incoming, GstBuffer* frame, const xcorr::Device& device,
                     const PipelineContext& context) {
  if (incoming.place.context.exists())
    wait_for_writers(frame);
  else if (!incoming.on_gpu())
    register_memory(frame, device, context);
}

}  // namespace cudaxcorr
