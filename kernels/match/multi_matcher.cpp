// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/exceptions.hpp>
#include <xcorr/multi_matcher.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include "match/balance_templates.hpp"
#include "match/bank.hpp"
#include "match/device_thread.hpp"

namespace xcorr {
namespace {

/// A device with its share of the templates.
struct Part {
  explicit Part(const Device& device) : device(device) {}
  Part(Part&&) = default;
  ~Part() {
    static_cast<void>(run([](Part& part) { return part.close(); }));
  }

  Status open() {
    auto made = Matcher::create(device);
    if (made.ok()) matcher.emplace(std::move(made.value()));
    return made.status();
  }
  Status close() {
    matcher.reset();
    return {};
  }

  /// The first part has no thread: it works in the caller's.
  Status run(const auto& work) {
    return thread ? thread->run([&] { return work(*this); }) : work(*this);
  }

  Device device;
  std::unique_ptr<DeviceThread> thread;
  std::optional<Matcher> matcher;
  std::vector<std::uint32_t> templates;  ///< positions in the bank, ascending
  std::vector<Peak> peaks;
};

Status check_devices(std::span<const Device> devices) {
  if (devices.empty()) return {Code::invalid_argument, "there must be a device at least"};
  for (auto device = devices.begin(); device != devices.end(); ++device)
    if (device->backend == Backend::cuda &&
        std::ranges::find(devices.begin(), device, device->ordinal, &Device::ordinal) != device)
      return {Code::invalid_argument,
              "the CUDA device " + std::to_string(device->ordinal) + " is named twice"};
  return {};
}

}  // namespace

struct __attribute__((visibility("hidden"))) MultiMatcher::Impl {
  std::vector<Part> parts;
  bool prepared = false;
  bool best_template = false;
  double max_overlap = 0;
  std::string tuning;

  bool has_work(const Part& part) const {
    return &part == &parts.front() || !part.templates.empty();
  }

  /// At once by all that have templates, and by the first. The first error there is.
  Status by_all(const auto& work) {
    for (Part& part : parts)
      if (part.thread && has_work(part)) part.thread->begin([&work, &part] { return work(part); });
    Status status = work(parts.front());
    for (Part& part : parts)
      if (part.thread && has_work(part))
        if (Status theirs = part.thread->finish(); status.ok()) status = std::move(theirs);
    return status;
  }

  /// One after the other.
  Status by_each(const auto& work) {
    for (Part& part : parts)
      if (Status s = part.run(work); !s.ok()) return s;
    return {};
  }

  /// Gives each part its share. If that fails, none has any.
  Status share(const std::vector<BankTemplate>& bank);
  void take_away();
};

MultiMatcher::MultiMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MultiMatcher::MultiMatcher(MultiMatcher&&) noexcept = default;
MultiMatcher& MultiMatcher::operator=(MultiMatcher&&) noexcept = default;
MultiMatcher::~MultiMatcher() = default;

Result<MultiMatcher> MultiMatcher::create(std::span<const Device> devices) try {
  if (Status s = check_devices(devices); !s.ok()) return s;
  auto impl = std::make_unique<Impl>();
  impl->parts.reserve(devices.size());
  for (const Device& device : devices) {
    Part& part = impl->parts.emplace_back(device);
    if (impl->parts.size() > 1) part.thread = std::make_unique<DeviceThread>(device);
  }
  if (Status s = impl->by_each([](Part& part) { return part.open(); }); !s.ok()) return s;
  return MultiMatcher(std::move(impl));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

void MultiMatcher::Impl::take_away() {
  static_cast<void>(by_each([](Part& part) {
    part.templates.clear();
    return part.matcher->set_templates(std::span<const MatrixView>());
  }));
}

Status MultiMatcher::Impl::share(const std::vector<BankTemplate>& bank) {
  std::vector<std::int64_t> costs;
  for (const BankTemplate& t : bank) costs.push_back(t.size.area());
  auto shares = balance_templates(costs, parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i].templates = std::move(shares[i]);
  Status status = by_each([&](Part& part) {
    std::vector<BankTemplate> own;
    for (const std::uint32_t index : part.templates) own.push_back(bank[index]);
    return SharedBank::give(*part.matcher, std::move(own));
  });
  if (!status.ok()) take_away();
  return status;
}

Status MultiMatcher::set_templates(std::span<const MatrixView> templates,
                                   std::span<const MatrixView> masks) try {
  const auto bank = make_bank(templates, masks);  // tells of errors before anything is changed
  if (!bank.ok()) return bank.status();
  impl_->prepared = false;
  return impl_->share(bank.value());
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status MultiMatcher::set_templates(std::span<const std::shared_ptr<const LiveTemplate>> templates,
                                   std::span<const MatrixView> masks) try {
  Part& first = impl_->parts.front();
  auto bank = make_bank(templates, first.device, masks);
  if (!bank.ok()) return bank.status();
  impl_->prepared = false;
  impl_->take_away();
  if (Status s = SharedBank::give(*first.matcher, std::move(bank.value())); !s.ok()) return s;
  for (std::uint32_t i = 0; i < templates.size(); ++i) first.templates.push_back(i);
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status MultiMatcher::prepare(ElementType type, Size frame, const MatchSettings& settings) try {
  impl_->prepared = false;
  MatchSettings of_part = settings;
  of_part.best_template = false;  // of all templates, which are here only
  impl_->tuning.clear();
  Status status = impl_->by_each([&](Part& part) {
    if (!impl_->has_work(part)) return Status();
    Status prepared = part.matcher->prepare(type, frame, of_part);
    const std::string& tuning = part.matcher->tuning();
    if (!tuning.empty()) impl_->tuning += (impl_->tuning.empty() ? "" : "; ") + tuning;
    return prepared;
  });
  if (!status.ok()) return status;
  impl_->best_template = settings.best_template;
  impl_->max_overlap = settings.poses.max_overlap;
  impl_->prepared = true;
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Cost MultiMatcher::cost() const {
  Cost all;
  for (const Part& part : impl_->parts) {
    const Cost one = part.matcher->cost();
    all.seconds = std::max(all.seconds, one.seconds);
    all.bytes += one.bytes;
  }
  return all;
}

Status MultiMatcher::enqueue(const MatrixView& frame) try {
  if (!impl_->prepared) return {Code::invalid_argument, "prepare() has not been called"};
  Status status = impl_->by_all([&](Part& part) { return part.matcher->enqueue(frame); });
  // Those that have the frame must not read it any more.
  if (!status.ok())
    static_cast<void>(impl_->by_all([](Part& part) { return part.matcher->collect(part.peaks); }));
  return status;
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status MultiMatcher::collect(std::vector<Peak>& peaks) try {
  peaks.clear();
  if (Status s = impl_->by_all([](Part& part) { return part.matcher->collect(part.peaks); });
      !s.ok())
    return s;
  for (Part& part : impl_->parts) {
    if (!impl_->has_work(part)) continue;
    for (Peak& peak : part.peaks) peak.template_index = part.templates[peak.template_index];
    peaks.insert(peaks.end(), part.peaks.begin(), part.peaks.end());
  }
  std::ranges::stable_sort(peaks, {}, &Peak::template_index);
  if (impl_->best_template) keep_best_templates(peaks, impl_->max_overlap);
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status MultiMatcher::respond(const MatrixView& frame, std::uint32_t template_index,
                             Response& response) try {
  if (!impl_->prepared) return {Code::invalid_argument, "prepare() has not been called"};
  for (Part& part : impl_->parts) {
    const auto found = std::ranges::find(part.templates, template_index);
    if (found == part.templates.end()) continue;
    const auto own = static_cast<std::uint32_t>(found - part.templates.begin());
    return part.run([&](Part& p) { return p.matcher->respond(frame, own, response); });
  }
  return {Code::invalid_argument, "there is no template " + std::to_string(template_index)};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

std::string MultiMatcher::kernel() const { return impl_->parts.front().matcher->kernel(); }

const std::string& MultiMatcher::tuning() const { return impl_->tuning; }

}  // namespace xcorr
