// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The filters and the histograms of all targets in the device's memory, by number.
#pragma once

#include "device/runtime.hpp"
#include "stages/tracker/histograms.hpp"
#include "tracking/filters/feature_extractor.hpp"

namespace xcorr {

class FilterStore {
 public:
  static Result<FilterStore> make(const Device& device);
  /// What a filter takes.
  static std::size_t bytes_of_one();
  /// Of all its memory: as long as they are as many it is the same, since it only grows.
  std::size_t bytes() const;

  /// Memory for the filters below `count`. An error changes none.
  Status provide(int count);
  /// Memory for teaching filters, or asking them, with so many windows at once.
  Status provide_teaching(int windows);
  Status provide_asking(int windows);
  /// Sets what filter `number` shall be for, before it is taught.
  Status set(int number, const tracker::FilterShape& shape);

  /// Enqueue what teaches filters, and what asks those of the windows' looks, together with the
  /// priors. \param training_samples  of the windows, in the device's memory, as are the responses,
  /// or where the host reads them
  Status teach(const SeenWindows& seen, const tracker::TrainingSample* training_samples,
               Stream stream);
  Status ask(const SeenWindows& seen, int priors, tracker::ResponsePeak* response_peaks,
             Stream stream);

  /// Enqueues what says how alike what windows see and the first histograms are. \param teaches
  /// histograms as well; then no two windows are of the same one \param likeness  of the windows,
  /// where the host reads them
  Status compare_colors(const SeenFrame& frame, const tracker::Look* looks,
                        const tracker::Cropping* croppings, int windows, bool teaches,
                        double* likeness, Stream stream);
  /// Enqueues what makes the priors of so many windows of the histograms, for those that ask next
  /// with so many: window w is asked with that of w modulo `windows`.
  Status find_colors(const SeenFrame& frame, const tracker::Look* looks,
                     const tracker::Cropping* croppings, int windows, Stream stream);
  /// The same for the host. \param priors  [window][shift], where the host reads them
  Status show_colors(const SeenFrame& frame, const tracker::Look* looks,
                     const tracker::Cropping* croppings, int windows, float* priors,
                     Stream stream) const;

  /// Enqueue what keeps a filter as it is now, and what asks filters as they were kept.
  Status keep(int number, Stream stream);
  Status ask_kept(const SeenWindows& seen, tracker::ResponsePeak* response_peaks, Stream stream);

 private:
  stage::ColorWindowBuffers color_windows(const SeenFrame& frame, const tracker::Look* looks,
                                          const tracker::Cropping* croppings, Stream stream) const;
  Status ask(const Block& filters, const SeenWindows& seen, int priors,
             tracker::ResponsePeak* response_peaks, Stream stream);

  Device device_;
  const Variant<stage::FeatureFft>* spectra_of_ = nullptr;
  const Variant<stage::FilterUpdate>* filter_update_ = nullptr;
  const Variant<stage::FilterResponse>* filter_response_ = nullptr;
  const Variant<stage::HistogramUpdate>* histogram_update_ = nullptr;
  const Variant<stage::HistogramPrior>* histogram_prior_ = nullptr;
  int count_ = 0;
  Block shapes_, samples_, filters_, kept_, histograms_, spectra_, priors_, workspace_;
};

}  // namespace xcorr
