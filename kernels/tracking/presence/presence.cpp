// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/presence.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace xcorr {
namespace {

/// Of a label that is there, or waits to be confirmed.
struct Shown {
  bool confirmed = false;
  int seen = 0, missed = 0;  ///< analysed frames in a row; the former until it is confirmed
  FrameTime first, last;
  Target at_first{}, at_last{};
  std::uint64_t unanalysed_before = 0, unanalysed_after = 0;
};

struct Label {
  std::string name;
  Shown shown{};
  bool active = false;               ///< `shown` says something
  const Target* sighting = nullptr;  ///< during an update

  void now_of(std::uint32_t template_index) {
    shown.at_first.peak.template_index = shown.at_last.peak.template_index = template_index;
  }
};

PresenceEvent appeared(const Label& label) {
  const Shown& shown = label.shown;
  return {PresenceChange::appeared, label.name,    shown.first, shown.last,
          shown.unanalysed_before,  shown.at_first};
}

PresenceEvent gone(const Label& label) {
  const Shown& shown = label.shown;
  return {PresenceChange::gone,   label.name,   shown.first, shown.last,
          shown.unanalysed_after, shown.at_last};
}

}  // namespace

struct __attribute__((visibility("hidden"))) Presence::Impl {
  void see(Label& label, const FrameTime& time);
  void miss(Label& label);
  void look_for(std::span<const Target> targets);

  PresenceSettings settings;
  std::vector<std::size_t> of_templates;  ///< indices of labels
  std::vector<Label> labels;
  std::vector<std::size_t> active;  ///< those of them that are
  std::uint64_t unanalysed = 0;     ///< frames in a row
  std::vector<Target> newcomers;
  std::vector<PresenceEvent> events;
};

Presence::Presence() : impl_(std::make_unique<Impl>()) {}
Presence::Presence(Presence&&) noexcept = default;
Presence& Presence::operator=(Presence&&) noexcept = default;
Presence::~Presence() = default;

const char* name_of(PresenceChange change) {
  return change == PresenceChange::appeared ? "appeared" : "gone";
}

void Presence::configure(const PresenceSettings& settings) { impl_->settings = settings; }

void Presence::set_labels(std::span<const std::string> names) {
  std::map<std::string, Label> before;
  for (const std::size_t index : impl_->active)
    before[impl_->labels[index].name] = std::move(impl_->labels[index]);
  impl_->of_templates.clear();
  impl_->labels.clear();
  impl_->active.clear();
  impl_->newcomers.clear();
  std::map<std::string, std::size_t> indices;
  for (const std::string& name : names) {
    const auto [known, is_new] = indices.try_emplace(name, impl_->labels.size());
    impl_->of_templates.push_back(known->second);
    if (!is_new) continue;
    const auto kept = before.extract(name);
    impl_->labels.push_back(kept ? std::move(kept.mapped()) : Label{name});
    if (!kept) continue;
    impl_->active.push_back(known->second);
    impl_->labels.back().now_of(static_cast<std::uint32_t>(impl_->of_templates.size() - 1));
  }
  for (auto& [name, label] : before) {
    label.now_of(no_template);
    if (label.shown.confirmed) impl_->events.push_back(gone(label));
  }
}

/// The most confident target of each label.
void Presence::Impl::look_for(std::span<const Target> targets) {
  for (const Target& target : targets) {
    if (target.lost || target.peak.template_index >= of_templates.size()) continue;
    const std::size_t index = of_templates[target.peak.template_index];
    Label& label = labels[index];
    if (!label.active) {
      label.active = true;
      label.shown = {};
      active.push_back(index);
    }
    if (!label.sighting || target.confidence > label.sighting->confidence) label.sighting = &target;
  }
}

void Presence::Impl::see(Label& label, const FrameTime& time) {
  Shown& shown = label.shown;
  if (shown.seen == 0) {
    shown.first = time;
    shown.at_first = *label.sighting;
    shown.unanalysed_before = unanalysed;
    newcomers.push_back(*label.sighting);
  }
  shown.last = time;
  shown.at_last = *label.sighting;
  shown.missed = 0;
  if (shown.confirmed || ++shown.seen < settings.appear_frames) return;
  shown.confirmed = true;
  events.push_back(appeared(label));
}

void Presence::Impl::miss(Label& label) {
  Shown& shown = label.shown;
  if (!shown.confirmed) {
    label.active = false;
    return;
  }
  if (shown.missed == 0) shown.unanalysed_after = unanalysed;
  if (++shown.missed < settings.gone_frames) return;
  label.active = false;
  events.push_back(gone(label));
}

void Presence::update(const FrameTime& time, std::span<const Target> targets) {
  impl_->newcomers.clear();
  impl_->look_for(targets);
  for (const std::size_t index : impl_->active) {
    Label& label = impl_->labels[index];
    if (label.sighting)
      impl_->see(label, time);
    else
      impl_->miss(label);
    label.sighting = nullptr;
  }
  std::erase_if(impl_->active, [this](std::size_t index) { return !impl_->labels[index].active; });
  impl_->unanalysed = 0;
}

void Presence::skip() { ++impl_->unanalysed; }

void Presence::interrupt() {
  std::erase_if(impl_->active, [this](std::size_t index) {
    Label& label = impl_->labels[index];
    return !(label.active = label.shown.confirmed);
  });
  impl_->unanalysed = 0;
}

std::span<const Target> Presence::newcomers() const { return impl_->newcomers; }

std::vector<PresenceEvent> Presence::take_events() { return std::exchange(impl_->events, {}); }

}  // namespace xcorr
