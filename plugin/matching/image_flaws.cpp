// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/image_flaws.h"

#include <algorithm>
#include <cstdint>

#include "matching/image_size.h"

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

constexpr auto cut_off = "the image in it is not complete";

/// Calls visit(marker, contents) for the segments of a JPEG file before its first scan.
template <class Visit>
void for_segments(std::string_view file, Visit visit) {
  constexpr unsigned scan = 0xda;
  for (std::size_t at = 2; at + 4 <= file.size() && file[at] == '\xff';) {
    const std::uint32_t marker = number_at(file, at + 1, 1, Order::most_first);
    if (marker == scan) return;
    const std::uint32_t length = number_at(file, at + 2, 2, Order::most_first);
    visit(marker, file.substr(at + 4, length > 2 ? length - 2 : 0));
    at += 2 + length;
  }
}

/// The colours of a JPEG file: what its frame header says, whose marker is one of SOF0 to SOF15.
std::uint32_t components_of(std::string_view jpeg) {
  std::uint32_t components = 0;
  for_segments(jpeg, [&](std::uint32_t marker, std::string_view contents) {
    const bool is_table = marker == 0xc4 || marker == 0xc8 || marker == 0xcc;
    if (marker >= 0xc0 && marker <= 0xcf && !is_table)
      components = number_at(contents, 5, 1, Order::most_first);
  });
  return components;
}

/// Only the marker after the last scan counts: earlier ones may be an embedded thumbnail's.
std::string flaw_of_jpeg(std::string_view file, unsigned) {
  const auto scan = file.rfind("\xff\xda");
  if (scan == file.npos || file.find("\xff\xd9", scan) == file.npos) return cut_off;
  return components_of(file) == 4 ? "it is a JPEG image in CMYK, which decoders get wrong" : "";
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
    return "it is an image of 16 bits with colours or alpha, which decoders get wrong";
  return excess_of(number(16, 4), number(20, 4), max_pixels);
}

/// Decoders allocate these before they announce the size.
std::string flaw_of_gif(std::string_view file, unsigned max_pixels) {
  return excess_of(number_at(file, 6, 2, Order::least_first),
                   number_at(file, 8, 2, Order::least_first), max_pixels);
}

enum class Tag : std::uint32_t {
  width = 256,
  height = 257,
  bits = 258,
  compression = 259,
  orientation = 274,
  sample_format = 339,
};

/// Of a TIFF file's first directory, which is that of the image; 0 where it is not said. Of
/// several values the first one.
std::uint32_t value_of(std::string_view tiff, Tag wanted) {
  const Order order = tiff.starts_with("II") ? Order::least_first : Order::most_first;
  const std::size_t directory = number_at(tiff, 4, 4, order);
  const std::size_t entries = number_at(tiff, directory, 2, order);
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + 12 * i;
    if (number_at(tiff, entry, 2, order) != static_cast<std::uint32_t>(wanted)) continue;
    const bool is_long = number_at(tiff, entry + 2, 2, order) == 4;
    const std::size_t bytes = is_long ? 4 : 2, count = number_at(tiff, entry + 4, 4, order);
    // More than fit are elsewhere.
    const bool is_here = count * bytes <= 4;
    value =
        number_at(tiff, is_here ? entry + 8 : number_at(tiff, entry + 8, 4, order), bytes, order);
  }
  return value;
}

/// The same for TIFF.
std::string flaw_of_tiff(std::string_view file, unsigned max_pixels) {
  const std::uint32_t compression = value_of(file, Tag::compression);
  if (compression == 6 || compression == 7)
    return "it is a TIFF with JPEG inside, which decoders get wrong";
  if (value_of(file, Tag::sample_format) == 3)
    return "it is a TIFF of floating-point numbers, which decoders get wrong";
  return excess_of(value_of(file, Tag::width), value_of(file, Tag::height), max_pixels);
}

bool is_tiff(std::string_view file) {
  return file.starts_with("II*\0"sv) || file.starts_with("MM\0*"sv);
}

/// The part of the file that Exif has, which is a TIFF file of its own.
std::string_view exif_of(std::string_view file) {
  constexpr auto name = "Exif\0\0"sv;
  std::string_view exif;
  if (file.starts_with("\xff\xd8\xff"sv))
    for_segments(file, [&](std::uint32_t marker, std::string_view contents) {
      if (marker == 0xe1 && exif.empty() && contents.starts_with(name))
        exif = contents.substr(name.size());
    });
  if (file.starts_with("\x89PNG"sv))
    for (std::size_t at = 8; at + 8 <= file.size() && exif.empty();) {
      const std::uint32_t length = number_at(file, at, 4, Order::most_first);
      if (file.substr(at + 4, 4) == "eXIf") exif = file.substr(at + 8, length);
      at += std::size_t{12} + length;
    }
  return exif;
}

/// Has no signature, so of files that nothing else knows: a header that says what TGA has, or the
/// footer of its later version.
bool is_tga(std::string_view file) {
  if (file.size() < 18) return false;
  if (file.substr(file.size() - 18) == "TRUEVISION-XFILE.\0"sv) return true;
  const auto byte = [&](std::size_t at) { return number_at(file, at, 1, Order::least_first); };
  const std::uint32_t kind = byte(2) & ~8u, bits = byte(16);
  return byte(1) <= 1 && kind >= 1 && kind <= 3 &&
         (bits == 8 || bits == 16 || bits == 24 || bits == 32) &&
         number_at(file, 12, 2, Order::least_first) > 0 &&
         number_at(file, 14, 2, Order::least_first) > 0;
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

std::string kind_of(std::string_view file) {
  const std::string_view brand = file.substr(std::min<std::size_t>(file.size(), 4), 8);
  if (brand == "ftypavif" || brand == "ftypavis") return "an AVIF image";
  if (brand == "ftypheic" || brand == "ftypheix" || brand == "ftypmif1") return "a HEIF image";
  if (file.starts_with("RIFF") && file.find("WEBP") == 8) return "a WebP image";
  if (file.starts_with("\xff\x0a"sv) || brand == "JXL \r\n\x87\n"sv) return "a JPEG XL image";
  if (is_tiff(file) && value_of(file, Tag::bits) < 8) return "a TIFF of fewer than 8 bits";
  return is_tga(file) ? "a TGA image" : "";
}

unsigned orientation_of(std::string_view file) {
  const std::string_view tiff = is_tiff(file) ? file : exif_of(file);
  const std::uint32_t said = is_tiff(tiff) ? value_of(tiff, Tag::orientation) : 1;
  return said >= 1 && said <= 8 ? said : 1;
}

}  // namespace cudaxcorr
