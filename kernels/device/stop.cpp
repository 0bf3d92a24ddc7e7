// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which request to stop a thread heeds, and the pace of its launches.
#include <utility>

#include <xcorr/stop.hpp>

#include "device/runtime.hpp"
#include "stages/common/pace.hpp"

namespace xcorr {
namespace {

thread_local const Stop* heeded = nullptr;
thread_local bool is_paced = false;

}  // namespace

StopScope::StopScope(const Stop* stop) : outer_(std::exchange(heeded, stop)) {}
StopScope::~StopScope() { heeded = outer_; }

const Stop* current_stop() { return heeded; }

Status check_stop() {
  return heeded && heeded->is_requested() ? Status(Code::stopped, "stopped on request") : Status();
}

PacedScope::PacedScope(bool paced) : outer_(std::exchange(is_paced, paced)) {}
PacedScope::~PacedScope() { is_paced = outer_; }

Status keep_pace(Backend backend, Stream stream) {
  if (!is_paced || backend == Backend::cpu || !heeded) return {};
  return runtime(backend).wait(stream);
}

}  // namespace xcorr
