// SPDX-License-Identifier: LGPL-2.1-or-later
//
// checkcorr's parts: options, selection of variants, the check and the bench.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cases.hpp"
#include "select/registry.hpp"

namespace checkcorr {

enum class Output : std::uint8_t { console, csv, json };

/// What is timed. kernel: a launch, with rights given and everything planned, as for a stream of
/// frames; run: the rights are set each time, and preparing them counts; steps: a whole computation
/// (thesis 4.1.1) and each of its steps, by the host's clock; match: see time_match().
enum class Level : std::uint8_t { kernel, run, steps, match };

struct Options {
  std::string filter = "*";
  std::optional<xcorr::Backend> backend;           ///< none: all
  std::uint64_t max_products = ~std::uint64_t{0};  ///< of a case that every variant gets
  std::uint64_t sample = 0;  ///< a larger case is run by a share sample / products of the variants
  std::uint64_t seed = 1;
  Output output = Output::console;
  bool list = false, bench = false, coverage = false;
  Level level = Level::kernel;
  double seconds = 0.1;  ///< least time of a measurement
};

/// The device of each backend, or why there is none.
using Devices = std::map<xcorr::Backend, xcorr::Result<xcorr::Device>>;

/// A variant and its results.
struct Tally : xcorr::Family::Entry {
  int passed = 0, failed = 0;
  double worst = 0;  ///< largest error as a share of its bound
};

/// `backend/stage/variant`.
std::string id_of(const xcorr::Family::Entry& entry);

/// `backend/stage/variant/type/case`: what --filter is matched with, and --list prints.
std::string id_of(const xcorr::Family::Entry& entry, const Case& c);

bool matches(const Options& options, const std::string& id);

/// Every case with every variant in `tallies` that supports it; prints failures.
void check_all(const Options& options, const Devices& devices, std::vector<Tally>& tallies);

/// Times every bench case and prints the results. False when a launch failed.
bool bench_all(const Options& options, const Devices& devices);

}  // namespace checkcorr
