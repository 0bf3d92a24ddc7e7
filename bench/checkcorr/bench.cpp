// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times variants on the bench cases. A case's matrices are copied to the device once for all
// variants; nothing is checked and no result is kept.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>

#include "bench_match.hpp"
#include "checkcorr.hpp"
#include "machine.hpp"
#include "oracle/oracle.hpp"
#include "peak.hpp"
#include "report.hpp"
#include "stage_test.hpp"

namespace checkcorr {

const PeakMeter* peak_meter = nullptr;

namespace {

namespace stage = xcorr::stage;
using xcorr::Backend;
using xcorr::Block;
using xcorr::Device;
using xcorr::Memory;
using xcorr::Result;
using xcorr::Status;
using Entry = xcorr::Family::Entry;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is(const Entry& entry, const char* stage) { return std::strcmp(entry.stage, stage) == 0; }

/// A variant on a case, on a device.
struct Subject {
  const Case& test;
  const Entry& entry;
  const Device& device;
  Scenario& scenario;

  Result<std::unique_ptr<Job>> make_job(Bed& bed) const {
    return AnyStageTest::of(entry.stage).make_job(*entry.variant, device, scenario, bed);
  }
};

// ---- steps ----------------------------------------------------------------------------------

/// A whole computation's steps, as the thesis has them; the kernel without the transforms of rights
/// that a plan keeps, which are a step of their own.
constexpr const char* step_names[] = {"prepare", "transfer", "rights",
                                      "kernel",  "finalize", "free"};
constexpr std::size_t step_count = std::size(step_names);
using Steps = std::array<double, step_count>;

/// One whole computation, from inputs on the host to the products there.
Result<Steps> compute_once(const Subject& subject, const Block& host) {
  const auto& runtime = xcorr::runtime(subject.device.backend);
  Steps steps{};
  std::size_t step = 0;
  Status status;
  const auto timed = [&](auto work) {
    if (!status.ok()) return;
    const auto start = Clock::now();
    status = work();
    if (status.ok()) status = runtime.wait({});
    steps[step++] = seconds_since(start);
  };
  std::optional<Bed> bed(subject.device);
  std::unique_ptr<Job> job;
  timed([&] {
    auto made = subject.make_job(*bed);
    if (made.ok()) job = std::move(made.value());
    return made.status();
  });
  timed([&] { return job->fill(subject.scenario.values); });
  timed([&] { return job->set_rights(); });
  timed([&] { return job->launch(); });
  timed([&] {
    const Block& products = bed->block("products");
    return runtime.copy(xcorr::bytes_copy(host.data(), products.data(), products.bytes()),
                        Memory::device, Memory::host, {});
  });
  timed([&] {
    job.reset();
    bed.reset();
    return Status();
  });
  return status.ok() ? Result<Steps>(steps) : status;
}

/// The steps, followed by the whole computation.
Result<std::array<Timing, step_count + 1>> time_steps(const Subject& subject, double seconds) {
  const auto bytes = subject.scenario.problem.correlation().products_extent().bytes;
  auto host = Block::make(subject.device.backend, static_cast<std::size_t>(bytes), Memory::host);
  if (!host.ok()) return host.status();
  std::array<std::vector<double>, step_count + 1> samples;
  const auto start = Clock::now();
  for (bool warm = false; samples[0].size() < 5 || seconds_since(start) < seconds; warm = true) {
    const auto steps = compute_once(subject, host.value());
    if (!steps.ok()) return steps.status();
    if (!warm) continue;
    double whole = 0;
    for (std::size_t i = 0; i < step_count; ++i) {
      samples[i].push_back(steps.value()[i]);
      whole += steps.value()[i];
    }
    samples[step_count].push_back(whole);
  }
  std::array<Timing, step_count + 1> timings;
  std::transform(samples.begin(), samples.end(), timings.begin(), summarise);
  return timings;
}

// ---- all ------------------------------------------------------------------------------------

class Bench {
 public:
  Bench(const Options& options, const Devices& devices, Report& report)
      : options_(options), devices_(devices), report_(report), entries_(xcorr::all_variants()) {
    if (options.filter.find("reference") != std::string::npos)
      std::ranges::copy(xcorr::oracle::variants(), std::back_inserter(entries_));
    // Transforms first: they show soonest which variants are hopeless.
    std::stable_partition(entries_.begin(), entries_.end(),
                          [](const Entry& entry) { return !entry.variant->exact; });
  }

  /// False when a launch failed.
  bool time_case(const Case& c) {
    std::optional<Scenario> scenario;
    std::map<Backend, Bed> beds;
    std::map<Backend, double> best;
    bool good = true;
    for (const Entry& entry : entries_) {
      const auto device = devices_.find(entry.variant->backend);
      if (device == devices_.end() || !device->second.ok() || !is_wanted(entry, c)) continue;
      if (!scenario) make_scenario(scenario, c);
      const Backend backend = entry.variant->backend;
      auto& bed = beds.try_emplace(backend, device->second.value()).first->second;
      auto& least =
          best.try_emplace(backend, std::numeric_limits<double>::infinity()).first->second;
      const Status s = time_variant({c, entry, device->second.value(), *scenario}, bed, least);
      if (s.ok() || s.code() == xcorr::Code::unsupported) continue;
      std::fprintf(stderr, "FAIL %s: %s\n", id_of(entry, c).c_str(), s.message().c_str());
      good = false;
    }
    return good;
  }

 private:
  /// Whole computations of correlations and, as matches, of searches alone.
  bool is_wanted(const Entry& entry, const Case& c) const {
    const bool is_match = options_.level == Level::match;
    return AnyStageTest::of(entry.stage).concerns(c) && matches(options_, id_of(entry, c)) &&
           (!is_match || is_matching(c)) &&
           (options_.level == Level::kernel || is(entry, stage::Correlate::name) ||
            (is_match && is(entry, stage::Search::name)));
  }

  void make_scenario(std::optional<Scenario>& scenario, const Case& c) const {
    scenario.emplace(c, 1, true, Maker::fastest);
    if (c.filter) return;
    scenario->problem.threshold = 0.5;
    if (!is_matching(c)) scenario->problem.products = scenario->problem.correlate.output_type();
    if (options_.level == Level::match) scenario->problem.max_peaks = 1;  // as time_match() asks
  }

  Status time_variant(const Subject& subject, Bed& bed, double& best) {
    const auto& [c, entry, device, scenario] = subject;
    const AnyStageTest& test = AnyStageTest::of(entry.stage);
    const bool correlates = is(entry, stage::Correlate::name);
    // Correlate variants write what they can: plain sums, or else what an FFT writes of u8.
    const ElementType products = scenario.problem.products;
    if (correlates && entry.variant->exact)
      scenario.problem.products = scenario.problem.correlate.output_type();
    Status status = {xcorr::Code::unsupported, "not supported"};
    if (test.able(*entry.variant, device, scenario))
      status = options_.level == Level::match   ? time_as_match(subject, best)
               : options_.level == Level::steps ? time_all_steps(subject)
                                                : time_launches(subject, bed, best);
    scenario.problem.products = products;
    return status;
  }

  Status time_as_match(const Subject& subject, double& best) {
    const auto& [c, entry, device, scenario] = subject;
    const auto timing = time_match(entry.variant->name, device, scenario.problem, scenario.values,
                                   options_.seconds, best);
    if (!timing.ok()) return timing.status();
    best = std::min(best, timing.value().median);
    report_.add({c, entry, device, "match", timing.value(), 0, 0});
    return {};
  }

  Status time_all_steps(const Subject& subject) {
    const auto steps = time_steps(subject, options_.seconds);
    if (!steps.ok()) return steps.status();
    for (std::size_t i = 0; i < step_count; ++i)
      add(subject, step_names[i], steps.value()[i], !std::strcmp(step_names[i], "kernel"));
    add(subject, "whole", steps.value()[step_count], true);
    return {};
  }

  Status time_launches(const Subject& subject, Bed& bed, double& best) {
    if (Status s = AnyStageTest::of(subject.entry.stage).prepare(subject.scenario); !s.ok())
      return s;
    auto made = subject.make_job(bed);
    if (!made.ok()) return made.status();
    Job& job = *made.value();
    if (Status s = job.fill(subject.scenario.values); !s.ok()) return s;
    if (Status s = job.set_rights(); !s.ok()) return s;
    const bool anew = options_.level == Level::run;
    const auto timing = time(subject.device.backend, options_.seconds, best, [&] {
      if (anew)
        if (Status s = job.set_rights(); !s.ok()) return s;
      return job.launch();
    });
    if (!timing.ok()) return timing.status();
    const bool correlates = is(subject.entry, stage::Correlate::name);
    if (correlates) best = std::min(best, timing.value().median);
    add(subject, anew ? "run" : "kernel", timing.value(), correlates);
    return {};
  }

  /// `counts`: the step adds up the products.
  void add(const Subject& subject, const char* step, const Timing& timing, bool counts) {
    const Problem& p = subject.scenario.problem.correlate;
    report_.add({subject.test, subject.entry, subject.device, step, timing,
                 counts ? double(products_of(p)) : 0,
                 counts ? peak(subject.device, p.output_type()) : 0});
  }

  /// 0 where it cannot be measured.
  double peak(const Device& device, ElementType products) {
    if (!peak_meter || device.backend != Backend::cuda) return 0;
    const auto [place, is_new] = peaks_.try_emplace(products, 0);
    if (is_new)
      if (const auto rate = peak_meter->rate(device, products); rate.ok())
        place->second = rate.value();
    return place->second;
  }

  const Options& options_;
  const Devices& devices_;
  Report& report_;
  std::vector<Entry> entries_;
  std::map<ElementType, double> peaks_;
};

}  // namespace

bool bench_all(const Options& options, const Devices& devices) {
  std::vector<std::string> descriptions;
  for (const auto& [backend, device] : devices)
    if (device.ok())
      descriptions.push_back(
          bench::description_of(device.value(), peak_meter ? peak_meter->toolkit : "unknown"));
    else
      std::fprintf(stderr, "SKIP %s: %s\n", xcorr::name_of(backend),
                   device.status().message().c_str());
  Report report(options.output, descriptions);
  Bench bench(options, devices, report);
  bool good = true;
  for (const Case& c : bench_cases()) good = bench.time_case(c) && good;
  return good;
}

}  // namespace checkcorr
