// SPDX-License-Identifier: LGPL-2.1-or-later
//
// LINE-2D as github.com/meiqua/shape_based_matching has it, as functions for Python's ctypes:
// bench/line2d.py builds this with that project's sources. Images are gray and dense.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "line2Dup.h"

namespace {

constexpr int stride = 16;  // frames need sides of multiples of it for pyramids of 4 and 8
constexpr int border = 32;  // nothing is found nearer than that to the frame's border
const std::string class_id = "part";

struct Model {
  line2Dup::Detector detector;
  std::vector<float> angles;
  cv::Point2f center;  // of the part in the images that the templates are made of
};

cv::Mat view(const unsigned char* pixels, int width, int height) {
  return {height, width, CV_8U, const_cast<unsigned char*>(pixels)};
}

cv::Mat padded(const cv::Mat& image, int by, int border_type) {
  const auto rest = [](int length) { return (stride - length % stride) % stride; };
  cv::Mat larger;
  cv::copyMakeBorder(image, larger, by, by + rest(image.rows + 2 * by), by,
                     by + rest(image.cols + 2 * by), border_type);
  return larger;
}

}  // namespace

struct Line2dMatch {
  float x, y, angle, similarity;
};

extern "C" {

/// A template for each degree, of an image that is turned, with gradients from `strong` on in it
/// and `weak` in frames, by Sobel's operator. It may get none where the image has too few of them.
Model* line2d_train(const unsigned char* pixels, int width, int height, int features, float weak,
                    float strong) {
  cv::setNumThreads(1);
  std::cout.setstate(std::ios::failbit);  // it reports its times there
  const int by = std::max(width, height) / 2;
  const cv::Mat image = padded(view(pixels, width, height), by, cv::BORDER_CONSTANT);
  const cv::Mat mask =
      padded(cv::Mat(height, width, CV_8U, cv::Scalar(255)), by, cv::BORDER_CONSTANT);
  auto* const model = new Model{line2Dup::Detector(features, {4, 8}, weak, strong),
                                {},
                                {by + (width - 1) / 2.f, by + (height - 1) / 2.f}};
  for (int angle = 0; angle < 360; ++angle) {
    const cv::Mat turn = cv::getRotationMatrix2D(model->center, angle, 1);
    cv::Mat turned, turned_mask;
    cv::warpAffine(image, turned, turn, image.size());
    cv::warpAffine(mask, turned_mask, turn, mask.size());
    const int id = model->detector.addTemplate(turned, class_id, turned_mask > 0);
    if (id >= 0) model->angles.push_back(static_cast<float>(angle));
  }
  return model;
}

void line2d_free(Model* model) { delete model; }

/// Writes the best `most` matches, the most similar one first, and returns how many there are.
int line2d_match(const Model* model, const unsigned char* pixels, int width, int height,
                 float threshold, Line2dMatch* to, int most) {
  const auto matches = model->detector.match(
      padded(view(pixels, width, height), border, cv::BORDER_REPLICATE), threshold, {class_id});
  const int count = std::min<int>(most, static_cast<int>(matches.size()));
  for (int i = 0; i < count; ++i) {
    const auto& match = matches[i];
    const auto& corner = model->detector.getTemplates(class_id, match.template_id)[0];
    to[i] = {match.x - corner.tl_x + model->center.x - border,
             match.y - corner.tl_y + model->center.y - border, model->angles[match.template_id],
             match.similarity};
  }
  return count;
}

}  // extern "C"
