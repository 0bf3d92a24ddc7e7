// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Grey images of 8 bits from files: binary PGM, whose header is text and easy to write.
// Benchmarks read frames and templates of other programs in this format.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <xcorr/types.hpp>

struct Image {
  xcorr::Size size;
  std::vector<std::uint8_t> pixels;  ///< their bytes
  xcorr::ElementType type = xcorr::ElementType::u8;

  xcorr::MatrixView view() const {
    return {pixels.data(), type, size, size.width * std::ptrdiff_t(xcorr::size_of(type))};
  }
};

inline xcorr::Result<Image> read_pgm(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return xcorr::Status{xcorr::Code::not_found, "cannot open " + path};
  std::string magic;
  Image image;
  int most = 0;
  file >> magic >> image.size.width >> image.size.height >> most;
  if (!file || magic != "P5" || most != 255 || image.size.empty())
    return xcorr::Status{xcorr::Code::invalid_argument, path + ": not a binary PGM of 8 bits"};
  file.get();  // the one byte between head and pixels
  image.pixels.resize(static_cast<std::size_t>(image.size.area()));
  file.read(reinterpret_cast<char*>(image.pixels.data()),
            static_cast<std::streamsize>(image.pixels.size()));
  if (!file) return xcorr::Status{xcorr::Code::invalid_argument, path + ": pixels are missing"};
  return image;
}
