// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A variant ready to run many times, for benchmarks: its plan and workspace, and pointers to memory
// that all variants share. Nothing is guarded, and nothing is checked.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "session.hpp"

namespace checkcorr {

/// Memory of a device for the matrices of a case, by the names of arguments.
class Bed {
 public:
  explicit Bed(const xcorr::Device& device) : device_(device) {}

  /// At least `bytes` bytes.
  xcorr::Result<std::byte*> room(const std::string& name, std::int64_t bytes) {
    xcorr::Block& block = blocks_[name];
    if (!block.data() || block.bytes() < static_cast<std::size_t>(bytes)) {
      auto made = xcorr::Block::make(device_.backend, static_cast<std::size_t>(bytes));
      if (!made.ok()) return made.status();
      block = std::move(made.value());
    }
    return block.as<std::byte>();
  }
  const xcorr::Block& block(const std::string& name) const { return blocks_.at(name); }

 private:
  const xcorr::Device& device_;
  std::map<std::string, xcorr::Block> blocks_;
};

class Job {
 public:
  virtual ~Job() = default;
  /// Copies the stage's inputs, and waits. Products are declared free of error.
  virtual xcorr::Status fill(const Values& values) = 0;
  virtual xcorr::Status set_rights() = 0;
  virtual xcorr::Status launch() = 0;
};

template <class Stage>
class StageJob final : public Job {
 public:
  using Problem = typename Stage::Problem;

  static xcorr::Result<std::unique_ptr<Job>> make(const xcorr::Variant<Stage>& variant,
                                                  const xcorr::Device& device,
                                                  const Problem& problem, int rights, Bed& bed) {
    auto job = std::make_unique<StageJob>();
    job->variant_ = &variant;
    job->device_ = &device;
    job->problem_ = problem;
    job->arguments_ = arguments_of<Stage>(problem);
    for (const auto& argument : job->arguments_) {
      if (argument.name == "product_error") continue;
      auto data = bed.room(argument.name, argument.extent.bytes);
      if (!data.ok()) return data.status();
      argument.point(job->buffers_, data.value());
      job->data_[argument.name] = data.value();
    }
    auto state = variant.make_plan(problem, device);
    if (!state.ok()) return state.status();
    job->state_ = std::move(state.value());
    auto workspace = xcorr::Block::make(device.backend, variant.workspace_bytes(problem, device));
    if (!workspace.ok()) return workspace.status();
    job->workspace_ = std::move(workspace.value());
    job->buffers_.workspace = job->workspace_.data();
    set_part(job->buffers_, 0, rights);
    return std::unique_ptr<Job>(std::move(job));
  }

  xcorr::Status fill(const Values& values) override {
    const auto& runtime = xcorr::runtime(device_->backend);
    for (const auto& argument : arguments_) {
      const auto found = values.find(argument.name);
      if (!argument.is_input || found == values.end() || !data_.contains(argument.name)) continue;
      const auto copy =
          xcorr::bytes_copy(data_[argument.name], found->second.data(), found->second.size());
      if (auto s = runtime.copy(copy, xcorr::Memory::host, xcorr::Memory::device, {}); !s.ok())
        return s;
    }
    return runtime.wait({});
  }

  xcorr::Status set_rights() override {
    const void* rights = kept_rights(buffers_);
    return state_ && rights ? state_->set_rights(rights, {}) : xcorr::Status();
  }

  xcorr::Status launch() override {
    return variant_->launch(problem_, *device_, buffers_, state_.get());
  }

 private:
  const xcorr::Variant<Stage>* variant_ = nullptr;
  const xcorr::Device* device_ = nullptr;
  Problem problem_;
  std::vector<Argument<Stage>> arguments_;
  std::map<std::string, std::byte*> data_;
  typename Stage::Buffers buffers_;
  std::unique_ptr<xcorr::PlanState> state_;
  xcorr::Block workspace_;
};

}  // namespace checkcorr
