// SPDX-License-Identifier: LGPL-2.1-or-later
#include "guarded.hpp"

#include <algorithm>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace checkcorr {

using xcorr::Backend;
using xcorr::bytes_copy;
using xcorr::Memory;
using xcorr::Result;
using xcorr::Status;

namespace {

constexpr std::byte guard_byte{0xa5}, poison_byte{0xff};

}  // namespace

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

}  // namespace checkcorr
