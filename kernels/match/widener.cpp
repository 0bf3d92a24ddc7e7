// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/widener.hpp"

#include <utility>

#include "select/select.hpp"

namespace xcorr {

Result<Widener> Widener::make(const Device& device, Size size, int planes) {
  Widener made;
  made.device_ = device;
  const std::int64_t pitch = padded_pitch(size.width * std::int64_t{sizeof(std::uint16_t)});
  made.problem_ = {
      .size = size, .planes = planes, .word_pitch = pitch, .word_plane = size.height * pitch};
  if (Status s = choose_into(made.variant_, made.problem_, device); !s.ok()) return s;
  auto words = Block::make(device.backend, static_cast<std::size_t>(planes * size.height * pitch));
  if (!words.ok()) return words.status();
  made.words_ = std::move(words.value());
  return made;
}

Result<Rows> Widener::run(const Rows& bytes, Stream stream) {
  problem_.pitch = bytes.pitch;
  problem_.plane = bytes.plane;
  const stage::Widen::Buffers buffers{{nullptr, stream}, bytes.data, words_.as<std::uint16_t>()};
  if (Status s = variant_->launch(problem_, device_, buffers, nullptr); !s.ok()) return s;
  return Rows{words_.as<std::uint8_t>(), problem_.word_pitch, problem_.word_plane};
}

}  // namespace xcorr
