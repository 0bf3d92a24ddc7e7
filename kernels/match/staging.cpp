// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/staging.hpp"

#include <algorithm>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace xcorr {
namespace {

/// Bytes per upload: small compared with a frame, so that the first starts early, and large enough
/// that the CPU's cost per upload does not matter.
constexpr std::size_t band_bytes = std::size_t{1} << 20;
/// The least that a thread copies: waking one for less does not pay.
constexpr std::size_t thread_bytes = std::size_t{64} << 10;

std::size_t rows_in(std::size_t bytes, const Copy& copy) {
  return std::max<std::size_t>(1, bytes / std::max<std::size_t>(copy.bytes, 1));
}

Copy rows_of(const Copy& copy, std::size_t first, std::size_t count) {
  const auto at = static_cast<std::ptrdiff_t>(first);
  return {static_cast<std::byte*>(copy.to) + at * copy.to_pitch,
          copy.to_pitch,
          static_cast<const std::byte*>(copy.from) + at * copy.from_pitch,
          copy.from_pitch,
          copy.bytes,
          count};
}

/// By four threads: more copy no faster and spend the time of cores that wait for the next band.
void copy_by_threads(const Copy& copy) {
  const Runtime& cpu = runtime(Backend::cpu);
  if (copy.bytes * copy.rows <= thread_bytes) {
    static_cast<void>(cpu.copy(copy, Memory::host, Memory::host, {}));
    return;
  }
  static tbb::task_arena arena(4);
  arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, copy.rows, rows_in(thread_bytes, copy)),
                      [&](const auto& rows) {
                        static_cast<void>(cpu.copy(rows_of(copy, rows.begin(), rows.size()),
                                                   Memory::host, Memory::host, {}));
                      });
  });
}

}  // namespace

Status Staging::provide(Backend backend, std::size_t bytes) {
  if (!sent_) {
    auto event = Event::make(backend);
    if (!event.ok()) return event.status();
    sent_ = std::move(event.value());
  }
  if (Status s = sent_.wait(); !s.ok()) return s;
  return pinned_.provide(backend, bytes, Memory::host);
}

Result<const void*> Staging::stage(Backend backend, const Copy& copy) {
  if (Status s = provide(backend, copy.bytes * copy.rows); !s.ok()) return s;
  const auto pitch = static_cast<std::ptrdiff_t>(copy.bytes);
  copy_by_threads({pinned_.data(), pitch, copy.from, copy.from_pitch, copy.bytes, copy.rows});
  return pinned_.data();
}

Status Staging::upload(Backend backend, const Copy& copy, Stream stream) {
  if (Status s = provide(backend, copy.bytes * copy.rows); !s.ok()) return s;
  const auto pitch = static_cast<std::ptrdiff_t>(copy.bytes);
  const Copy in{pinned_.data(), pitch, copy.from, copy.from_pitch, copy.bytes, copy.rows};
  const Copy up{copy.to, copy.to_pitch, pinned_.data(), pitch, copy.bytes, copy.rows};
  const std::size_t band = rows_in(band_bytes, copy);
  for (std::size_t first = 0; first < copy.rows; first += band) {
    const std::size_t rows = std::min(band, copy.rows - first);
    copy_by_threads(rows_of(in, first, rows));
    if (Status s =
            runtime(backend).copy(rows_of(up, first, rows), Memory::host, Memory::device, stream);
        !s.ok())
      return s;
  }
  return sent_.record(stream);
}

}  // namespace xcorr
