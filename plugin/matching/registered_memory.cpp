// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/registered_memory.h"

#include <atomic>
#include <mutex>

#include "matching/current_context.h"

namespace cudaxcorr {
namespace {

/// Of a process: pinned memory is lost to the rest of the system.
constexpr gsize most_registered = gsize{512} << 20;
/// What is smaller shares its pages with others' memory, and is copied soon.
constexpr gsize least_registered = gsize{256} << 10;

std::atomic<gsize> registered_bytes = 0;

/// What is known of a memory that has come once; unpins it.
struct Registration {
  xcorr::Device device;
  PipelineContext context;
  void* data = nullptr;
  gsize bytes = 0;
  bool is_tried = false;

  ~Registration() {
    if (!data) return;
    const CurrentContext current(device, context);
    if (current.status().ok()) xcorr::unregister_host(device, data);
    registered_bytes -= bytes;
  }
};

void forget(gpointer registration) { delete static_cast<Registration*>(registration); }

/// All that was allocated at once; parts of it are memory of their own.
GstMemory* whole_memory(GstBuffer* buffer) {
  if (gst_buffer_n_memory(buffer) != 1) return nullptr;  // a copy is of one registration
  GstMemory* memory = gst_buffer_peek_memory(buffer, 0);
  while (memory->parent) memory = memory->parent;
  const bool is_ordinary = gst_memory_is_type(memory, GST_ALLOCATOR_SYSMEM);
  return is_ordinary && memory->maxsize >= least_registered ? memory : nullptr;
}

/// What cannot be now, since too much is pinned or someone writes, may be the next time.
void pin(GstMemory* memory, Registration& known) {
  GstMapInfo map;
  if (registered_bytes + memory->maxsize > most_registered ||
      !gst_memory_map(memory, &map, GST_MAP_READ))
    return;
  known.is_tried = true;
  void* const data = map.data - memory->offset;
  const CurrentContext current(known.device, known.context);
  // Our own pool's is pinned already.
  if (current.status().ok() && xcorr::register_host(known.device, data, memory->maxsize).ok()) {
    known.data = data;
    known.bytes = memory->maxsize;
    registered_bytes += known.bytes;
  }
  gst_memory_unmap(memory, &map);
}

}  // namespace

void register_memory(GstBuffer* buffer, const xcorr::Device& device,
                     const PipelineContext& context) {
  GstMemory* memory = device.backend == xcorr::Backend::cuda ? whole_memory(buffer) : nullptr;
  if (!memory) return;
  static const GQuark quark = g_quark_from_static_string("cudaxcorr-registration");
  static std::mutex mutex;  // several elements may have one frame
  const std::lock_guard lock(mutex);
  auto* const object = GST_MINI_OBJECT_CAST(memory);
  auto* const known = static_cast<Registration*>(gst_mini_object_get_qdata(object, quark));
  if (!known)
    gst_mini_object_set_qdata(object, quark, new Registration{device, context}, forget);
  else if (!known->is_tried)
    pin(memory, *known);
}

}  // namespace cudaxcorr
