// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/pinned_pool.h"

#include <cstring>
#include <memory>

#include <gst/video/gstvideopool.h>
#include <gst/video/video.h>

#include "matching/current_context.h"

namespace {

/// The device and context of pinned memory, shared by the allocator and all its memory.
struct Place {
  xcorr::Device device;
  cudaxcorr::PipelineContext context;
};

struct Pinned {
  std::shared_ptr<const Place> place;
  void* data;
};

struct GstCudaXCorrAllocator {
  GstAllocator parent;
  std::shared_ptr<const Place>* place;
};

struct GstCudaXCorrAllocatorClass {
  GstAllocatorClass parent_class;
};

G_DEFINE_TYPE(GstCudaXCorrAllocator, gst_cuda_xcorr_allocator, GST_TYPE_ALLOCATOR)

void release(gpointer data) {
  const std::unique_ptr<Pinned> pinned(static_cast<Pinned*>(data));
  const cudaxcorr::CurrentContext current(pinned->place->device, pinned->place->context);
  if (current.status().ok()) xcorr::release_host(pinned->place->device, pinned->data);
}

/// Falls back to pageable memory if the system refuses to pin more.
GstMemory* allocate(GstAllocator* allocator, gsize size, GstAllocationParams* params) {
  const auto& place = *reinterpret_cast<GstCudaXCorrAllocator*>(allocator)->place;
  const gsize whole = size + params->prefix + params->padding;
  const cudaxcorr::CurrentContext current(place->device, place->context);
  // It is page-aligned, which satisfies any alignment.
  const auto data = current.status().ok() ? xcorr::allocate_host(place->device, whole)
                                          : xcorr::Result<void*>(current.status());
  if (!data.ok()) {
    GST_WARNING_OBJECT(allocator, "%s", data.status().message().c_str());
    return gst_allocator_alloc(nullptr, size, params);
  }
  if (params->flags & (GST_MEMORY_FLAG_ZERO_PREFIXED | GST_MEMORY_FLAG_ZERO_PADDED))
    std::memset(data.value(), 0, whole);
  return gst_memory_new_wrapped(params->flags, data.value(), whole, params->prefix, size,
                                new Pinned{place, data.value()}, release);
}

void finalize(GObject* object) {
  delete reinterpret_cast<GstCudaXCorrAllocator*>(object)->place;
  G_OBJECT_CLASS(gst_cuda_xcorr_allocator_parent_class)->finalize(object);
}

void gst_cuda_xcorr_allocator_class_init(GstCudaXCorrAllocatorClass* klass) {
  G_OBJECT_CLASS(klass)->finalize = finalize;
  GST_ALLOCATOR_CLASS(klass)->alloc = allocate;
}

void gst_cuda_xcorr_allocator_init(GstCudaXCorrAllocator*) {}

GstAllocator* make_allocator(const xcorr::Device& device,
                             const cudaxcorr::PipelineContext& context) {
  auto* allocator = static_cast<GstCudaXCorrAllocator*>(
      g_object_new(gst_cuda_xcorr_allocator_get_type(), nullptr));
  allocator->place =
      new std::shared_ptr<const Place>(std::make_shared<const Place>(Place{device, context}));
  return GST_ALLOCATOR_CAST(gst_object_ref_sink(allocator));
}

}  // namespace

namespace cudaxcorr {

bool propose_pinned_pool(GstQuery* query, const xcorr::Device& device,
                         const PipelineContext& context) {
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  GstVideoInfo info;
  if (device.backend != xcorr::Backend::cuda || !caps || !gst_video_info_from_caps(&info, caps) ||
      !gst_caps_features_is_equal(gst_caps_get_features(caps, 0),
                                  GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY))
    return false;
  const auto size = static_cast<guint>(info.size);
  GstAllocator* allocator = make_allocator(device, context);
  GstBufferPool* pool = gst_video_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, size, 0, 0);
  gst_buffer_pool_config_set_allocator(config, allocator, nullptr);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  const bool usable = gst_buffer_pool_set_config(pool, config);
  if (usable) {
    gst_query_add_allocation_param(query, allocator, nullptr);
    gst_query_add_allocation_pool(query, pool, size, 0, 0);
  }
  gst_object_unref(pool);
  gst_object_unref(allocator);
  return usable;
}

void reserve_buffers(GstQuery* query, guint count) {
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); ++i) {
    GstBufferPool* pool = nullptr;
    guint size, min, max;
    gst_query_parse_nth_allocation_pool(query, i, &pool, &size, &min, &max);
    gst_query_set_nth_allocation_pool(query, i, pool, size, min + count, max > 0 ? max + count : 0);
    gst_clear_object(&pool);
  }
}

}  // namespace cudaxcorr
