// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How exact displacement fields are, and how long they take, on pairs of known truth:
//   field_bench [--backend=cpu|cuda] [--accuracy] [--speed [--matchers=N]] [--write=FOLDER]
//               [--filter=TEXT]
// Accuracy: for each case and each way the error's root of the mean square and its greatest mean
// over the displacements, both of a component in pixels, without those that are off by more than a
// pixel, whose share is named; and how many of those that have a sigma are off by less than twice
// of it. Speed: the least time of a field, images in the device's memory,
// and of all threads together, which is what remains of it on a busy machine; with several
// matchers, which have a field under way each, that of as many fields, divided by their number.
// Write: the cases' pairs into a folder that exists, for other programs: CASE-N-before.pgm,
// CASE-N-after.pgm and CASE-N-truth.f32, the displacement to the right of each pixel of the first
// image, then those downwards.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include <xcorr/field.hpp>

#include "device/runtime.hpp"
#include "fields/pairs.hpp"
#include "require.hpp"

namespace {

using namespace xcorr;

struct Options {
  Backend backend = Backend::cpu;
  bool accuracy = false, speed = false;
  std::size_t matchers = 1;
  std::string filter, folder;
};

struct Way {
  const char* name;
  FieldSettings settings;
};

FieldSettings search(int window, FieldSubpixel subpixel) {
  FieldSettings s;
  s.budget = {0, 0};  // what it costs is measured
  s.windows = {window};
  s.subpixel = subpixel;
  return s;
}
FieldSettings least_squares(int order, int degree, double weight = 0) {
  FieldSettings s = search(33, FieldSubpixel::least_squares);
  s.order = order;
  s.spline_degree = degree;
  s.weight_sigma = weight;
  return s;
}
FieldSettings passes(FieldSettings s, std::vector<int> windows) {
  s.windows = std::move(windows);
  return s;
}

FieldSettings smoothed(FieldSettings s, double sigma) {
  s.prefilter_sigma = sigma;
  return s;
}
FieldSettings deforming(FieldSettings s) {
  s.deformation = true;
  return s;
}

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {
      {"gauss", search(32, FieldSubpixel::gauss)},
      {"quadratic", search(32, FieldSubpixel::quadratic)},
      {"least squares 0, cubic", least_squares(0, 3)},
      {"least squares 0, quintic", least_squares(0, 5)},
      {"least squares 0, cubic, prefilter 0.5", smoothed(least_squares(0, 3), 0.5)},
      {"least squares 0, quintic, prefilter 0.5", smoothed(least_squares(0, 5), 0.5)},
      {"least squares 0, quintic, prefilter 0.7", smoothed(least_squares(0, 5), 0.7)},
      {"least squares 1, cubic", least_squares(1, 3)},
      {"least squares 1, quintic", least_squares(1, 5)},
      {"least squares 1, quintic, weight 10", least_squares(1, 5, 10)},
      {"least squares 2, quintic", least_squares(2, 5)},
      {"least squares 2, quintic, weight 10", least_squares(2, 5, 10)},
      {"64-32-32 gauss", passes(search(32, FieldSubpixel::gauss), {64, 32, 32})},
      {"64-32-32 gauss, deformation",
       deforming(passes(search(32, FieldSubpixel::gauss), {64, 32, 32}))},
      {"64-32-32-32 gauss, deformation",
       deforming(passes(search(32, FieldSubpixel::gauss), {64, 32, 32, 32}))},
      {"64-32-32 gauss, deformation, prefilter 0.6",
       smoothed(deforming(passes(search(32, FieldSubpixel::gauss), {64, 32, 32})), 0.6)},
      {"64-33 least squares 1, quintic, weight 10", passes(least_squares(1, 5, 10), {64, 33})},
  };
  return all;
}

// ---- accuracy -------------------------------------------------------------------------------

struct Case {
  const char* name;
  std::vector<fields::Pair> (*make)();
};

constexpr Size image{512, 512};

/// Displacements whose parts of a pixel go from 0 to 1.
template <class Draw>
std::vector<fields::Pair> sweep(const Draw& draw) {
  std::vector<fields::Pair> pairs;
  for (int i = 0; i <= 10; ++i)
    pairs.push_back(draw(fields::uniform(3 + 0.1 * i, -2 + 0.1 * ((3 * i + 4) % 10)), unsigned(i)));
  return pairs;
}

std::vector<fields::Pair> vortices(double speed, double diameter) {
  std::vector<fields::Pair> pairs;
  for (unsigned i = 0; i < 2; ++i)
    pairs.push_back(fields::particles(image, fields::vortices(speed, diameter), {.lost = 0.05}, i));
  return pairs;
}

const Case cases[] = {
    {"particles",
     [] {
       return sweep([](const auto& motion, unsigned seed) {
         return fields::particles(image, motion, {}, seed);
       });
     }},
    {"particles of 1.5 px",
     [] {
       return sweep([](const auto& motion, unsigned seed) {
         return fields::particles(image, motion, {.diameter = 1.5}, seed);
       });
     }},
    {"vortices, mild", [] { return vortices(4, 256); }},
    {"vortices, strong", [] { return vortices(6, 128); }},
    {"speckles",
     [] {
       return sweep([](const auto& motion, unsigned seed) {
         return fields::speckles(image, motion, {}, seed);
       });
     }},
    {"speckles, stretched",
     [] {
       std::vector<fields::Pair> pairs;
       for (unsigned i = 0; i < 2; ++i)
         pairs.push_back(fields::speckles(
             image, fields::stretch({image.width / 2.0, image.height / 2.0}), {}, i));
       return pairs;
     }},
};

struct Errors {
  double squares = 0, greatest_mean = 0;
  long count = 0, outliers = 0, not_ok = 0;
  long with_sigma = 0, within_twice = 0;  ///< components of those that have a sigma

  void add(const fields::Pair& pair, const std::vector<FieldVector>& vectors) {
    double sum_x = 0, sum_y = 0;
    long good = 0;
    for (const FieldVector& v : vectors) {
      constexpr float margin = 48;
      if (!(v.x > margin && v.y > margin && v.x < image.width - margin &&
            v.y < image.height - margin))
        continue;
      const fields::Point truth = pair.truth({v.x, v.y});
      const double x = v.dx - truth.x, y = v.dy - truth.y;
      ++count;
      not_ok += v.status != FieldStatus::ok;
      if (v.sigma > 0) {
        with_sigma += 2;
        within_twice += (std::abs(x) <= 2 * v.sigma) + (std::abs(y) <= 2 * v.sigma);
      }
      if (std::hypot(x, y) >= 1) {
        ++outliers;
        continue;
      }
      squares += x * x + y * y;
      sum_x += x;
      sum_y += y;
      ++good;
    }
    if (good)
      greatest_mean = std::max({greatest_mean, std::abs(sum_x / good), std::abs(sum_y / good)});
  }
  double rms() const { return std::sqrt(squares / (2.0 * std::max(1L, count - outliers))); }
};

bool is_wanted(const Options& options, const std::string& name) {
  return name.find(options.filter) != std::string::npos;
}

void measure_accuracy(const Options& options, const Device& device) {
  std::printf("%-22s %-42s %8s %8s %10s %8s %12s\n", "case", "way", "rms", "bias", "outliers %",
              "not ok %", "in 2 sigma %");
  for (const Case& one : cases) {
    const std::vector<fields::Pair> pairs =
        is_wanted(options, one.name) ? one.make() : std::vector<fields::Pair>();
    for (const Way& way : ways()) {
      if (pairs.empty()) break;
      auto matcher = require(FieldMatcher::make(device, image, way.settings));
      Errors errors;
      std::vector<FieldVector> vectors;
      for (const fields::Pair& pair : pairs) {
        require(matcher.match(pair.first.view(), pair.second.view(), vectors));
        errors.add(pair, vectors);
      }
      const double percent = 100.0 / static_cast<double>(std::max(1L, errors.count));
      std::printf("%-22s %-42s %8.4f %8.4f %10.2f %8.2f", one.name, way.name, errors.rms(),
                  errors.greatest_mean, percent * static_cast<double>(errors.outliers),
                  percent * static_cast<double>(errors.not_ok));
      if (errors.with_sigma)
        std::printf(" %12.1f",
                    100 * static_cast<double>(errors.within_twice) / double(errors.with_sigma));
      std::puts("");
      std::fflush(stdout);
    }
  }
}

// ---- pairs for others -----------------------------------------------------------------------

template <class Value>
void write_file(const std::string& path, const std::string& head,
                const std::vector<Value>& values) {
  std::ofstream file(path, std::ios::binary);
  file << head;
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(Value)));
  if (!file.flush()) require(Status(Code::not_found, path + ": cannot be written"));
}

void write_pairs(const Options& options) {
  const std::string head =
      "P5\n" + std::to_string(image.width) + ' ' + std::to_string(image.height) + "\n255\n";
  for (const Case& one : cases) {
    if (!is_wanted(options, one.name)) continue;
    int number = 0;
    for (const fields::Pair& pair : one.make()) {
      std::vector<float> truth(static_cast<std::size_t>(2 * image.area()));
      for (int y = 0; y < image.height; ++y)
        for (int x = 0; x < image.width; ++x) {
          const fields::Point moved = pair.truth({double(x), double(y)});
          const std::size_t at = std::size_t(y) * image.width + x;
          truth[at] = static_cast<float>(moved.x);
          truth[at + static_cast<std::size_t>(image.area())] = static_cast<float>(moved.y);
        }
      const std::string path =
          options.folder + '/' + one.name + '-' + std::to_string(number++) + '-';
      write_file(path + "before.pgm", head, pair.first.pixels);
      write_file(path + "after.pgm", head, pair.second.pixels);
      write_file(path + "truth.f32", "", truth);
    }
  }
}

// ---- speed ----------------------------------------------------------------------------------

struct Timed {
  const char* name;
  int side;
  FieldSettings settings;
};

FieldSettings of_type(FieldSettings s, ElementType type) {
  s.type = type;
  return s;
}

/// The pixels as another type has them: of 16 bits all bits are used.
std::vector<std::byte> pixels_as(ElementType type, const std::vector<std::uint8_t>& pixels) {
  const auto converted = [&](auto factor) {
    using T = decltype(factor);
    std::vector<std::byte> bytes(pixels.size() * sizeof(T));
    for (std::size_t i = 0; i < pixels.size(); ++i)
      reinterpret_cast<T*>(bytes.data())[i] = static_cast<T>(factor * pixels[i]);
    return bytes;
  };
  return type == ElementType::u8    ? converted(std::uint8_t{1})
         : type == ElementType::u16 ? converted(std::uint16_t{257})
                                    : converted(1.0F);
}

void measure_speed(const Options& options, const Device& device) {
  const FieldSettings gauss = search(32, FieldSubpixel::gauss);
  const Timed rows[] = {
      {"1024 gauss", 1024, gauss},
      {"1024 64-32-32 gauss", 1024, passes(gauss, {64, 32, 32})},
      {"1024 64-32-32 gauss, deformation", 1024, deforming(passes(gauss, {64, 32, 32}))},
      {"1024 64-32 least squares 1, quintic", 1024, passes(least_squares(1, 5), {64, 32})},
      {"2048 gauss", 2048, gauss},
      {"2048 64-32-32 gauss", 2048, passes(gauss, {64, 32, 32})},
      {"2048 64-32-32 gauss, deformation", 2048, deforming(passes(gauss, {64, 32, 32}))},
      {"2048 64-32 least squares 1, quintic", 2048, passes(least_squares(1, 5), {64, 32})},
      {"2048 least squares 1, quintic", 2048, least_squares(1, 5)},
      {"2048 least squares 2, quintic", 2048, least_squares(2, 5)},
      {"2048 least squares 1, cubic", 2048, least_squares(1, 3)},
      {"1024 gauss, u16", 1024, of_type(gauss, ElementType::u16)},
      {"1024 gauss, f32", 1024, of_type(gauss, ElementType::f32)},
      {"1024 64-32 least squares 1, quintic, f32", 1024,
       of_type(passes(least_squares(1, 5), {64, 32}), ElementType::f32)},
  };
  std::printf("%-42s %8s %10s %12s %10s\n", "what", "vectors", "ms", "vectors/s", "CPU ms");
  for (const Timed& row : rows) {
    if (!is_wanted(options, row.name)) continue;
    const Size size{row.side, row.side};
    const fields::Pair pair = fields::particles(size, fields::vortices(4, 256), {.lost = 0.05}, 1);
    std::vector<FieldMatcher> matchers;
    while (matchers.size() < options.matchers)
      matchers.push_back(require(FieldMatcher::make(device, size, row.settings)));
    // In the device's memory, as decoders leave images.
    const auto upload = [&](const fields::GrayImage& from) {
      const std::vector<std::byte> pixels = pixels_as(row.settings.type, from.pixels);
      Block block = require(Block::make(device.backend, pixels.size()));
      require(runtime(device.backend)
                  .copy(bytes_copy(block.data(), pixels.data(), pixels.size()), Memory::host,
                        Memory::device, {}));
      require(runtime(device.backend).wait({}));
      return block;
    };
    const Block first = upload(pair.first), second = upload(pair.second);
    const auto view = [&](const Block& block) {
      const ElementType type = row.settings.type;
      const auto pitch = static_cast<std::ptrdiff_t>(size.width * size_of(type));
      return MatrixView{block.data(), type, size, pitch, Memory::device};
    };
    for (FieldMatcher& matcher : matchers) require(matcher.set_reference(view(first)));
    std::size_t count = 0;
    double least = 1e9, spent = 0, least_cpu = 1e9;
    for (int i = 0; i < 200 && (i < 5 || spent < 2); ++i) {
      const std::clock_t cpu = std::clock();
      const auto start = std::chrono::steady_clock::now();
      for (FieldMatcher& matcher : matchers) require(matcher.enqueue(view(second)));
      for (FieldMatcher& matcher : matchers) count = require(matcher.collect()).size();
      const double took =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      const auto each = 1 / static_cast<double>(matchers.size());
      least_cpu = std::min(least_cpu,
                           1e3 * static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC * each);
      least = std::min(least, took * each);
      spent += took;
    }
    std::printf("%-42s %8zu %10.3f %12.0f %10.3f\n", row.name, count, 1e3 * least,
                static_cast<double>(count) / least, least_cpu);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--backend=cuda")
      options.backend = Backend::cuda;
    else if (argument == "--accuracy")
      options.accuracy = true;
    else if (argument == "--speed")
      options.speed = true;
    else if (argument.starts_with("--matchers="))
      options.matchers = std::max(1UL, std::strtoul(argument.c_str() + 11, nullptr, 10));
    else if (argument.starts_with("--write="))
      options.folder = argument.substr(8);
    else if (argument.starts_with("--filter="))
      options.filter = argument.substr(9);
    else if (argument != "--backend=cpu") {
      std::fprintf(stderr,
                   "usage: %s [--backend=cpu|cuda] [--accuracy] [--speed [--matchers=N]] "
                   "[--write=FOLDER] [--filter=TEXT]\n",
                   argv[0]);
      return 2;
    }
  }
  if (!options.folder.empty()) {
    write_pairs(options);
    return 0;
  }
  const Device device = require(open_device(options.backend));
  require(make_current(device));
  std::printf("on %s\n", device.name.c_str());
  if (options.accuracy || !options.speed) measure_accuracy(options, device);
  if (options.speed || !options.accuracy) measure_speed(options, device);
}
