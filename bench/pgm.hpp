// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Grey pictures of 8 bits from files: binary PGM, whose header is text and easy to write.
// Benchmarks read frames and templates of other programs in this format.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <xcorr/types.hpp>

struct Picture {
  xcorr::Size size;
  std::vector<std::uint8_t> pixels;  ///< their bytes
  xcorr::ElementType type = xcorr::ElementType::u8;

  xcorr::MatrixView view() const {
    return {pixels.data(), type, size, size.width * std::ptrdiff_t(xcorr::size_of(type))};
  }
};

inline xcorr::Result<Picture> read_pgm(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return xcorr::Status{xcorr::Code::not_found, "cannot open " + path};
  std::string magic;
  Picture picture;
  int most = 0;
  file >> magic >> picture.size.width >> picture.size.height >> most;
  if (!file || magic != "P5" || most != 255 || picture.size.empty())
    return xcorr::Status{xcorr::Code::invalid_argument, path + ": not a binary PGM of 8 bits"};
  file.get();  // the one byte between head and pixels
  picture.pixels.resize(static_cast<std::size_t>(picture.size.area()));
  file.read(reinterpret_cast<char*>(picture.pixels.data()),
            static_cast<std::streamsize>(picture.pixels.size()));
  if (!file) return xcorr::Status{xcorr::Code::invalid_argument, path + ": pixels are missing"};
  return picture;
}
