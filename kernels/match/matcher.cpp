// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/exceptions.hpp>
#include <xcorr/match.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "device/memory_limit.hpp"
#include "match/bank.hpp"
#include "match/confidence.hpp"
#include "match/image.hpp"
#include "match/plan.hpp"
#include "match/poses/plan.hpp"
#include "match/task.hpp"
#include "match/tune.hpp"
#include "match/weights.hpp"

namespace xcorr {
namespace {

/// Of upright templates, or of those at several poses.
using AnyPlan = std::variant<MatchPlan, PosePlan>;

ElementType type_of(const AnyPlan& plan) {
  return std::visit([](const auto& p) { return p.type(); }, plan);
}
Size frame_of(const AnyPlan& plan) {
  return std::visit([](const auto& p) { return p.frame(); }, plan);
}
const MatchSettings& settings_of(const AnyPlan& plan) {
  return std::visit([](const auto& p) -> const MatchSettings& { return p.settings(); }, plan);
}
double seconds_of(const AnyPlan& plan) {
  return std::visit([](const auto& p) { return p.seconds(); }, plan);
}
bool adopt(AnyPlan& plan, const MatchSettings& settings) {
  return std::visit([&](auto& p) { return p.adopt(settings); }, plan);
}
Rect places(const AnyPlan& plan, Size size) {
  return std::visit([&](const auto& p) { return p.places(size); }, plan);
}

/// Checks that the frame is what prepare() was called for.
Status check_frame(const std::optional<AnyPlan>& plan, const MatrixView& frame) {
  if (!plan) return {Code::invalid_argument, "prepare() has not been called"};
  return check_frame(frame, type_of(*plan), frame_of(*plan), settings_of(*plan).match_on);
}

}  // namespace

struct __attribute__((visibility("hidden"))) Matcher::Impl {
  Device device;
  Stream own_stream;
  std::vector<BankTemplate> bank;
  std::vector<BankTemplate> trimmed_bank;  ///< see trimmed()
  Tuner tuner;
  std::size_t bytes = 0;          ///< of the plan
  MatchSettings asked;            ///< the plan's may find more
  std::optional<AnyPlan> plan;    ///< none: the bank changed since, or prepare() was not called
  std::optional<Stream> pending;  ///< where an enqueued frame's work runs
  std::optional<MatchPlan> score_plan;  ///< score()'s, of the template `scoring`
  std::uint32_t scoring = 0;

  /// Passes a status on; what was stopped half-way cannot be gone on with.
  Status heeded(Status status) {
    if (status.code() != Code::stopped) return status;
    if (pending) static_cast<void>(runtime(device.backend).wait(*pending));
    pending.reset();
    plan.reset();
    score_plan.reset();
    return status;
  }

  /// Takes the bank, or keeps the previous one on an error.
  Status take(Result<std::vector<BankTemplate>> made);

  Result<AnyPlan> make_plan(ElementType type, Size frame, const MatchSettings& settings);

  /// Checks what is asked for, and prepares score_plan for that template.
  Status prepare_scores(const MatrixView& frame, std::uint32_t template_index);

  ~Impl() {
    plan.reset();
    score_plan.reset();
    runtime(device.backend).destroy_stream(own_stream);
  }
};

Matcher::Matcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;
Matcher::~Matcher() = default;

Result<Matcher> Matcher::create(const Device& device) try {
  auto stream = runtime(device.backend).create_stream();
  if (!stream.ok()) return stream.status();
  auto impl = std::make_unique<Impl>();
  impl->device = device;
  impl->own_stream = stream.value();
  return Matcher(std::move(impl));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Matcher::Impl::take(Result<std::vector<BankTemplate>> made) {
  if (!made.ok()) return made.status();
  bank = std::move(made.value());
  trimmed_bank = trimmed(bank);
  plan.reset();
  score_plan.reset();
  return {};
}

Status SharedBank::give(Matcher& matcher, std::vector<BankTemplate> bank) {
  return matcher.impl_->take(std::move(bank));
}

Status Matcher::set_templates(std::span<const MatrixView> templates,
                              std::span<const MatrixView> masks) try {
  return impl_->take(make_bank(templates, masks));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Matcher::set_templates(std::span<const std::shared_ptr<const LiveTemplate>> templates,
                              std::span<const MatrixView> masks) try {
  return impl_->take(make_bank(templates, impl_->device, masks));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Result<AnyPlan> Matcher::Impl::make_plan(ElementType type, Size frame,
                                         const MatchSettings& settings) {
  const auto as_any = [](auto made) -> Result<AnyPlan> {
    if (!made.ok()) return made.status();
    return AnyPlan(std::move(made.value()));
  };
  if (settings.poses.any())
    return as_any(PosePlan::make(device, bank, type, frame, settings, own_stream));
  const std::vector<BankTemplate>& searched =
      compare_trimmed(settings, frame) ? trimmed_bank : bank;
  KernelOfGroup kernels;
  if (is_tuning_requested(settings.kernel))
    kernels = tuner.kernels({device, searched, type, frame, settings, own_stream});
  return as_any(MatchPlan::make(device, searched, type, frame, settings, own_stream, kernels,
                                Memory::host, false, {}, upright_overhang(settings)));
}

Status Matcher::prepare(ElementType type, Size frame, const MatchSettings& settings) try {
  if (Status status = check_task(type, frame, settings); !status.ok()) return status;
  if (!impl_->bank.empty() && impl_->bank.front().type != type)
    return {Code::invalid_argument, std::string("frames of ") + name_of(type) + ", templates of " +
                                        name_of(impl_->bank.front().type)};
  if (Status s = check_bank(impl_->bank, settings); !s.ok()) return s;
  const MatchSettings search = search_for_confidence(settings);
  auto& plan = impl_->plan;
  if (plan && type_of(*plan) == type && frame_of(*plan) == frame && adopt(*plan, search)) {
    impl_->asked = settings;
    return {};
  }
  // Checked even if there are no templates to match.
  if (Status s = check_matching_name(impl_->device, settings.kernel); !s.ok()) return s;
  const auto make = [&] {
    const MemoryLimit limit(settings.budget.max_memory);
    auto made = impl_->make_plan(type, frame, search);
    if (made.ok()) impl_->bytes = limit.used();
    return made;
  };
  auto made = make();
  if (!made.ok()) return impl_->heeded(made.status());
  plan = std::move(made.value());
  impl_->asked = settings;
  impl_->score_plan.reset();
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Cost Matcher::cost() const {
  if (!impl_->plan) return {};
  return {seconds_of(*impl_->plan), impl_->bytes};
}

Status Matcher::all_fit() const try {
  const auto text_of = [](Size size) {
    return std::to_string(size.width) + "x" + std::to_string(size.height);
  };
  if (!impl_->plan) return {Code::invalid_argument, "prepare() has not been called"};
  for (std::size_t i = 0; i < impl_->bank.size(); ++i)
    if (!std::visit([&](const auto& p) { return p.fits(static_cast<std::uint32_t>(i)); },
                    *impl_->plan))
      return {Code::invalid_argument,
              "template " + std::to_string(i) + " of " + text_of(impl_->bank[i].size) +
                  " does not fit into the search region of " +
                  text_of(std::visit([](const auto& p) { return p.region(); }, *impl_->plan))};
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Matcher::enqueue(const MatrixView& frame, Stream stream) try {
  if (Status status = check_frame(impl_->plan, frame); !status.ok()) return status;
  impl_->pending.reset();
  if (!stream.handle) stream = impl_->own_stream;
  const PacedScope paced(seconds_of(*impl_->plan) > longest_unpaced);
  if (Status status =
          std::visit([&](auto& plan) { return plan.enqueue(frame, stream); }, *impl_->plan);
      !status.ok())
    return impl_->heeded(std::move(status));
  impl_->pending = stream;
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Matcher::collect(std::vector<Peak>& peaks) try {
  peaks.clear();
  if (!impl_->pending || !impl_->plan) return {Code::invalid_argument, "no frame is enqueued"};
  const Stream stream = *impl_->pending;
  impl_->pending.reset();
  if (Status status = runtime(impl_->device.backend).wait(stream); !status.ok()) return status;
  std::visit([&](const auto& plan) { plan.collect(peaks); }, *impl_->plan);
  const MatchSettings& asked = impl_->asked;
  keep_sure(peaks, asked);
  if (asked.best_template) keep_best_templates(peaks, asked.poses.max_overlap);
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Matcher::Impl::prepare_scores(const MatrixView& frame, std::uint32_t template_index) {
  if (Status status = check_frame(plan, frame); !status.ok()) return status;
  if (template_index >= bank.size())
    return {Code::invalid_argument, "there is no template " + std::to_string(template_index)};
  MatchSettings settings = settings_of(*plan);
  settings.poses = {};
  // Upright templates have weights in frames of u8 only: in others the heavy pixels are a mask.
  settings.weights = settings.weights && bank[template_index].type == ElementType::u8;
  if (score_plan && scoring == template_index && score_plan->adopt(settings)) return {};
  score_plan.reset();
  BankTemplate t = bank[template_index];
  if (settings_of(*plan).weights && !settings.weights && !t.weights.empty())
    t.mask = heavy_ones(std::exchange(t.weights, {}));
  const Size region = searched_region(frame.size, settings.search_region).size();
  KernelOfGroup kernels;
  if (!xcorr::places(*plan, t.size).empty()) {
    // With a kernel that leaves a surface, which `settings.kernel` need not be.
    auto kernel = select_variant<stage::Correlate>(
        problem_of_group(t.type, region, key_of(t, settings), 1, settings).correlation(), device,
        "");
    if (!kernel.ok()) return kernel.status();
    kernels[key_of(t, settings)] = kernel.value()->name;
  }
  auto made = MatchPlan::make(device, {t}, t.type, frame.size, settings, own_stream, kernels);
  if (!made.ok()) return made.status();
  score_plan = std::move(made.value());
  scoring = template_index;
  return {};
}

Rect Matcher::places(std::uint32_t template_index) const {
  if (!impl_->plan || template_index >= impl_->bank.size()) return {};
  return xcorr::places(*impl_->plan, impl_->bank[template_index].size);
}

Status Matcher::score(const MatrixView& frame, std::uint32_t template_index, const ScoreMap& scores,
                      Stream stream) try {
  if (Status status = impl_->prepare_scores(frame, template_index); !status.ok()) return status;
  const Rect where = places(template_index);
  if (where.empty()) return {};
  if (!scores.data) return {Code::invalid_argument, "the scores have no data"};
  if (scores.pitch < where.width * std::ptrdiff_t{sizeof(float)})
    return {Code::invalid_argument, "the scores have a pitch shorter than their rows"};
  if (!stream.handle) stream = impl_->own_stream;
  if (Status status = impl_->score_plan->score(frame, scores, stream); !status.ok()) {
    // It may have been stopped half-way; a frame that is enqueued has nothing to do with it.
    static_cast<void>(runtime(impl_->device.backend).wait(stream));
    impl_->score_plan.reset();
    return status;
  }
  if (scores.memory == Memory::device) return {};
  return runtime(impl_->device.backend).wait(stream);
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Matcher::respond(const MatrixView& frame, std::uint32_t template_index,
                        Response& response) try {
  const Rect where = places(template_index);
  response.places = where;
  response.values.resize(where.size().area());
  const ScoreMap scores{response.values.data(), where.width * std::ptrdiff_t{sizeof(float)}};
  if (Status status = score(frame, template_index, scores); !status.ok()) return status;
  impl_->score_plan->to_similarity(response.values);
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

std::string Matcher::kernel() const {
  if (!impl_->plan) return "";
  return std::visit([](const auto& plan) { return plan.kernel(); }, *impl_->plan);
}

const std::string& Matcher::tuning() const { return impl_->tuner.report(); }

}  // namespace xcorr
