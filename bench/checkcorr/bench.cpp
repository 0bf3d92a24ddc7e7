// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times variants on the bench cases. A case's matrices are put into a device's memory once, for all
// variants; nothing is checked and no result is kept. A sample is the time of a batch of launches
// by the device's clock, which hides what a launch costs the host as long as it is the less of the
// two.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "bench_match.hpp"
#include "checkcorr/checkcorr.hpp"
#include "machine.hpp"
#include "peak.hpp"
#include "report.hpp"
#include "select/registry.hpp"

namespace checkcorr {

const PeakMeter* peak_meter = nullptr;

namespace {

using xcorr::Backend;
using xcorr::Block;
using xcorr::bytes_copy;
using xcorr::Device;
using xcorr::Memory;
using xcorr::Result;
using xcorr::Status;
using xcorr::Variant;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A case's inputs, and what each stage hands to the next one as the CPU's chosen variants make it.
class Pipeline {
 public:
  explicit Pipeline(const Case& c) : values(make_inputs(c, 1, true)) {
    problem.correlate = problem_of(c);
    if (c.filter) {
      weights_ = weights_of(c, 1);
      problem.filter = &weights_;
      problem.products = c.type;  // as `filtered` is, which lies as products do
      return;
    }
    problem.max_peaks = c.max_peaks;
    problem.distance_x = std::max(1, c.right.width / 2);
    problem.distance_y = std::max(1, c.right.height / 2);
    problem.threshold = 0.5;
    problem.products = is_matching(c) ? ElementType::f32 : problem.correlate.output_type();
  }
  Pipeline(const Pipeline&) = delete;

  /// Makes the inputs of that stage.
  Status ensure_inputs_of(Stage stage) {
    if (stands_alone(stage)) return {};
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
  int done_ = int(Stage::correlate);
};

/// Memory of a device for the matrices of a case.
class Bed {
 public:
  explicit Bed(const Device& device) : device_(device) {}

  /// Memory for what the stage reads and writes; products are said to have no error.
  Status make_room(Stage stage, const MatchProblem& problem) {
    const StageRoles roles = roles_of(stage);
    for (const auto& side : {roles.inputs, roles.outputs})
      for (const Role role : side) {
        if (role == Role::product_error) continue;
        auto& block = blocks_[std::size_t(role)];
        const std::size_t bytes = bytes_of(role, problem);
        if (block.bytes() >= bytes) continue;
        auto made = Block::make(device_.backend, bytes);
        if (!made.ok()) return made.status();
        block = std::move(made.value());
      }
    return {};
  }

  /// Copies what the stage reads, and waits.
  Status fill(Stage stage, const Values& values) {
    const auto& runtime = xcorr::runtime(device_.backend);
    for (const Role role : roles_of(stage).inputs) {
      const auto& bytes = values[std::size_t(role)];
      if (bytes.empty()) continue;
      const auto copy = bytes_copy(blocks_[std::size_t(role)].data(), bytes.data(), bytes.size());
      if (Status s = runtime.copy(copy, Memory::host, Memory::device, {}); !s.ok()) return s;
    }
    return runtime.wait({});
  }

  xcorr::Buffers buffers(const MatchProblem& problem) const {
    xcorr::Buffers b;
    for (std::size_t role = 0; role < role_count; ++role)
      if (blocks_[role].data()) point(b, Role(role), blocks_[role].as<std::byte>());
    b.right_count = problem.correlate.rights;
    return b;
  }

  const Block& block(Role role) const { return blocks_[std::size_t(role)]; }

 private:
  const Device& device_;
  std::array<Block, role_count> blocks_;
};

/// A variant ready to run: its plan and workspace.
class Job {
 public:
  static Result<Job> make(const Variant& variant, const Device& device, const MatchProblem& problem,
                          const Bed& bed) {
    Job job;
    job.variant_ = &variant;
    job.device_ = &device;
    job.problem_ = problem;
    if (variant.plan) {
      auto state = variant.plan(problem, device);
      if (!state.ok()) return state.status();
      job.state_ = std::move(state.value());
    }
    auto workspace = Block::make(device.backend, variant.workspace(problem, device));
    if (!workspace.ok()) return workspace.status();
    job.workspace_ = std::move(workspace.value());
    job.buffers_ = bed.buffers(problem);
    job.buffers_.workspace = job.workspace_.data();
    return job;
  }

  Status set_rights() {
    return state_ && buffers_.rights ? state_->set_rights(buffers_.rights, {}) : Status();
  }
  Status launch() { return variant_->launch(problem_, *device_, buffers_, state_.get()); }

 private:
  const Variant* variant_ = nullptr;
  const Device* device_ = nullptr;
  MatchProblem problem_;
  std::unique_ptr<xcorr::PlanState> state_;
  Block workspace_;
  xcorr::Buffers buffers_;
};

// ---- kernel and run -------------------------------------------------------------------------

/// Times `work`, batches of it, until there are enough samples. What is hopeless against the best
/// of its problem is not worth many.
template <class Work>
Result<Timing> time(Backend backend, double least_seconds, double best, Work work) {
  constexpr double batch_seconds = 0.002, hopeless = 10;
  auto timer = xcorr::Timer::make(backend);
  if (!timer.ok()) return timer.status();
  const auto time_batch = [&](int launches) -> Result<double> {
    const auto seconds = timer.value().time([&] {
      for (int i = 0; i < launches; ++i)
        if (Status s = work(); !s.ok()) return s;
      return Status();
    });
    return seconds.ok() ? Result<double>(seconds.value() / launches) : seconds;
  };
  const double too_long = std::max(hopeless * best, least_seconds);
  double warm = 0;  // the first time pays for loading the kernel
  for (int i = 0; i < 2 && warm < too_long; ++i) {
    const auto first = time_batch(1);
    if (!first.ok()) return first.status();
    warm = first.value();
  }
  if (warm > too_long) return summarise({warm});

  const int launches = int(std::clamp(std::ceil(batch_seconds / warm), 1.0, 1e4));
  const std::size_t least_samples = warm > hopeless * best ? 1 : 5;
  std::vector<double> samples;
  const auto start = Clock::now();
  do {
    const auto sample = time_batch(launches);
    if (!sample.ok()) return sample.status();
    samples.push_back(sample.value());
  } while (samples.size() < least_samples || seconds_since(start) < least_seconds);
  return summarise(std::move(samples));
}

// ---- steps ----------------------------------------------------------------------------------

/// A whole computation's steps, as the thesis has them; the kernel without the transforms of rights
/// that a plan keeps, which are a step of their own.
constexpr const char* step_names[] = {"prepare", "transfer", "rights",
                                      "kernel",  "finalize", "free"};
constexpr std::size_t step_count = std::size(step_names);
using Steps = std::array<double, step_count>;

/// One whole computation, from inputs on the host to the products there.
Result<Steps> compute_once(const Variant& variant, const Device& device,
                           const MatchProblem& problem, const Values& values, const Block& host) {
  const auto& runtime = xcorr::runtime(device.backend);
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
  std::optional<Bed> bed(device);
  std::optional<Job> job;
  timed([&] {
    if (Status s = bed->make_room(Stage::correlate, problem); !s.ok()) return s;
    auto made = Job::make(variant, device, problem, *bed);
    if (made.ok()) job.emplace(std::move(made.value()));
    return made.status();
  });
  timed([&] { return bed->fill(Stage::correlate, values); });
  timed([&] { return job->set_rights(); });
  timed([&] { return job->launch(); });
  timed([&] {
    const Block& products = bed->block(Role::products);
    return runtime.copy(bytes_copy(host.data(), products.data(), products.bytes()), Memory::device,
                        Memory::host, {});
  });
  timed([&] {
    job.reset();
    bed.reset();
    return Status();
  });
  return status.ok() ? Result<Steps>(steps) : status;
}

/// The steps, and behind them the whole.
Result<std::array<Timing, step_count + 1>> time_steps(const Variant& variant, const Device& device,
                                                      const MatchProblem& problem,
                                                      const Values& values, double seconds) {
  auto host = Block::make(device.backend, bytes_of(Role::products, problem), Memory::host);
  if (!host.ok()) return host.status();
  std::array<std::vector<double>, step_count + 1> samples;
  const auto start = Clock::now();
  for (bool warm = false; samples[0].size() < 5 || seconds_since(start) < seconds; warm = true) {
    const auto steps = compute_once(variant, device, problem, values, host.value());
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
      : options_(options), devices_(devices), report_(report), variants_(xcorr::all_variants()) {
    // Transforms first: they tell soonest what is hopeless.
    std::stable_partition(variants_.begin(), variants_.end(),
                          [](const Variant* variant) { return !variant->exact; });
  }

  /// False when a launch failed.
  bool time_case(const Case& c) {
    std::optional<Pipeline> pipeline;
    std::map<Backend, Bed> beds;
    std::map<Backend, double> best;
    bool good = true;
    for (const Variant* variant : variants_) {
      const auto device = devices_.find(variant->backend);
      if (device == devices_.end() || !device->second.ok() || !is_wanted(*variant, c)) continue;
      if (!pipeline) pipeline.emplace(c);
      auto& bed = beds.try_emplace(variant->backend, device->second.value()).first->second;
      auto& least =
          best.try_emplace(variant->backend, std::numeric_limits<double>::infinity()).first->second;
      const Status s = time_variant(c, *variant, device->second.value(), *pipeline, bed, least);
      if (s.ok() || s.code() == xcorr::Code::unsupported) continue;
      std::fprintf(stderr, "FAIL %s: %s\n", id_of(*variant, c).c_str(), s.message().c_str());
      good = false;
    }
    return good;
  }

 private:
  /// A reference only when it is asked for by name; whole computations of correlations and, as
  /// matches, of searches alone.
  bool is_wanted(const Variant& variant, const Case& c) const {
    const bool is_match = options_.level == Level::match;
    return concerns(c, variant.stage) && matches(options_, id_of(variant, c)) &&
           (!is_match || is_matching(c)) &&
           (options_.level == Level::kernel || variant.stage == Stage::correlate ||
            (is_match && variant.stage == Stage::search)) &&
           (std::strcmp(variant.name, "reference") != 0 ||
            options_.filter.find("reference") != std::string::npos);
  }

  Status time_variant(const Case& c, const Variant& variant, const Device& device,
                      Pipeline& pipeline, Bed& bed, double& best) {
    MatchProblem problem = pipeline.problem;
    // Correlate variants write what they can: plain sums, or else what an FFT writes of u8.
    if (variant.stage == Stage::correlate && variant.exact)
      problem.products = problem.correlate.output_type();
    if (variant.stage == Stage::search) problem.products = problem.correlate.output_type();
    if (options_.level == Level::match) problem.max_peaks = 1;  // as time_match() asks
    if (!variant.supports(problem, device)) return {xcorr::Code::unsupported, "not supported"};
    if (options_.level == Level::match) {
      const auto timing =
          time_match(variant, device, problem, pipeline.values, options_.seconds, best);
      if (!timing.ok()) return timing.status();
      best = std::min(best, timing.value().median);
      report_.add({c, variant, device, "match", timing.value(), 0, 0});
      return {};
    }
    if (Status s = pipeline.ensure_inputs_of(variant.stage); !s.ok()) return s;
    const bool correlates = variant.stage == Stage::correlate;
    const double products = correlates ? double(products_of(problem.correlate)) : 0;
    const auto add = [&](const char* step, const Timing& timing, double count) {
      report_.add({c, variant, device, step, timing, count,
                   count ? peak(device, problem.correlate.output_type()) : 0});
    };
    if (options_.level == Level::steps) {
      const auto steps = time_steps(variant, device, problem, pipeline.values, options_.seconds);
      if (!steps.ok()) return steps.status();
      for (std::size_t i = 0; i < step_count; ++i)
        add(step_names[i], steps.value()[i], std::strcmp(step_names[i], "kernel") ? 0 : products);
      add("whole", steps.value()[step_count], products);
      return {};
    }
    if (Status s = bed.make_room(variant.stage, problem); !s.ok()) return s;
    if (Status s = bed.fill(variant.stage, pipeline.values); !s.ok()) return s;
    auto job = Job::make(variant, device, problem, bed);
    if (!job.ok()) return job.status();
    if (Status s = job.value().set_rights(); !s.ok()) return s;
    const bool anew = options_.level == Level::run;
    const auto timing = time(device.backend, options_.seconds, best, [&] {
      if (anew)
        if (Status s = job.value().set_rights(); !s.ok()) return s;
      return job.value().launch();
    });
    if (!timing.ok()) return timing.status();
    if (correlates) best = std::min(best, timing.value().median);
    add(anew ? "run" : "kernel", timing.value(), products);
    return {};
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
  std::vector<const Variant*> variants_;
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
