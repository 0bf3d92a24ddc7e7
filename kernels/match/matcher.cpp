// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/exceptions.hpp>
#include <xcorr/match.hpp>

#include <algorithm>
#include <optional>

#include "match/bank.hpp"
#include "match/image.hpp"
#include "match/plan.hpp"
#include "match/tune.hpp"

namespace xcorr {
namespace {

Status check_settings(const MatchSettings& s) {
  const auto bad = [](const char* what) { return Status(Code::invalid_argument, what); };
  if (static_cast<std::size_t>(s.method) >= methods().size()) return bad("no such method");
  if (!(s.threshold >= -1 && s.threshold <= 1)) return bad("the threshold must be in [-1, 1]");
  if (s.max_peaks < 1 || s.max_peaks > 1024) return bad("max_peaks must be in [1, 1024]");
  if (s.min_peak_distance < 0) return bad("min_peak_distance must not be negative");
  if (!(s.prefilter_sigma >= 0 && s.prefilter_sigma <= 10))
    return bad("prefilter_sigma must be in [0, 10]");
  return {};
}

/// Checks that the frame is what prepare() was called for.
Status check_frame(const std::optional<MatchPlan>& plan, const MatrixView& frame) {
  if (!plan) return {Code::invalid_argument, "prepare() has not been called"};
  if (frame.type != plan->type() || frame.size != plan->frame())
    return {Code::invalid_argument, "the frame is not of the prepared type and size"};
  if (!frame.data) return {Code::invalid_argument, "the frame has no data"};
  return check_rows(frame, "the frame");
}

}  // namespace

Rect searched_region(Size frame, const Rect& region) {
  if (region.empty()) return {0, 0, frame.width, frame.height};
  const int x = std::clamp(region.x, 0, frame.width), y = std::clamp(region.y, 0, frame.height);
  // The end may exceed an int.
  const auto end = [](std::int64_t start, int length, int limit) {
    return static_cast<int>(std::clamp<std::int64_t>(start + length, 0, limit));
  };
  return {x, y, end(region.x, region.width, frame.width) - x,
          end(region.y, region.height, frame.height) - y};
}

struct __attribute__((visibility("hidden"))) Matcher::Impl {
  Device device;
  Stream own_stream;
  std::vector<BankTemplate> bank;
  Tuner tuner;
  std::optional<MatchPlan> plan;  ///< none: the bank changed since, or prepare() was not called
  std::optional<Stream> pending;  ///< where an enqueued frame's work runs
  std::optional<MatchPlan> response_plan;  ///< respond()'s, of the template `responding`
  std::uint32_t responding = 0;

  /// Takes the bank, or keeps the previous one on an error.
  Status take(Result<std::vector<BankTemplate>> made);

  /// Prepares response_plan for that template.
  Status prepare_response(std::uint32_t template_index);

  ~Impl() {
    plan.reset();
    response_plan.reset();
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
  plan.reset();
  response_plan.reset();
  return {};
}

Status Matcher::set_templates(std::span<const MatrixView> templates,
                              std::span<const MatrixView> masks) try {
  return impl_->take(make_bank(templates, masks));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Matcher::set_templates(std::span<const std::shared_ptr<const LiveTemplate>> templates,
                              std::span<const MatrixView> masks) try {
  return impl_->take(make_bank(templates, impl_->device.backend, masks));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Matcher::prepare(ElementType type, Size frame, const MatchSettings& settings) try {
  if (Status status = check_settings(settings); !status.ok()) return status;
  if (frame.empty()) return {Code::invalid_argument, "the frame is empty"};
  if (!impl_->bank.empty() && impl_->bank.front().type != type)
    return {Code::invalid_argument, std::string("frames of ") + name_of(type) + ", templates of " +
                                        name_of(impl_->bank.front().type)};
  auto& plan = impl_->plan;
  if (plan && plan->type() == type && plan->frame() == frame && plan->adopt(settings)) return {};
  // Checked even if there are no templates to match.
  if (Status s = check_matching_name(impl_->device, settings.kernel); !s.ok()) return s;
  KernelOfGroup kernels;
  if (is_tuning_requested(settings.kernel))
    kernels = impl_->tuner.kernels(
        {impl_->device, impl_->bank, type, frame, settings, impl_->own_stream});
  auto made = MatchPlan::make(impl_->device, impl_->bank, type, frame, settings, impl_->own_stream,
                              kernels);
  if (!made.ok()) return made.status();
  plan = std::move(made.value());
  impl_->response_plan.reset();
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Matcher::all_fit() const try {
  const auto text_of = [](Size size) {
    return std::to_string(size.width) + "x" + std::to_string(size.height);
  };
  if (!impl_->plan) return {Code::invalid_argument, "prepare() has not been called"};
  for (std::size_t i = 0; i < impl_->bank.size(); ++i)
    if (const Size size = impl_->bank[i].size; impl_->plan->places(size).empty())
      return {Code::invalid_argument, "template " + std::to_string(i) + " of " + text_of(size) +
                                          " does not fit into the search region of " +
                                          text_of(impl_->plan->region())};
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Matcher::enqueue(const MatrixView& frame, Stream stream) try {
  if (Status status = check_frame(impl_->plan, frame); !status.ok()) return status;
  impl_->pending.reset();
  if (!stream.handle) stream = impl_->own_stream;
  if (Status status = impl_->plan->enqueue(frame, stream); !status.ok()) return status;
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
  impl_->plan->collect(peaks);
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Matcher::Impl::prepare_response(std::uint32_t template_index) {
  const MatchSettings& settings = plan->settings();
  if (response_plan && responding == template_index && response_plan->adopt(settings)) return {};
  response_plan.reset();
  const BankTemplate& t = bank[template_index];
  const Size region = searched_region(plan->frame(), settings.search_region).size();
  KernelOfGroup kernels;
  if (!plan->places(t.size).empty()) {
    // With a kernel that leaves a surface, which `settings.kernel` need not be.
    auto kernel = select_variant<stage::Correlate>(
        problem_of_group(t.type, region, GroupKey(t), 1, settings).correlation(), device, "");
    if (!kernel.ok()) return kernel.status();
    kernels[GroupKey(t)] = kernel.value()->name;
  }
  auto made = MatchPlan::make(device, {t}, t.type, plan->frame(), settings, own_stream, kernels);
  if (!made.ok()) return made.status();
  response_plan = std::move(made.value());
  responding = template_index;
  return {};
}

Status Matcher::respond(const MatrixView& frame, std::uint32_t template_index,
                        Response& response) try {
  if (Status status = check_frame(impl_->plan, frame); !status.ok()) return status;
  if (template_index >= impl_->bank.size())
    return {Code::invalid_argument, "there is no template " + std::to_string(template_index)};
  if (Status status = impl_->prepare_response(template_index); !status.ok()) return status;
  MatchPlan& plan = *impl_->response_plan;
  const Stream stream = impl_->own_stream;
  if (Status status = plan.enqueue(frame, stream); !status.ok()) return status;
  if (Status status = plan.read_scores(response.values, stream); !status.ok()) return status;
  if (Status status = runtime(impl_->device.backend).wait(stream); !status.ok()) return status;
  plan.to_closeness(response.values);
  response.places = plan.places(impl_->bank[template_index].size);
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

std::string Matcher::kernel() const { return impl_->plan ? impl_->plan->kernel() : ""; }

const std::string& Matcher::tuning() const { return impl_->tuner.report(); }

}  // namespace xcorr
