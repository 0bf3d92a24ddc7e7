// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Writes the sequences of tracking/synthetic.hpp for bench/tracks.py, into a folder each: PGM
// images and groundtruth.txt, whose rows are x, y, width, height of the first target, NaN where it
// is not seen. Those with more than two targets are for counting and left out. With photographs it
// makes as many sequences of these as it is asked for instead, with --trials as many of each trial.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

#include "pgm.hpp"
#include "tracking/synthetic.hpp"

namespace {

void write(const bench::Grey& image, const std::filesystem::path& path) {
  std::ofstream file(path, std::ios::binary);
  file << "P5\n" << image.width << ' ' << image.height << "\n255\n";
  file.write(reinterpret_cast<const char*>(image.pixels.data()),
             static_cast<std::streamsize>(image.pixels.size()));
}

void write(const bench::SyntheticSequence& sequence, const std::filesystem::path& folder) {
  create_directories(folder);
  std::ofstream truth(folder / "groundtruth.txt");
  for (int i = 0; i < sequence.frames; ++i) {
    const bench::MadeFrame frame = sequence.frame(i);
    char number[16];
    std::snprintf(number, sizeof number, "%04d.pgm", i);
    write(frame.image, folder / number);
    if (const auto& box = frame.truth[0])
      truth << box->x << ',' << box->y << ',' << box->width << ',' << box->height << '\n';
    else
      truth << "NaN,NaN,NaN,NaN\n";
  }
}

bool read(const char* path, std::vector<bench::Grey>& photographs) {
  auto image = read_pgm(path);
  if (!image.ok()) {
    std::fprintf(stderr, "%s\n", image.status().message().c_str());
    return false;
  }
  if (image.value().size.width < bench::least_photograph_width ||
      image.value().size.height < bench::least_photograph_height) {
    std::fprintf(stderr, "%s: smaller than %dx%d\n", path, bench::least_photograph_width,
                 bench::least_photograph_height);
    return false;
  }
  photographs.emplace_back(image.value().size.width, image.value().size.height);
  photographs.back().pixels = std::move(image.value().pixels);
  return true;
}

void write_made(const std::filesystem::path& folder) {
  for (const bench::Look look : {bench::Look::clouds, bench::Look::pieces})
    for (const bench::SyntheticSequence& sequence : bench::synthetic_sequences(look))
      if (sequence.frame(0).truth.size() <= 2) write(sequence, folder / sequence.name);
}

}  // namespace

int main(int count, char** arguments) {
  const bool trials = count > 1 && std::string_view(arguments[1]) == "--trials";
  const std::span<char*> rest =
      std::span(arguments, static_cast<std::size_t>(count)).subspan(trials ? 2 : 1);
  if (rest.size() < 4 && (trials || rest.size() != 1)) {
    std::fprintf(stderr, "usage: %s [--trials] FOLDER [COUNT PHOTOGRAPH.pgm PHOTOGRAPH.pgm...]\n",
                 arguments[0]);
    return 1;
  }
  const std::filesystem::path folder = rest[0];
  if (rest.size() == 1) {
    write_made(folder);
    return 0;
  }
  std::vector<bench::Grey> photographs;
  for (const char* path : rest.subspan(2))
    if (!read(path, photographs)) return 1;
  const auto add = [&](const bench::SyntheticSequence& sequence) {
    write(sequence, folder / sequence.name);
  };
  for (std::uint32_t seed = 0; seed < static_cast<std::uint32_t>(std::atoi(rest[1])); ++seed) {
    if (trials)
      for (const bench::Trial trial : bench::all_trials)
        add(bench::photographed_trial(photographs, seed, trial));
    else
      add(bench::photographed_sequence(photographs, seed));
  }
}
