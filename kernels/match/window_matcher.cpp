// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/exceptions.hpp>
#include <xcorr/window_matcher.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <tbb/task_arena.h>

#include "match/bank.hpp"
#include "match/confidence.hpp"
#include "match/task.hpp"
#include "match/window_batch.hpp"

namespace xcorr {
namespace {

/// Windows of fewer pixels in all are searched by the calling thread alone: they take less than a
/// millisecond, and threads that wait for the next stage's work cost more than they save.
constexpr std::int64_t least_shared_out = std::int64_t{1} << 17;

/// So many windows one by one run side by side on a GPU, of which each leaves most idle.
constexpr std::size_t most_lanes = 16;

/// What windows of a batch have in common.
struct BatchKey {
  GroupKey group;
  int width, height;  ///< of the windows
  auto operator<=>(const BatchKey&) const = default;
};

/// A batch, unless its windows can only be searched one by one.
struct Batch {
  std::optional<WindowBatch> together = WindowBatch();
  std::vector<BatchedWindow> windows;  ///< of the frame
  std::vector<std::size_t> numbers;    ///< of theirs
};

/// A window that is searched by a Matcher of its own.
struct Single {
  std::size_t number;
  std::uint32_t template_index;
  Matcher* matcher;
};

bool is_same(const BankTemplate& a, const BankTemplate& b) {
  if (a.type != b.type || a.size != b.size || a.live != b.live || a.mask != b.mask ||
      a.weights != b.weights)
    return false;
  return a.live || std::ranges::equal(bytes_of(*a.pixels), bytes_of(*b.pixels));
}

Result<Matcher> matcher_of(const Device& device, const BankTemplate& t) {
  auto matcher = Matcher::create(device);
  if (!matcher.ok()) return matcher;
  if (Status s = SharedBank::give(matcher.value(), {t}); !s.ok()) return s;
  return matcher;
}

}  // namespace

struct __attribute__((visibility("hidden"))) WindowMatcher::Impl {
  Device device;
  Stream own_stream;
  std::vector<BankTemplate> bank;
  std::vector<std::vector<std::unique_ptr<Matcher>>> matchers;  ///< by template, as needed
  std::map<BatchKey, Batch> batches;
  bool prepared = false;
  ElementType type = ElementType::u8;
  Size frame;
  MatchSettings asked;     ///< of each window
  MatchSettings settings;  ///< which may find more

  std::size_t count = 0;  ///< of windows, of the last frame enqueued
  std::vector<Single> singles;
  std::vector<SideStream> lanes;  ///< of singles
  std::optional<Stream> pending;
  bool is_small = false;  ///< what is searched
  tbb::task_arena alone{1};

  ~Impl() {
    batches.clear();
    runtime(device.backend).destroy_stream(own_stream);
  }

  Status take(Result<std::vector<BankTemplate>> made);
  void forget_windows();
  bool may_batch(const SearchWindow& window) const;
  Status add_single(std::size_t number, const SearchWindow& window, std::vector<std::size_t>& used);
  Status provide(std::span<const SearchWindow> windows);
  Status provide_lanes();
  Status enqueue(const MatrixView& view, Stream stream);
  Status enqueue_singles(const MatrixView& view, Stream stream);
};

WindowMatcher::WindowMatcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WindowMatcher::WindowMatcher(WindowMatcher&&) noexcept = default;
WindowMatcher& WindowMatcher::operator=(WindowMatcher&&) noexcept = default;
WindowMatcher::~WindowMatcher() = default;

Result<WindowMatcher> WindowMatcher::create(const Device& device) try {
  auto stream = runtime(device.backend).create_stream();
  if (!stream.ok()) return stream.status();
  auto impl = std::make_unique<Impl>();
  impl->device = device;
  impl->own_stream = stream.value();
  return WindowMatcher(std::move(impl));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

// ---- templates and settings -----------------------------------------------------------------

void WindowMatcher::Impl::forget_windows() {
  count = 0;
  singles.clear();
  pending.reset();
  for (auto& [key, batch] : batches) {
    batch.windows.clear();
    batch.numbers.clear();
  }
}

Status WindowMatcher::Impl::take(Result<std::vector<BankTemplate>> made) {
  if (!made.ok()) return made.status();
  decltype(matchers) kept(made.value().size());
  for (std::size_t i = 0; i < kept.size(); ++i)
    for (std::size_t j = 0; j < bank.size() && kept[i].empty(); ++j)
      if (is_same(made.value()[i], bank[j])) kept[i] = std::move(matchers[j]);
  forget_windows();
  batches.clear();
  matchers = std::move(kept);
  bank = std::move(made.value());
  return {};
}

Status WindowMatcher::set_templates(std::span<const MatrixView> templates,
                                    std::span<const MatrixView> masks) try {
  return impl_->take(make_bank(templates, masks));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status WindowMatcher::set_templates(std::span<const std::shared_ptr<const LiveTemplate>> templates,
                                    std::span<const MatrixView> masks) try {
  return impl_->take(make_bank(templates, impl_->device, masks));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status WindowMatcher::prepare(ElementType type, Size frame, const MatchSettings& settings) try {
  MatchSettings used = settings;
  used.search_region = {};
  used.poses = {};
  used.poses.max_overlap = settings.poses.max_overlap;
  used.best_template = false;
  // Turned windows may have what upright ones may not: those are checked when they come.
  MatchSettings of_turned = used;
  of_turned.poses.angle_extent = 360;
  if (Status s = check_task(type, frame, of_turned); !s.ok()) return s;
  const MatchSettings asked = std::exchange(used, search_for_confidence(used));
  if (impl_->prepared && type == impl_->type && frame == impl_->frame && used == impl_->settings) {
    impl_->asked = asked;
    return {};
  }
  if (Status s = check_matching_name(impl_->device, used.kernel); !s.ok()) return s;
  impl_->forget_windows();
  impl_->batches.clear();
  impl_->type = type;
  impl_->frame = frame;
  impl_->asked = asked;
  impl_->settings = used;
  impl_->prepared = true;
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

// ---- windows --------------------------------------------------------------------------------

/// Whether it may be searched together with others: it lies inside the frame as it is, and matches
/// inside it.
bool WindowMatcher::Impl::may_batch(const SearchWindow& window) const {
  const BankTemplate& t = bank[window.template_index];
  const Rect& r = window.region;
  const bool meets_border =
      r.x == 0 || r.y == 0 || r.x + r.width == frame.width || r.y + r.height == frame.height;
  return type == ElementType::u8 && t.type == type && !is_on_edges(settings.match_on) &&
         !window.poses.any() && (!settings.weights || can_weigh(settings)) &&
         !window.region.empty() && searched_region(frame, window.region) == window.region &&
         t.size.width <= window.region.width && t.size.height <= window.region.height &&
         !(meets_border && overhang_of({&t, 1}, settings.overhang) != Size{});
}

Status WindowMatcher::Impl::add_single(std::size_t number, const SearchWindow& window,
                                       std::vector<std::size_t>& used) {
  auto& own = matchers[window.template_index];
  const std::size_t which = used[window.template_index]++;
  if (which == own.size()) {
    auto made = matcher_of(device, bank[window.template_index]);
    if (!made.ok()) return made.status();
    own.push_back(std::make_unique<Matcher>(std::move(made.value())));
  }
  MatchSettings asked = settings;
  asked.search_region = window.region;
  asked.poses = window.poses;
  if (Status s = own[which]->prepare(type, frame, asked); !s.ok()) return s;
  singles.push_back({number, window.template_index, own[which].get()});
  return {};
}

/// Prepares all windows; together those that can be.
Status WindowMatcher::Impl::provide(std::span<const SearchWindow> windows) {
  forget_windows();
  if (!prepared) return {Code::invalid_argument, "prepare() has not been called"};
  for (const SearchWindow& window : windows)
    if (window.template_index >= bank.size())
      return {Code::invalid_argument,
              "there is no template " + std::to_string(window.template_index)};
  count = windows.size();
  std::vector<bool> single(windows.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto& [index, region, poses] = windows[i];
    if ((single[i] = !may_batch(windows[i]))) continue;
    Batch& batch = batches[{GroupKey(bank[index]), region.width, region.height}];
    batch.windows.push_back({index, {region.x, region.y}});
    batch.numbers.push_back(i);
  }
  for (auto& [key, batch] : batches) {
    if (batch.windows.empty()) continue;
    if (batch.together) {
      MatchSettings asked = settings;
      asked.search_region = {0, 0, key.width, key.height};
      const Status s =
          batch.together->provide({device, bank, frame, asked, own_stream}, batch.windows);
      if (s.ok()) continue;
      if (s.code() != Code::unsupported) return s;
      batch.together.reset();
    }
    for (const std::size_t number : batch.numbers) single[number] = true;
    batch.windows.clear();
    batch.numbers.clear();
  }
  std::int64_t pixels = 0;
  for (const SearchWindow& window : windows)
    pixels += searched_region(frame, window.region).size().area();
  is_small = pixels < least_shared_out &&
             std::ranges::none_of(windows, [](const auto& window) { return window.poses.any(); });
  std::vector<std::size_t> used(bank.size());
  for (std::size_t i = 0; i < windows.size(); ++i)
    if (single[i])
      if (Status s = add_single(i, windows[i], used); !s.ok()) return s;
  return provide_lanes();
}

Status WindowMatcher::Impl::provide_lanes() {
  if (device.backend == Backend::cpu || singles.size() < 2) return {};
  while (lanes.size() < std::min(singles.size(), most_lanes)) {
    auto made = SideStream::make(device.backend);
    if (!made.ok()) return made.status();
    lanes.push_back(std::move(made.value()));
  }
  return {};
}

Status WindowMatcher::provide(std::span<const SearchWindow> windows) try {
  const Status status = impl_->provide(windows);
  impl_->forget_windows();
  return status;
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status WindowMatcher::Impl::enqueue(const MatrixView& view, Stream stream) {
  for (auto& [key, batch] : batches)
    if (!batch.windows.empty())
      if (Status s = batch.together->enqueue(view, batch.windows, stream); !s.ok()) return s;
  const auto search = [&] { return enqueue_singles(view, stream); };
  return is_small && device.backend == Backend::cpu ? alone.execute(search) : search();
}

Status WindowMatcher::Impl::enqueue_singles(const MatrixView& view, Stream stream) {
  const std::size_t beside = singles.size() > 1 ? std::min(lanes.size(), singles.size()) : 0;
  const auto used = std::span(lanes).first(beside);
  for (SideStream& lane : used)
    if (Status s = lane.fork(stream); !s.ok()) return s;
  for (std::size_t i = 0; i < singles.size(); ++i)
    if (Status s = singles[i].matcher->enqueue(
            view, used.empty() ? stream : used[i % used.size()].stream());
        !s.ok())
      return s;
  for (SideStream& lane : used)
    if (Status s = lane.join(stream); !s.ok()) return s;
  return {};
}

Status WindowMatcher::enqueue(const MatrixView& frame, std::span<const SearchWindow> windows,
                              Stream stream) try {
  if (Status s = impl_->provide(windows); !s.ok()) {
    impl_->forget_windows();
    return s;
  }
  if (Status s = check_frame(frame, impl_->type, impl_->frame, impl_->settings.match_on); !s.ok()) {
    impl_->forget_windows();
    return s;
  }
  impl_->pending = stream.handle ? stream : impl_->own_stream;
  const Status status = impl_->enqueue(frame, *impl_->pending);
  if (!status.ok()) {  // nothing may read the frame any more, and batches may have no results
    for (auto& [key, batch] : impl_->batches) batch.windows.clear();
    std::vector<std::vector<Peak>> unused;
    static_cast<void>(collect(unused));
  }
  return status;
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status WindowMatcher::collect(std::vector<std::vector<Peak>>& peaks) try {
  peaks.assign(impl_->count, {});
  if (!impl_->pending) return {Code::invalid_argument, "no frame is enqueued"};
  Status status = runtime(impl_->device.backend).wait(*std::exchange(impl_->pending, {}));
  for (const Single& single : impl_->singles) {
    std::vector<Peak>& found = peaks[single.number];
    if (Status s = single.matcher->collect(found); !s.ok() && status.ok()) status = s;
    for (Peak& peak : found) peak.template_index = single.template_index;
  }
  if (!status.ok()) return status;
  for (const auto& [key, batch] : impl_->batches) {
    if (batch.windows.empty()) continue;
    auto found = batch.together->collect();
    for (std::size_t i = 0; i < found.size(); ++i) peaks[batch.numbers[i]] = std::move(found[i]);
  }
  for (std::vector<Peak>& found : peaks) keep_sure(found, impl_->asked);
  return {};
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

std::string WindowMatcher::kernel() const {
  for (const Single& single : impl_->singles)
    if (single.number == 0) return single.matcher->kernel();
  for (const auto& [key, batch] : impl_->batches)
    if (!batch.numbers.empty() && batch.numbers.front() == 0) return batch.together->kernel();
  return "";
}

}  // namespace xcorr
