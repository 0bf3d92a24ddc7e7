// SPDX-License-Identifier: LGPL-2.1-or-later
#include "session.hpp"

#include <algorithm>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace checkcorr {

using xcorr::Backend;
using xcorr::bytes_copy;
using xcorr::Code;
using xcorr::Device;
using xcorr::Memory;
using xcorr::Result;
using xcorr::Status;
using xcorr::Variant;

namespace {

constexpr std::byte guard_byte{0xa5}, poison_byte{0xff};

bool is_pixels_or_surface(Role role) {
  return role != Role::right_sums && role != Role::product_error && role != Role::candidates &&
         role != Role::counts && role != Role::peaks && role != Role::peak_counts;
}

std::size_t element_of(Role role, const MatchProblem& p) {
  switch (role) {
    case Role::products:
      return xcorr::size_of(p.products);
    case Role::window_sums:
      return p.correlate.type == ElementType::u8 ? 4 : 8;
    case Role::window_squares:
      return p.correlate.type == ElementType::u8 ? xcorr::size_of(p.correlate.output_type()) : 8;
    case Role::scores:
    case Role::averages:
    case Role::next_averages:
      return sizeof(float);
    default:
      return xcorr::size_of(p.correlate.type);
  }
}

}  // namespace

void point(xcorr::Buffers& b, Role role, std::byte* data) {
  switch (role) {
    case Role::lefts:
      b.lefts = data;
      break;
    case Role::rights:
      b.rights = data;
      break;
    case Role::templates:
      b.templates = data;
      break;
    case Role::right_sums:
      b.right_sums = reinterpret_cast<xcorr::RightSums*>(data);
      break;
    case Role::filtered:
      b.filtered = data;
      break;
    case Role::products:
      b.products = data;
      break;
    case Role::window_sums:
      b.window_sums = data;
      break;
    case Role::window_squares:
      b.window_squares = data;
      break;
    case Role::product_error:
      b.product_error = reinterpret_cast<float*>(data);
      break;
    case Role::scores:
      b.scores = reinterpret_cast<float*>(data);
      break;
    case Role::candidates:
      b.candidates = reinterpret_cast<xcorr::Candidate*>(data);
      break;
    case Role::counts:
      b.counts = reinterpret_cast<std::uint32_t*>(data);
      break;
    case Role::peaks:
      b.peaks = reinterpret_cast<xcorr::RefinedPeak*>(data);
      break;
    case Role::peak_counts:
      b.peak_counts = reinterpret_cast<std::uint32_t*>(data);
      break;
    case Role::averages:
      b.averages = reinterpret_cast<float*>(data);
      break;
    case Role::next_averages:
      b.next_averages = reinterpret_cast<float*>(data);
      break;
    case Role::blended:
      b.blended = data;
      break;
    case Role::centred:
      b.centred = data;
      break;
  }
}

// ---- Guarded --------------------------------------------------------------------------------

Result<Guarded> Guarded::make(Backend backend, std::size_t bytes, std::size_t misalign) {
  Guarded g;
  g.backend_ = backend;
  g.bytes_ = bytes;
  g.misalign_ = misalign;
  auto block = xcorr::Block::make(backend, g.before() + bytes + guard);
  if (!block.ok()) return block.status();
  g.block_ = std::move(block.value());
  g.image_.assign(g.block_.bytes(), guard_byte);
  if (Status s = g.upload(); !s.ok()) return s;
  return g;
}

Guarded& Guarded::operator=(Guarded&& other) noexcept {
  std::swap(backend_, other.backend_);
  std::swap(bytes_, other.bytes_);
  std::swap(misalign_, other.misalign_);
  std::swap(block_, other.block_);
  std::swap(image_, other.image_);
  return *this;
}

Guarded::~Guarded() {
  if (block_.data()) forbid_guards(false);
}

void Guarded::forbid_guards([[maybe_unused]] bool forbid) {
#ifdef __SANITIZE_ADDRESS__
#ifndef XCORR_SIMT  // there CUDA's memory is the CPU's too
  if (backend_ != Backend::cpu) return;
#endif
  const auto set = [forbid](void* at, std::size_t bytes) {
    forbid ? __asan_poison_memory_region(at, bytes) : __asan_unpoison_memory_region(at, bytes);
  };
  set(block_.data(), before());
  set(data() + bytes_, guard);
#endif
}

Status Guarded::upload() {
  forbid_guards(false);
  const auto& runtime = xcorr::runtime(backend_);
  Status status = runtime.copy(bytes_copy(block_.data(), image_.data(), image_.size()),
                               Memory::host, Memory::device, {});
  if (status.ok()) status = runtime.wait({});
  forbid_guards(true);
  return status;
}

Status Guarded::write(const std::vector<std::byte>& bytes) {
  std::copy(bytes.begin(), bytes.end(), image_.begin() + static_cast<std::ptrdiff_t>(before()));
  return upload();
}

Status Guarded::poison() { return write(std::vector<std::byte>(bytes_, poison_byte)); }

Result<std::string> Guarded::read(std::vector<std::byte>& bytes, bool constant) {
  std::vector<std::byte> now(image_.size());
  const auto& runtime = xcorr::runtime(backend_);
  forbid_guards(false);
  Status status = runtime.copy(bytes_copy(now.data(), block_.data(), now.size()), Memory::device,
                               Memory::host, {});
  if (status.ok()) status = runtime.wait({});
  forbid_guards(true);
  if (!status.ok()) return status;

  const auto first = static_cast<std::ptrdiff_t>(before());
  const auto end = first + static_cast<std::ptrdiff_t>(bytes_);
  bytes.assign(now.begin() + first, now.begin() + end);
  const auto differs = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
    return !std::equal(now.begin() + from, now.begin() + to, image_.begin() + from);
  };
  if (differs(0, first)) return std::string("wrote before the start of ");
  if (differs(end, std::ssize(now))) return std::string("wrote past the end of ");
  if (constant && differs(first, end)) return std::string("changed its input ");
  return std::string();
}

// ---- Session --------------------------------------------------------------------------------

Result<Session> Session::make(const Variant& variant, const Device& device,
                              const MatchProblem& problem, const Values& inputs, int misalign) {
  Session s;
  s.variant_ = &variant;
  s.device_ = &device;
  s.problem_ = problem;
  const auto add = [&](Role role) -> Status {
    // A layout of the variant's own comes with an alignment, see Variant::layout.
    const bool aligned = role == Role::products && problem.product_pitch;
    const std::size_t shift =
        is_pixels_or_surface(role) && !aligned ? misalign * element_of(role, problem) : 0;
    auto made = Guarded::make(device.backend, bytes_of(role, problem), shift);
    if (!made.ok()) return made.status();
    s.memory_[static_cast<std::size_t>(role)] = std::move(made.value());
    return {};
  };
  const StageRoles roles = roles_of(variant.stage);
  for (const Role role : roles.inputs) {
    // Without an error of the products the pointer is null.
    if (inputs[static_cast<std::size_t>(role)].empty()) continue;
    if (Status status = add(role); !status.ok()) return status;
  }
  for (const Role role : roles.outputs)
    if (Status status = add(role); !status.ok()) return status;
  auto workspace = Guarded::make(device.backend, variant.workspace(problem, device), 0);
  if (!workspace.ok()) return workspace.status();
  s.workspace_ = std::move(workspace.value());

  if (variant.plan) {
    // As a matcher does, which learns a frame's pitch only with the frame.
    MatchProblem planned = problem;
    if (problem.correlate.lefts == 1)
      planned.correlate.left_pitch =
          static_cast<std::int64_t>(problem.correlate.left.width * size_of(problem.correlate.type));
    auto state = variant.plan(planned, device);
    if (!state.ok()) return state.status();
    s.state_ = std::move(state.value());
  }
  if (Status status = s.replace(inputs); !status.ok()) return status;
  return s;
}

Status Session::replace(const Values& inputs) {
  for (const Role role : roles_of(variant_->stage).inputs)
    if (auto& memory = memory_[static_cast<std::size_t>(role)])
      if (Status status = memory->write(inputs[static_cast<std::size_t>(role)]); !status.ok())
        return status;
  return {};
}

Status Session::set_rights() {
  const auto& rights = memory_[static_cast<std::size_t>(Role::rights)];
  return state_ && rights ? state_->set_rights(rights->data(), {}) : Status();
}

Status Session::poison() {
  for (const Role role : roles_of(variant_->stage).outputs)
    if (Status status = memory_[static_cast<std::size_t>(role)]->poison(); !status.ok())
      return status;
  return workspace_.poison();
}

Status Session::launch(int first, int count, bool new_left) {
  xcorr::Buffers b;
  for (std::size_t role = 0; role < role_count; ++role)
    if (memory_[role]) point(b, static_cast<Role>(role), memory_[role]->data());
  if (b.products) {
    const auto skip = first * problem_.products_stride();
    const auto bytes = skip * static_cast<std::int64_t>(size_of(problem_.products));
    b.products = static_cast<std::byte*>(b.products) + bytes;
  }
  if (b.scores) b.scores += first * problem_.correlate.shifts.size().area();
  b.workspace = workspace_.data();
  b.first_right = first;
  b.right_count = count;
  b.new_left = new_left;
  return variant_->launch(problem_, *device_, b, state_.get());
}

Status Session::wait() { return xcorr::runtime(device_->backend).wait({}); }

Result<std::string> Session::read(Values& outputs) {
  const StageRoles roles = roles_of(variant_->stage);
  std::string wrong;
  for (std::size_t role = 0; role < role_count; ++role) {
    if (!memory_[role]) continue;
    const bool output = std::find(roles.outputs.begin(), roles.outputs.end(),
                                  static_cast<Role>(role)) != roles.outputs.end();
    std::vector<std::byte> bytes;
    auto said = memory_[role]->read(bytes, !output);
    if (!said.ok()) return said;
    if (!said.value().empty() && wrong.empty())
      wrong = said.value() + name_of(static_cast<Role>(role));
    if (output) outputs[role] = std::move(bytes);
  }
  std::vector<std::byte> scratch;
  auto said = workspace_.read(scratch, false);
  if (!said.ok()) return said;
  if (!said.value().empty() && wrong.empty()) wrong = said.value() + "the workspace";
  return wrong;
}

Result<float> Session::product_error() {
  const float* error = state_ ? state_->product_error() : nullptr;
  if (!error) return 0.0f;
  float value = 0;
  const auto& runtime = xcorr::runtime(device_->backend);
  Status status =
      runtime.copy(bytes_copy(&value, error, sizeof value), Memory::device, Memory::host, {});
  if (status.ok()) status = runtime.wait({});
  if (!status.ok()) return status;
  return value;
}

}  // namespace checkcorr
