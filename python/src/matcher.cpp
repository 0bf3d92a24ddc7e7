// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matcher.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include <xcorr/multi_matcher.hpp>

#include "device.hpp"
#include "errors.hpp"
#include "image.hpp"

namespace xcorr::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using Mutex = std::shared_ptr<std::mutex>;

/// Locks several, which are in the order of their addresses for everyone.
class Locks {
 public:
  explicit Locks(std::vector<Mutex> sorted) : mutexes_(std::move(sorted)) {
    for (const Mutex& mutex : mutexes_) held_.emplace_back(*mutex);
  }

 private:
  std::vector<Mutex> mutexes_;  ///< which their live templates need not outlive
  std::vector<std::unique_lock<std::mutex>> held_;
};

class LiveTemplateOf {
 public:
  LiveTemplateOf(const Device& device, const Image& pixels) : template_(device) {
    on_device(device, [&] { template_.set(take(LiveTemplate::create(device, pixels.view()))); });
  }

  void blend(const Image& frame, int x, int y, double weight, std::uintptr_t stream) {
    locked([&](LiveTemplate& live) {
      check(live.blend(frame.view(), x, y, weight, stream_of(stream)));
      // The caller's frame may be gone after this call.
      if (!stream) check(live.wait());
    });
  }

  nb::object read() const {
    const MatrixView view = get()->view();
    auto pixels = std::make_unique<std::byte[]>(view.size.area() * size_of(view.type));
    locked([&](const LiveTemplate& live) { check(live.read(pixels.get())); });
    const nb::capsule owner(pixels.get(),
                            [](void* p) noexcept { delete[] static_cast<std::byte*>(p); });
    const std::size_t shape[] = {static_cast<std::size_t>(view.size.height),
                                 static_cast<std::size_t>(view.size.width)};
    const auto type = view.type == ElementType::u8    ? nb::dtype<std::uint8_t>()
                      : view.type == ElementType::u16 ? nb::dtype<std::uint16_t>()
                                                      : nb::dtype<float>();
    return nb::ndarray<nb::numpy>(pixels.release(), 2, shape, owner, nullptr, type).cast();
  }

  std::uint64_t version() const {
    const std::lock_guard lock(*mutex_);
    return get()->version();
  }
  const Mutex& mutex() const { return mutex_; }
  const std::shared_ptr<LiveTemplate>& get() const { return *template_; }

 private:
  template <class Body>
  void locked(const Body& body) const {
    on_device(template_.device(), [&] {
      const std::lock_guard lock(*mutex_);
      body(*get());
    });
  }

  OnDevice<std::shared_ptr<LiveTemplate>> template_;
  Mutex mutex_ = std::make_shared<std::mutex>();
};

/// What a Matcher and a MultiMatcher have in common.
template <class M>
class MatcherOf {
 public:
  void set_templates(const std::vector<const Image*>& images,
                     const std::vector<std::optional<const Image*>>& masks) {
    locked([&] {
      std::vector<MatrixView> templates;
      for (const Image* image : images) templates.push_back(image->view());
      check(matcher_->set_templates(templates, views_of(masks)));
      lock_with({});
    });
  }

  void set_live_templates(const std::vector<const LiveTemplateOf*>& live,
                          const std::vector<std::optional<const Image*>>& masks) {
    locked([&] {
      std::vector<std::shared_ptr<const LiveTemplate>> templates;
      for (const LiveTemplateOf* each : live) templates.push_back(each->get());
      check(matcher_->set_templates(templates, views_of(masks)));
      lock_with(live);
    });
  }

  void prepare(const std::string& type, int height, int width, const MatchSettings& settings) {
    const ElementType element = element_type(type, "frame");
    locked([&] { check_value(matcher_->prepare(element, {width, height}, settings)); });
  }

  nb::object collect() {
    auto peaks = std::make_unique<std::vector<Peak>>();
    locked([&] { check(matcher_->collect(*peaks)); });
    enqueued_ = {};
    const std::size_t bytes = peaks->size() * sizeof(Peak);
    auto* data = reinterpret_cast<std::uint8_t*>(peaks->data());
    const nb::capsule owner(peaks.get(),
                            [](void* p) noexcept { delete static_cast<std::vector<Peak>*>(p); });
    (void)peaks.release();
    return nb::ndarray<nb::numpy, std::uint8_t>(data, {bytes}, owner).cast();
  }

  nb::object respond(const Image& frame, std::uint32_t index) {
    auto response = std::make_unique<Response>();
    locked([&] { check(matcher_->respond(frame.view(), index, *response)); });
    const nb::capsule owner(response.get(),
                            [](void* p) noexcept { delete static_cast<Response*>(p); });
    const Response& r = *response.release();
    return nb::ndarray<nb::numpy, const float>(r.values.data(),
                                               {static_cast<std::size_t>(r.places.height),
                                                static_cast<std::size_t>(r.places.width)},
                                               owner)
        .cast();
  }

  std::string kernel() {
    std::string name;
    locked([&] { name = matcher_->kernel(); });
    return name;
  }

  std::string tuning() {
    std::string text;
    locked([&] { text = matcher_->tuning(); });
    return text;
  }

 protected:
  /// Works on that device, or on others too.
  explicit MatcherOf(const Device& device) : matcher_(device) {}

  template <class Body>
  void locked(const Body& body) {
    on_device(matcher_.device(), [&] {
      const std::lock_guard lock(mutex_);
      const Locks locks(live_);
      body();
    });
  }

  /// `enqueue` begins to match a frame.
  template <class Enqueue>
  void enqueue_by(nb::object image, const Enqueue& enqueue) {
    const auto& frame = nb::cast<const Image&>(image);
    locked([&] { check(enqueue(frame.view())); });
    enqueued_ = std::move(image);
  }

  OnDevice<M>& matcher() { return matcher_; }

 private:
  static std::vector<MatrixView> views_of(const std::vector<std::optional<const Image*>>& masks) {
    std::vector<MatrixView> views;
    for (const auto& mask : masks) views.push_back(mask ? (*mask)->view() : MatrixView{});
    return views;
  }

  /// Live templates must not change while the matcher reads them. From the next call on.
  void lock_with(const std::vector<const LiveTemplateOf*>& live) {
    std::vector<Mutex> all;
    for (const LiveTemplateOf* each : live) all.push_back(each->mutex());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    live_ = std::move(all);
  }

  nb::object enqueued_;  ///< an Image: keeps its memory until it has been matched
  OnDevice<M> matcher_;
  std::mutex mutex_;
  std::vector<Mutex> live_;  ///< of the live templates in the bank
};

class OneDevice : public MatcherOf<Matcher> {
 public:
  explicit OneDevice(const Device& device) : MatcherOf(device) {
    on_device(device, [&] { matcher().set(take(Matcher::create(device))); });
  }

  void all_fit() {
    locked([&] { check(matcher()->all_fit()); });
  }

  void enqueue(nb::object image, std::uintptr_t stream) {
    enqueue_by(std::move(image), [&](const MatrixView& frame) {
      return matcher()->enqueue(frame, stream_of(stream));
    });
  }

  std::tuple<int, int, int, int> places(std::uint32_t index) {
    Rect r;
    locked([&] { r = matcher()->places(index); });
    return {r.x, r.y, r.width, r.height};
  }

  void score(const Image& frame, std::uint32_t index, const Image& out, std::uintptr_t stream) {
    const ScoreMap map = out.scores();
    locked([&] {
      if (matcher()->places(index).size() != out.view().size)
        check({Code::invalid_argument, "out has not the shape of the result"});
      check(matcher()->score(frame.view(), index, map, stream_of(stream)));
    });
  }
};

/// The first device has this thread, the others have threads of their own.
class SeveralDevices : public MatcherOf<MultiMatcher> {
 public:
  explicit SeveralDevices(const std::vector<Device>& devices)
      : MatcherOf(devices.empty() ? Device() : devices.front()) {
    on_device(matcher().device(), [&] { matcher().set(take(MultiMatcher::create(devices))); });
  }

  void enqueue(nb::object image) {
    enqueue_by(std::move(image),
               [&](const MatrixView& frame) { return matcher()->enqueue(frame); });
  }
};

template <class T>
nb::class_<T> bind_matcher_of(nb::module_& module, const char* name) {
  return nb::class_<T>(module, name)
      .def("set_templates", &T::set_templates, "templates"_a, "masks"_a)
      .def("set_live_templates", &T::set_live_templates, "templates"_a, "masks"_a)
      .def("prepare", &T::prepare, "type"_a, "height"_a, "width"_a, "settings"_a)
      .def("collect", &T::collect)
      .def("respond", &T::respond, "frame"_a, "template_index"_a)
      .def_prop_ro("kernel", &T::kernel)
      .def_prop_ro("tuning", &T::tuning);
}

}  // namespace

void bind_matcher(nb::module_& module) {
  nb::class_<LiveTemplateOf>(module, "LiveTemplate")
      .def(nb::init<const Device&, const Image&>(), "device"_a, "pixels"_a)
      .def("blend", &LiveTemplateOf::blend, "frame"_a, "x"_a, "y"_a, "weight"_a, "stream"_a = 0)
      .def("read", &LiveTemplateOf::read)
      .def_prop_ro("version", &LiveTemplateOf::version);
  bind_matcher_of<OneDevice>(module, "Matcher")
      .def(nb::init<const Device&>(), "device"_a)
      .def("all_fit", &OneDevice::all_fit)
      .def("enqueue", &OneDevice::enqueue, "frame"_a, "stream"_a = 0)
      .def("places", &OneDevice::places, "template_index"_a)
      .def("score", &OneDevice::score, "frame"_a, "template_index"_a, "out"_a, "stream"_a = 0);
  bind_matcher_of<SeveralDevices>(module, "MultiMatcher")
      .def(nb::init<const std::vector<Device>&>(), "devices"_a)
      .def("enqueue", &SeveralDevices::enqueue, "frame"_a);
}

}  // namespace xcorr::python
