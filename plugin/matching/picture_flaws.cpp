// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/picture_flaws.h"

#include <cstdint>

#include "matching/picture_size.h"

namespace cudaxcorr {
namespace {

using namespace std::string_view_literals;

enum class Order { least_first, most_first };

/// The unsigned number in so many bytes at any offset; bytes past the end count as 0.
std::uint32_t number_at(std::string_view file, std::size_t offset, std::size_t bytes, Order order) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::size_t at = offset + (order == Order::most_first ? i : bytes - 1 - i);
    number = number << 8 | (at < file.size() ? static_cast<std::uint8_t>(file[at]) : 0);
  }
  return number;
}

constexpr auto cut_off = "the picture in it is not complete";

/// Only the marker after the last scan counts: earlier ones may be an embedded thumbnail's.
std::string flaw_of_jpeg(std::string_view file, unsigned) {
  const auto scan = file.rfind("\xff\xda");
  return scan == file.npos || file.find("\xff\xd9", scan) == file.npos ? cut_off : "";
}

/// The header says how long the file is.
std::string flaw_of_bmp(std::string_view file, unsigned) {
  const bool whole = file.size() >= 6 && file.size() >= number_at(file, 2, 4, Order::least_first);
  return whole ? "" : cut_off;
}

/// The file begins with its size. Where no parser announces that, the decoder (of GStreamer 1.22)
/// never frees the frame that it gets no memory for.
std::string flaw_of_png(std::string_view file, unsigned max_pixels) {
  const auto number = [&](std::size_t offset, std::size_t bytes) {
    return number_at(file, offset, bytes, Order::most_first);
  };
  if (number(24, 1) == 16 && number(25, 1) != 0)
    return "it is a picture of 16 bits with colours or alpha, which decoders get wrong";
  return excess_of(number(16, 4), number(20, 4), max_pixels);
}

/// Decoders allocate these before they announce the size.
std::string flaw_of_gif(std::string_view file, unsigned max_pixels) {
  return excess_of(number_at(file, 6, 2, Order::least_first),
                   number_at(file, 8, 2, Order::least_first), max_pixels);
}

/// The same for TIFF; its first directory is that of the picture.
std::string flaw_of_tiff(std::string_view file, unsigned max_pixels) {
  const Order order = file.starts_with("II") ? Order::least_first : Order::most_first;
  const std::size_t directory = number_at(file, 4, 4, order);
  const std::size_t entries = number_at(file, directory, 2, order);
  std::uint32_t width = 0, height = 0, compression = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + 12 * i;
    const std::uint32_t tag = number_at(file, entry, 2, order);
    const bool is_long = number_at(file, entry + 2, 2, order) == 4;
    const std::uint32_t value = number_at(file, entry + 8, is_long ? 4 : 2, order);
    if (tag == 256) width = value;
    if (tag == 257) height = value;
    if (tag == 259) compression = value;
  }
  if (compression == 6 || compression == 7)
    return "it is a TIFF with JPEG inside, which decoders get wrong";
  return excess_of(width, height, max_pixels);
}

struct Kind {
  std::string_view signature;  ///< the file's first bytes
  std::string (*flaw)(std::string_view file, unsigned max_pixels);
};

constexpr Kind kinds[] = {
    {"\xff\xd8\xff"sv, flaw_of_jpeg}, {"BM"sv, flaw_of_bmp},     {"\x89PNG"sv, flaw_of_png},
    {"GIF8"sv, flaw_of_gif},          {"II*\0"sv, flaw_of_tiff}, {"MM\0*"sv, flaw_of_tiff},
};

}  // namespace

std::string flaw_of(std::string_view file, unsigned max_pixels) {
  for (const Kind& kind : kinds)
    if (file.starts_with(kind.signature)) return kind.flaw(file, max_pixels);
  return {};
}

}  // namespace cudaxcorr
