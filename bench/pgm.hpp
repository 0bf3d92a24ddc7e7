// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Images of 8 bits from files: binary PGM and PPM, whose header is text and easy to write.
// Benchmarks read frames and templates of other programs in these formats.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <xcorr/types.hpp>

/// How pixels lie: gray, packed RGB, or a plane of luma and then one of both chromas in turns, each
/// for four pixels.
enum class Pixels : std::uint8_t { gray, rgb, nv12 };

struct Image {
  xcorr::Size size;
  std::vector<std::uint8_t> pixels;  ///< their bytes
  xcorr::ElementType type = xcorr::ElementType::u8;
  Pixels layout = Pixels::gray;

  xcorr::MatrixView view() const { return view_at(pixels.data()); }
  /// Of a copy that lies there.
  xcorr::MatrixView view_at(const void* data) const {
    xcorr::MatrixView view{data, type, size, size.width * std::ptrdiff_t(xcorr::size_of(type))};
    if (layout == Pixels::rgb) {
      view.pitch *= 3;
      view.pixels = xcorr::packed_rgb(3, 0, 1, 2);
      return xcorr::with_packed_color(view, 0, 1, 2);
    }
    if (layout == Pixels::nv12) {
      const auto* chroma = static_cast<const std::uint8_t*>(data) + size.area();
      view.color[0] = {data, view.pitch};
      for (const int i : {1, 2}) view.color[i] = {chroma, view.pitch, 2, i - 1, 1, 1};
    }
    return view;
  }
};

/// Bytes of an image of even width and height.
inline std::size_t bytes_of(xcorr::Size size, Pixels layout) {
  const auto area = static_cast<std::size_t>(size.area());
  return layout == Pixels::rgb ? 3 * area : layout == Pixels::nv12 ? area + area / 2 : area;
}

/// PPM gives RGB.
inline xcorr::Result<Image> read_pgm(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return xcorr::Status{xcorr::Code::not_found, "cannot open " + path};
  std::string magic;
  Image image;
  int most = 0;
  file >> magic >> image.size.width >> image.size.height >> most;
  if (magic == "P6") image.layout = Pixels::rgb;
  if (!file || (magic != "P5" && magic != "P6") || most != 255 || image.size.empty())
    return xcorr::Status{xcorr::Code::invalid_argument,
                         path + ": not a binary PGM or PPM of 8 bits"};
  file.get();  // the one byte between head and pixels
  image.pixels.resize(bytes_of(image.size, image.layout));
  file.read(reinterpret_cast<char*>(image.pixels.data()),
            static_cast<std::streamsize>(image.pixels.size()));
  if (!file) return xcorr::Status{xcorr::Code::invalid_argument, path + ": pixels are missing"};
  return image;
}
