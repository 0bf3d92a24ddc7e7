// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times variants on the bench cases: batches of launches with one wait at their end, so that the
// same clock serves the CPU and the GPU; as many batches as fill the least time, slow ones less;
// outliers by the interquartile range removed. Plans and rights are made before, as for a stream of
// frames.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "checkcorr.hpp"
#include "registry.hpp"

namespace checkcorr {
namespace {

using xcorr::Device;
using xcorr::Result;
using xcorr::Status;
using xcorr::Variant;

struct Timing {
  double median = 0, least = 0;  ///< seconds a launch
};

double elapsed_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Seconds a launch takes, from a batch of them.
Result<double> time_batch(Session& session, int rights, int launches) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < launches; ++i)
    if (Status s = session.launch(0, rights, true); !s.ok()) return s;
  if (Status s = session.wait(); !s.ok()) return s;
  return elapsed_since(start) / launches;
}

/// Without the samples further than 1.5 interquartile ranges from the quartiles.
Timing summarise(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[std::size_t(share * double(samples.size() - 1))];
  };
  const double low = at(0.25), high = at(0.75), reach = 1.5 * (high - low);
  std::erase_if(samples, [=](double s) { return s < low - reach || s > high + reach; });
  return {at(0.5), samples.front()};
}

Result<Timing> time(Session& session, int rights) {
  constexpr double batch_seconds = 0.002, least_seconds = 0.1, most_seconds = 2;
  constexpr std::size_t least_samples = 5;
  if (auto first = time_batch(session, rights, 1); !first.ok()) return first.status();
  const auto warm = time_batch(session, rights, 1);
  if (!warm.ok()) return warm.status();
  const int launches = int(std::clamp(std::ceil(batch_seconds / warm.value()), 1.0, 1e5));
  std::vector<double> samples;
  const auto start = std::chrono::steady_clock::now();
  const auto is_enough = [&] {
    const double spent = elapsed_since(start);
    return spent >= most_seconds || (spent >= least_seconds && samples.size() >= least_samples);
  };
  do {
    auto sample = time_batch(session, rights, launches);
    if (!sample.ok()) return sample.status();
    samples.push_back(sample.value());
  } while (!is_enough());
  return summarise(std::move(samples));
}

/// A case's inputs, and what each stage hands to the next one as the CPU's chosen variants make it.
class Pipeline {
 public:
  explicit Pipeline(const Case& c) : values(make_inputs(c, 1, true)) {
    problem.correlate = problem_of(c);
    if (c.filter) {
      weights_ = weights_of(c, 1);
      problem.filter = &weights_;
      problem.products = c.type;
      return;
    }
    problem.products = ElementType::f32;
    problem.max_peaks = c.max_peaks;
    problem.distance_x = std::max(1, c.right.width / 2);
    problem.distance_y = std::max(1, c.right.height / 2);
    problem.threshold = 0.5;
  }

  Pipeline(const Pipeline&) = delete;

  /// Makes the inputs of that stage; the filter stage's are there.
  Status ensure_inputs_of(Stage stage) {
    for (; done_ < int(stage); ++done_)
      if (Status s = run(Stage(done_)); !s.ok()) return s;
    return {};
  }

  MatchProblem problem;
  Values values;

 private:
  Status run(Stage stage) {
    const Device host;
    auto variant = xcorr::select_variant(stage, problem, host);
    if (!variant.ok()) return variant.status();
    auto session = Session::make(*variant.value(), host, problem, values, 0);
    if (!session.ok()) return session.status();
    if (Status s = session.value().set_rights(); !s.ok()) return s;
    if (Status s = session.value().launch(0, problem.correlate.rights, true); !s.ok()) return s;
    auto wrong = session.value().read(values);
    return wrong.ok() ? Status() : wrong.status();
  }

  xcorr::FilterWeights weights_;
  int done_ = int(Stage::correlate);  ///< the first stage that has not run
};

void print(const Case& c, const Variant& variant, const Device& device, const Timing& t,
           Output output, bool first) {
  const double products =
      variant.stage == Stage::correlate
          ? double(problem_of(c).shifts.size().area()) * double(c.right.area()) * c.rights
          : 0;
  const double median_ms = 1e3 * t.median, least_ms = 1e3 * t.least, rate = products / t.median;
  const char *backend = xcorr::name_of(variant.backend), *stage = xcorr::name_of(variant.stage);
  switch (output) {
    case Output::console:
      std::printf("%-52s %10.4f ms  least %10.4f", id_of(variant, c).c_str(), median_ms, least_ms);
      if (products) std::printf("  %8.2f Gmac/s", 1e-9 * rate);
      std::putchar('\n');
      break;
    case Output::csv:
      if (first)
        std::puts(
            "backend,device,stage,variant,type,left_w,left_h,right_w,right_h,rights,"
            "median_ms,min_ms,mac_per_s");
      std::printf("%s,\"%s\",%s,%s,%s,%d,%d,%d,%d,%d,%.6g,%.6g,%.6g\n", backend,
                  device.name.c_str(), stage, variant.name, xcorr::name_of(c.type), c.left.width,
                  c.left.height, c.right.width, c.right.height, c.rights, median_ms, least_ms,
                  rate);
      break;
    case Output::json:
      std::printf(
          "%s\n  {\"backend\": \"%s\", \"device\": \"%s\", \"stage\": \"%s\", "
          "\"variant\": \"%s\", \"type\": \"%s\", \"left\": [%d, %d], \"right\": [%d, %d], "
          "\"rights\": %d, \"median_ms\": %.6g, \"min_ms\": %.6g, \"mac_per_s\": %.6g}",
          first ? "" : ",", backend, device.name.c_str(), stage, variant.name,
          xcorr::name_of(c.type), c.left.width, c.left.height, c.right.width, c.right.height,
          c.rights, median_ms, least_ms, rate);
      break;
  }
  std::fflush(stdout);
}

/// Whether this variant is timed with this case: a reference only when it is asked for by name.
bool is_wanted(const Options& options, const Variant& variant, const Case& c) {
  return concerns(c, variant.stage) && matches(options, id_of(variant, c)) &&
         (std::strcmp(variant.name, "reference") != 0 ||
          options.filter.find("reference") != std::string::npos);
}

/// Correlate variants write what they can: exact integers, or else what an FFT writes.
Result<Timing> time_variant(const Variant& variant, const Device& device, Pipeline& pipeline) {
  MatchProblem problem = pipeline.problem;
  if (variant.stage == Stage::correlate && variant.exact)
    problem.products = problem.correlate.output_type();
  if (!variant.supports(problem, device)) return Status(xcorr::Code::unsupported, "not supported");
  if (Status s = pipeline.ensure_inputs_of(variant.stage); !s.ok()) return s;
  auto session = Session::make(variant, device, problem, pipeline.values, 0);
  if (!session.ok()) return session.status();
  if (Status s = session.value().set_rights(); !s.ok()) return s;
  return time(session.value(), problem.correlate.rights);
}

}  // namespace

bool bench_all(const Options& options, const Devices& devices) {
  for (const auto& [backend, device] : devices)
    if (!device.ok())
      std::fprintf(stderr, "SKIP %s: %s\n", xcorr::name_of(backend),
                   device.status().message().c_str());
  bool good = true, first = true;
  if (options.output == Output::json) std::fputs("[", stdout);
  for (const Case& c : bench_cases()) {
    std::optional<Pipeline> pipeline;
    for (const Variant* variant : xcorr::all_variants()) {
      const auto device = devices.find(variant->backend);
      if (device == devices.end() || !device->second.ok() || !is_wanted(options, *variant, c))
        continue;
      if (!pipeline) pipeline.emplace(c);
      auto timing = time_variant(*variant, device->second.value(), *pipeline);
      if (timing.ok()) {
        print(c, *variant, device->second.value(), timing.value(), options.output,
              std::exchange(first, false));
      } else if (timing.status().code() != xcorr::Code::unsupported) {
        std::fprintf(stderr, "FAIL %s: %s\n", id_of(*variant, c).c_str(),
                     timing.status().message().c_str());
        good = false;
      }
    }
  }
  if (options.output == Output::json) std::puts("\n]");
  return good;
}

}  // namespace checkcorr
