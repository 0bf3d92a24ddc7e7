// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One variant with one problem on one device: its plan, and memory with sentinels around every
// argument of its stage.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "guarded.hpp"
#include "values.hpp"

namespace checkcorr {

/// One argument of a stage: what it reads is const in its Buffers, what it writes is not.
template <class Stage>
struct Argument {
  std::string name;
  bool is_input;
  xcorr::Extent extent;
  std::function<void(typename Stage::Buffers&, std::byte*)> point;
};

template <class Stage>
std::vector<Argument<Stage>> arguments_of(const typename Stage::Problem& problem) {
  std::vector<Argument<Stage>> list;
  Stage::arguments(problem, [&](const char* name, auto member, const xcorr::Extent& extent) {
    using Pointer = std::remove_reference_t<decltype(typename Stage::Buffers().*member)>;
    using Target = std::remove_pointer_t<Pointer>;
    list.push_back({name, std::is_const_v<Target>, extent,
                    [member](typename Stage::Buffers& buffers, std::byte* data) {
                      if constexpr (std::is_void_v<Target>)
                        buffers.*member = data;
                      else
                        buffers.*member = reinterpret_cast<Pointer>(data);
                    }});
  });
  return list;
}

/// Whether launches of the stage may do only some rights.
template <class Stage>
inline constexpr bool takes_parts =
    std::is_base_of_v<xcorr::LaunchOfRights, typename Stage::Buffers>;

template <class Buffers>
void set_part(Buffers& buffers, [[maybe_unused]] int first, [[maybe_unused]] int count) {
  if constexpr (std::is_base_of_v<xcorr::LaunchOfRights, Buffers>) {
    buffers.first_right = first;
    buffers.right_count = count;
  }
  if constexpr (requires { buffers.new_left; }) buffers.new_left = first == 0;
}

/// The buffers from which a plan keeps data.
template <class Buffers>
const void* kept_rights(const Buffers& buffers) {
  if constexpr (requires { buffers.rights; })
    return buffers.rights;
  else if constexpr (requires { buffers.templates; })
    return buffers.templates;
  else if constexpr (requires { buffers.mask; })
    return buffers.mask;
  else if constexpr (requires { buffers.smoothed; })
    return buffers.smoothed;
  else
    return nullptr;
}

template <class Stage>
class Session {
 public:
  using Problem = typename Stage::Problem;

  /// Allocates, plans, uploads the inputs. `misalign`: in elements, of all pixels and surfaces.
  /// `planned`: the problem as the plan gets it.
  static xcorr::Result<Session> make(const xcorr::Variant<Stage>& variant,
                                     const xcorr::Device& device, const Problem& problem,
                                     const Problem& planned, const Values& inputs, int misalign) {
    Session s;
    s.variant_ = &variant;
    s.device_ = &device;
    s.problem_ = problem;
    s.arguments_ = arguments_of<Stage>(problem);
    for (const auto& argument : s.arguments_) {
      // An input without contents is a null pointer.
      const auto found = inputs.find(argument.name);
      const bool none = argument.is_input && (found == inputs.end() || found->second.empty());
      auto made = none ? Guarded()
                       : Guarded::make(device.backend, argument.extent.bytes,
                                       misalign * argument.extent.element);
      if (!made.ok()) return made.status();
      s.memory_.push_back(std::move(made.value()));
    }
    auto workspace = Guarded::make(device.backend, variant.workspace_bytes(problem, device), 0);
    if (!workspace.ok()) return workspace.status();
    s.workspace_ = std::move(workspace.value());
    auto state = variant.make_plan(planned, device);
    if (!state.ok()) return state.status();
    s.state_ = std::move(state.value());
    if (xcorr::Status status = s.replace(inputs); !status.ok()) return status;
    return s;
  }

  /// Replaces the inputs, as by another frame and bank.
  xcorr::Status replace(const Values& inputs) {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      if (arguments_[i].is_input && memory_[i].data())
        if (xcorr::Status s = memory_[i].write(inputs.at(arguments_[i].name)); !s.ok()) return s;
    return {};
  }

  /// Passes the rights in memory to the plan.
  xcorr::Status set_rights() {
    const void* rights = kept_rights(buffers(0));
    return state_ && rights ? state_->set_rights(rights, {}) : xcorr::Status();
  }

  xcorr::Status poison() {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      if (!arguments_[i].is_input)
        if (xcorr::Status s = memory_[i].poison(); !s.ok()) return s;
    return workspace_.poison();
  }

  /// Enqueues the rights [first, first + count), where the stage has rights.
  xcorr::Status launch(int first, int count) {
    auto b = buffers(first);
    set_part(b, first, count);
    return variant_->launch(problem_, *device_, b, state_.get());
  }
  xcorr::Status wait() { return xcorr::runtime(device_->backend).wait({}); }

  /// Fetches the outputs. The string is empty, or names the guard or input that changed.
  /// `may_change`: whether an input may.
  xcorr::Result<std::string> read(
      Values& outputs,
      const std::function<bool(const std::string&)>& may_change = [](auto&) { return false; }) {
    std::string wrong;
    const auto fetch = [&](Guarded& memory, bool constant, const std::string& name,
                           std::vector<std::byte>& bytes) -> xcorr::Status {
      auto said = memory.read(bytes, constant);
      if (said.ok() && !said.value().empty() && wrong.empty()) wrong = said.value() + name;
      return said.status();
    };
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (!memory_[i].data()) continue;
      const auto& argument = arguments_[i];
      std::vector<std::byte> bytes;
      const bool constant = argument.is_input && !may_change(argument.name);
      if (xcorr::Status s = fetch(memory_[i], constant, argument.name, bytes); !s.ok()) return s;
      if (!argument.is_input) outputs[argument.name] = std::move(bytes);
    }
    std::vector<std::byte> scratch;
    if (xcorr::Status s = fetch(workspace_, false, "the workspace", scratch); !s.ok()) return s;
    return wrong;
  }

  /// See PlanState::product_error; 0: none.
  xcorr::Result<float> product_error() {
    const float* error = state_ ? state_->product_error() : nullptr;
    if (!error) return 0.0f;
    float value = 0;
    const auto& runtime = xcorr::runtime(device_->backend);
    const auto copy = xcorr::bytes_copy(&value, error, sizeof value);
    if (auto s = runtime.copy(copy, xcorr::Memory::device, xcorr::Memory::host, {}); !s.ok())
      return s;
    if (auto s = runtime.wait({}); !s.ok()) return s;
    return value;
  }

 private:
  typename Stage::Buffers buffers(int first) {
    typename Stage::Buffers b;
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      if (memory_[i].data())
        arguments_[i].point(b, memory_[i].data() + first * arguments_[i].extent.right_stride);
    b.workspace = workspace_.data();
    return b;
  }

  const xcorr::Variant<Stage>* variant_ = nullptr;
  const xcorr::Device* device_ = nullptr;
  Problem problem_;
  std::unique_ptr<xcorr::PlanState> state_;
  std::vector<Argument<Stage>> arguments_;
  std::vector<Guarded> memory_;  ///< of each argument
  Guarded workspace_;
};

}  // namespace checkcorr
