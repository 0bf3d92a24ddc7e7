// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Runs a case through the stages with the reference, and every other variant of each stage on the
// same inputs, so that a stage is judged by itself.
#include <csignal>
#include <cstdio>
#include <random>

#include "checkcorr.hpp"
#include "compare.hpp"
#include "select/registry.hpp"
#include "stages/score.hpp"

namespace checkcorr {
namespace {

using xcorr::Backend;
using xcorr::Device;
using xcorr::Method;
using xcorr::Status;
using xcorr::Variant;

const Variant& reference(Stage stage) {
  return *xcorr::find_variant(stage, Backend::cpu, "reference");
}

void merge(Values& into, Values&& from) {
  for (std::size_t role = 0; role < role_count; ++role)
    if (!from[role].empty()) into[role] = std::move(from[role]);
}

/// A case in one of the forms its products can take, with the reference's results as far as they
/// have been asked for.
class Scenario {
 public:
  /// `centred`: as in matching with floating-point products, see Buffers::rights.
  Scenario(const Case& c, std::uint64_t seed, bool centred)
      : test(c), values(make_inputs(c, seed, centred)), other(make_inputs(c, seed + 1, centred)) {
    problem.correlate = problem_of(c);
    if (c.filter) {
      weights_ = weights_of(c, seed);
      problem.filter = &weights_;
      problem.products = c.type;  // as `filtered` is, which lies as products do
      return;
    }
    problem.products = centred ? ElementType::f32 : problem.correlate.output_type();
    problem.max_peaks = c.max_peaks;
    problem.distance_x = c.distance ? c.distance : std::max(1, c.right.width / 2);
    problem.distance_y = c.distance ? c.distance : std::max(1, c.right.height / 2);
    problem.threshold = c.threshold;
    problem.subpixel = c.subpixel;
    problem.weight = 0.3f;
  }

  /// The scores and what follows are of this method, and of products with this error.
  void set_method(Method method, bool with_error) {
    problem.method = method;
    done_ = std::min(done_, int(Stage::normalise));
    with_error_ = with_error;
  }

  Scenario(const Scenario&) = delete;

  /// Runs the reference up to and with that stage, or the filter stage alone.
  Status ensure(Stage stage) {
    if (stage == Stage::filter)
      return view<std::byte>(values, Role::filtered).empty() ? run_reference(stage, values, values)
                                                             : Status();
    if (stands_alone(stage)) return {};
    // A search may do what the stages up to refine do.
    const Stage last = stage == Stage::search ? Stage::refine : stage;
    for (; done_ <= int(last); ++done_) {
      if (Stage(done_) == Stage::normalise) set_error();
      if (Status s = run_reference(Stage(done_), values, values); !s.ok()) return s;
    }
    return {};
  }

  Status ensure_magnitudes() {
    return magnitudes_[0].empty()
               ? run_reference(Stage::correlate, absolute(test, values), magnitudes_)
               : Status();
  }

  Truth truth(float product_error) const {
    return {test, problem, values, &magnitudes_, product_error};
  }

  const Case& test;
  MatchProblem problem;
  Values values;
  Values other;  ///< inputs of a frame and a bank that came before

 private:
  Status run_reference(Stage stage, const Values& inputs, Values& results) {
    const Device host;
    auto session = Session::make(reference(stage), host, problem, inputs, 0);
    if (!session.ok()) return session.status();
    if (Status s = session.value().poison(); !s.ok()) return s;
    if (Status s = session.value().launch(0, problem.correlate.rights, true); !s.ok()) return s;
    Values outputs;
    auto wrong = session.value().read(outputs);
    if (!wrong.ok()) return wrong.status();
    if (!wrong.value().empty())
      return {xcorr::Code::device_error, "the reference " + wrong.value()};
    merge(results, std::move(outputs));
    return {};
  }

  /// An error that matters to some windows and not to others: those with less than half the
  /// contrast of the one in the middle.
  void set_error() {
    auto& bytes = values[static_cast<std::size_t>(Role::product_error)];
    bytes.clear();
    if (!with_error_) return;
    const auto middle = static_cast<std::size_t>(problem.correlate.shifts.size().area() / 2);
    const double n = static_cast<double>(problem.correlate.right.area());
    const bool u8 = problem.correlate.type == ElementType::u8;
    const double sum = u8 ? view<std::uint32_t>(values, Role::window_sums)[middle]
                          : view<double>(values, Role::window_sums)[middle];
    const double squares = window_square_at(problem.correlate, values, middle);
    const auto error = static_cast<float>(0.5 * xcorr::noise_share *
                                          std::sqrt(std::max(0.0, squares - sum * sum / n)));
    const auto* first = reinterpret_cast<const std::byte*>(&error);
    bytes.assign(first, first + sizeof error);
  }

  xcorr::FilterWeights weights_;
  int done_ = int(Stage::correlate);  ///< the first stage that the reference has not run
  bool with_error_ = false;
  Values magnitudes_;
};

/// Runs one variant and says what is wrong, or nothing.
class Trial {
 public:
  Trial(const Variant& variant, const Device& device, Scenario& scenario)
      : variant_(variant), device_(device), scenario_(scenario), problem_(scenario.problem) {}

  std::string run(double& worst) {
    if (Status s = scenario_.ensure(variant_.stage); !s.ok()) return s.message();
    if (variant_.stage == Stage::correlate && problem_.correlate.type == problem_.products)
      if (Status s = scenario_.ensure_magnitudes(); !s.ok()) return s.message();
    if (std::string wrong = run_laid_out(worst); !wrong.empty()) return wrong;

    // The same where products do not lie densely: as the variant likes it best, or somehow.
    if (variant_.stage == Stage::correlate && variant_.layout && is_matching(scenario_.test)) {
      variant_.layout(problem_);
    } else if (variant_.stage == Stage::normalise || variant_.stage == Stage::filter) {
      problem_.product_pitch = problem_.correlate.shifts.width + 5;
      problem_.product_stride = problem_.product_pitch * problem_.correlate.shifts.height + 3;
    } else {
      return {};
    }
    if (!variant_.supports(problem_, device_)) return {};
    std::string wrong = run_laid_out(worst);
    return wrong.empty() ? wrong : "rows with a pitch: " + wrong;
  }

 private:
  struct Part {
    int first, count;
  };

  std::string run_laid_out(double& worst) {
    Values inputs = scenario_.values;
    auto& products = inputs[static_cast<std::size_t>(Role::products)];
    if (variant_.stage == Stage::normalise) products = spread_products(problem_, products);
    auto made = Session::make(variant_, device_, problem_, inputs, scenario_.test.misalign);
    if (!made.ok()) return "set-up: " + made.status().message();
    Session& session = made.value();

    if (Status s = warm_up(session, inputs); !s.ok()) return "first run: " + s.message();
    const int rights = problem_.correlate.rights;
    if (std::string wrong = judge(session, {{0, rights}}, worst); !wrong.empty()) return wrong;
    if (!can_run_in_parts()) return {};
    std::string wrong = judge(session, {{0, 1}, {1, rights - 1}}, worst);
    return wrong.empty() ? wrong : "in two parts: " + wrong;
  }

  /// In a variant's own layout the second part's products must be as aligned as the first one's.
  bool can_run_in_parts() const {
    const Problem& p = problem_.correlate;
    const auto stride = problem_.products_stride() * std::int64_t(size_of(problem_.products));
    return p.rights > 1 && p.form == Form::one_to_many && variant_.stage != Stage::window_sums &&
           (!variant_.layout || !problem_.product_pitch || stride % 16 == 0);
  }

  /// Another bank and another frame first: nothing of them may be left afterwards.
  Status warm_up(Session& session, const Values& inputs) {
    if (variant_.stage == Stage::correlate || variant_.stage == Stage::search) {
      if (Status s = session.replace(scenario_.other); !s.ok()) return s;
      if (Status s = session.set_rights(); !s.ok()) return s;
      if (Status s = session.launch(0, problem_.correlate.rights, true); !s.ok()) return s;
      if (Status s = session.wait(); !s.ok()) return s;
      if (Status s = session.replace(inputs); !s.ok()) return s;
    }
    return session.set_rights();
  }

  std::string judge(Session& session, const std::vector<Part>& parts, double& worst) {
    if (Status s = session.poison(); !s.ok()) return s.message();
    for (const Part& part : parts)
      if (Status s = session.launch(part.first, part.count, part.first == 0); !s.ok())
        return "launch: " + s.message();
    if (Status s = session.wait(); !s.ok()) return "wait: " + s.message();
    Values outputs;
    auto wrong = session.read(outputs);
    if (!wrong.ok()) return "read: " + wrong.status().message();
    if (!wrong.value().empty()) return wrong.value();
    for (const Role role : {Role::products, Role::filtered}) {
      auto& rows = outputs[static_cast<std::size_t>(role)];
      if (!rows.empty()) rows = dense_products(problem_, rows);
    }
    const auto error = session.product_error();
    if (!error.ok()) return "product_error: " + error.status().message();
    const Verdict verdict = compare(variant_, scenario_.truth(error.value()), outputs);
    worst = std::max(worst, verdict.worst);
    return verdict.mismatch.value_or("");
  }

  const Variant& variant_;
  const Device& device_;
  Scenario& scenario_;
  MatchProblem problem_;
};

/// The id of the check that runs: a sanitizer may end the program amid it.
std::string in_progress;

void name_what_aborts(int signal) {
  std::fprintf(stderr, "FAIL %s\n     aborted\n", in_progress.c_str());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Whether --most-products and --sample leave a check in: of a large case by chance, which another
/// seed throws anew.
bool is_affordable(const Options& options, const Case& c, const std::string& id) {
  const Problem p = problem_of(c);
  const auto most = static_cast<double>(p.outputs() * p.shifts.size().area() * p.right.area());
  if (most <= static_cast<double>(options.most_products)) return true;
  if (!options.sample) return false;
  std::uint64_t hash = options.seed + 0xcbf29ce484222325;  // FNV-1a
  for (const char letter : id) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return std::mt19937_64(hash)() % static_cast<std::uint64_t>(most) < options.sample;
}

class Checker {
 public:
  Checker(const Options& options, const Devices& devices, std::vector<Tally>& tallies)
      : options_(options), devices_(devices), tallies_(tallies) {}

  void check(const Case& c) {
    Scenario plain(c, options_.seed, false);
    if (c.filter) return try_stage(plain, Stage::filter, "");
    try_stage(plain, Stage::correlate, "");
    if (!is_matching(c)) return;
    Scenario centred(c, options_.seed, true);
    const bool u8 = c.type == ElementType::u8;
    if (u8) try_stage(centred, Stage::correlate, "/centred");
    Scenario& usual = u8 ? plain : centred;
    for (const Stage stage : {Stage::window_sums, Stage::right_sums, Stage::blend})
      try_stage(usual, stage, "");
    for (const auto& method : xcorr::methods()) {
      const std::string name = std::string("/") + method.name;
      centred.set_method(method.method, true);
      try_stage(centred, Stage::normalise, name + "/centred-with-error");
      centred.set_method(method.method, false);
      try_stage(centred, Stage::normalise, name + "/centred");
      plain.set_method(method.method, false);
      if (u8) try_stage(plain, Stage::normalise, name);
      try_stage(usual, Stage::peaks, name);
      try_stage(usual, Stage::search, name);
      try_stage(usual, Stage::refine, name);
    }
  }

 private:
  void try_stage(Scenario& scenario, Stage stage, const std::string& suffix) {
    for (Tally& tally : tallies_) {
      const Variant& variant = *tally.variant;
      const auto& device = devices_.at(variant.backend);
      const std::string id = id_of(variant, scenario.test) + suffix;
      if (variant.stage != stage || !device.ok() || !matches(options_, id)) continue;
      if (!variant.supports(scenario.problem, device.value())) continue;
      if (!is_affordable(options_, scenario.test, id)) continue;
      in_progress = id;
      const std::string wrong = Trial(variant, device.value(), scenario).run(tally.worst);
      ++(wrong.empty() ? tally.passed : tally.failed);
      if (!wrong.empty()) report(id, wrong);
    }
  }

  void report(const std::string& id, const std::string& wrong) {
    std::fprintf(stderr,
                 "FAIL %s seed %llu\n     %s\n     repro: checkcorr --seed=%llu --filter='%s'\n",
                 id.c_str(), static_cast<unsigned long long>(options_.seed), wrong.c_str(),
                 static_cast<unsigned long long>(options_.seed), id.c_str());
  }

  const Options& options_;
  const Devices& devices_;
  std::vector<Tally>& tallies_;
};

}  // namespace

void check_all(const Options& options, const Devices& devices, std::vector<Tally>& tallies) {
  Checker checker(options, devices, tallies);
  std::signal(SIGABRT, name_what_aborts);
  for (const Case& c : cases()) checker.check(c);
  std::signal(SIGABRT, SIG_DFL);
}

}  // namespace checkcorr
