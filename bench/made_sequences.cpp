// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Writes the sequences of tracking/made.hpp for bench/tracks.py, into a folder each: PGM pictures
// and groundtruth.txt, whose rows are x, y, width, height of the first target, NaN where it is not
// seen. Those with more than two targets are for counting and left out.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tracking/made.hpp"

namespace {

void write(const bench::Grey& picture, const std::filesystem::path& path) {
  std::ofstream file(path, std::ios::binary);
  file << "P5\n" << picture.width << ' ' << picture.height << "\n255\n";
  file.write(reinterpret_cast<const char*>(picture.pixels.data()),
             static_cast<std::streamsize>(picture.pixels.size()));
}

void write(const bench::MadeSequence& sequence, const std::filesystem::path& folder) {
  create_directories(folder);
  std::ofstream truth(folder / "groundtruth.txt");
  for (int i = 0; i < sequence.frames; ++i) {
    const bench::MadeFrame frame = sequence.frame(i);
    char number[16];
    std::snprintf(number, sizeof number, "%04d.pgm", i);
    write(frame.picture, folder / number);
    if (const auto& box = frame.truth[0])
      truth << box->x << ',' << box->y << ',' << box->width << ',' << box->height << '\n';
    else
      truth << "NaN,NaN,NaN,NaN\n";
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", arguments[0]);
    return 1;
  }
  for (const bench::Look look : {bench::Look::clouds, bench::Look::pieces})
    for (const bench::MadeSequence& sequence : bench::made_sequences(look))
      if (sequence.frame(0).truth.size() <= 2)
        write(sequence, std::filesystem::path(arguments[1]) / sequence.name);
}
