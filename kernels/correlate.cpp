// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/correlate.hpp>
#include <xcorr/exceptions.hpp>

#include "select/select.hpp"

namespace xcorr {
namespace {

Status check_problem(const Problem& p) {
  const auto bad = [](const char* what) { return Status(Code::invalid_argument, what); };
  const auto element = static_cast<std::int64_t>(size_of(p.type));
  if (p.type != ElementType::u8 && p.type != ElementType::u16 && p.type != ElementType::i32 &&
      p.type != ElementType::f32 && p.type != ElementType::f64)
    return bad("the element type must be u8, u16, i32, f32 or f64");
  if (p.left.empty() || p.right.empty() || p.shifts.empty())
    return bad("a matrix or the rectangle of shifts is empty");
  if (p.type == ElementType::u16 && p.right.area() > max_u16_pixels)
    return bad("a right of u16 has more than 2^21 pixels");
  if (p.lefts < 1 || p.rights < 1) return bad("there must be at least one left and one right");
  if (p.lefts > 1 && (p.form == Form::one_to_one || p.form == Form::one_to_many))
    return bad("this form has one left");
  if (p.rights > 1 && p.form == Form::one_to_one) return bad("this form has one right");
  if (p.left_pitch < p.left.width * element || p.right_pitch < p.right.width * element)
    return bad("a pitch is shorter than its rows");
  if (p.left_pitch % element || p.right_pitch % element || p.left_stride % element ||
      p.right_stride % element)
    return bad("a pitch or stride is not a whole number of elements");
  return {};
}

}  // namespace

struct __attribute__((visibility("hidden"))) Correlator::Impl {
  stage::Correlate::Problem problem;
  Device device;
  const Variant<stage::Correlate>* variant;
  std::unique_ptr<PlanState> state;
  const void* rights = nullptr;
};

Correlator::Correlator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Correlator::Correlator(Correlator&&) noexcept = default;
Correlator& Correlator::operator=(Correlator&&) noexcept = default;
Correlator::~Correlator() = default;

Result<Correlator> Correlator::create(const Problem& problem, const Device& device,
                                      std::string_view kernel) try {
  if (Status status = check_problem(problem); !status.ok()) return status;
  auto impl =
      std::make_unique<Impl>(Impl{{{problem}, problem.output_type()}, device, nullptr, nullptr});
  auto variant = select_variant<stage::Correlate>(impl->problem, device, kernel);
  if (!variant.ok()) return variant.status();
  impl->variant = variant.value();
  auto state = impl->variant->make_plan(impl->problem, device);
  if (!state.ok()) return state.status();
  impl->state = std::move(state.value());
  return Correlator(std::move(impl));
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

const char* Correlator::kernel() const { return impl_->variant->name; }

std::size_t Correlator::workspace_bytes() const {
  return impl_->variant->workspace_bytes(impl_->problem, impl_->device);
}

Status Correlator::set_rights(const void* rights, Stream stream) try {
  if (!rights) return {Code::invalid_argument, "no rights"};
  impl_->rights = rights;
  return impl_->state ? impl_->state->set_rights(rights, stream) : Status();
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

Status Correlator::run(const void* lefts, void* out, void* workspace, Stream stream) try {
  if (!impl_->rights) return {Code::invalid_argument, "set_rights() has not been called"};
  if (!lefts || !out || (!workspace && workspace_bytes()))
    return {Code::invalid_argument, "a null pointer"};
  stage::Correlate::Buffers buffers;
  buffers.lefts = lefts;
  buffers.rights = impl_->rights;
  buffers.products = out;
  buffers.workspace = workspace;
  buffers.stream = stream;
  buffers.right_count = impl_->problem.correlate.rights;
  return impl_->variant->launch(impl_->problem, impl_->device, buffers, impl_->state.get());
} catch (const std::exception& thrown) {
  return status_of(thrown);
}

}  // namespace xcorr
