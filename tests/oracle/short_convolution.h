// A convolution over a few tokens, from the formula; gradients are handed from each z to what it was made of.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace segue::oracle {

// x [B, T, C], taps [C, S]; before [B, S-1, C], or empty for zeros.
template <typename Scalar>
struct ShortConvolution {
  size_t streams, tokens, channels, width;  // B, T, C, S
  std::vector<Scalar> x, taps, before;

  // Of row `row` of [before ; x].
  size_t place(size_t b, size_t row, size_t c) const { return (b * (width - 1 + tokens) + row) * channels + c; }
  // [B, S-1+T, C]
  std::vector<Scalar> rows() const { return joined(before, x); }

  std::vector<Scalar> joined(const std::vector<Scalar>& head, const std::vector<Scalar>& tail) const {
    std::vector<Scalar> all;
    const size_t of_head = (width - 1) * channels, of_tail = tokens * channels;
    for (size_t b = 0; b < streams; ++b) {
      for (size_t e = 0; e < of_head; ++e) all.push_back(head.empty() ? Scalar(0.0) : head[b * of_head + e]);
      for (size_t e = 0; e < of_tail; ++e) all.push_back(tail[b * of_tail + e]);
    }
    return all;
  }
  // Rows [begin, end) of every stream of [before ; x].
  std::vector<Scalar> cut(const std::vector<Scalar>& all, size_t begin, size_t end) const {
    std::vector<Scalar> some;
    for (size_t b = 0; b < streams; ++b) {
      for (size_t e = place(b, begin, 0); e < place(b, end, 0); ++e) some.push_back(all[e]);
    }
    return some;
  }
  Scalar z(const std::vector<Scalar>& all, size_t b, size_t t, size_t c) const {
    Scalar sum = 0.0;
    for (size_t j = 0; j < width; ++j) sum += taps[c * width + j] * all[place(b, t + j, c)];
    return sum;
  }
};

template <typename Scalar>
struct ShortConvolutionResults {
  std::vector<Scalar> y;      // [B, T, C]
  std::vector<Scalar> after;  // [B, S-1, C]
};
template <typename Scalar>
ShortConvolutionResults<Scalar> short_convolution(const ShortConvolution<Scalar>& in) {
  const std::vector<Scalar> rows = in.rows();
  ShortConvolutionResults<Scalar> results{.y = {}, .after = in.cut(rows, in.tokens, in.tokens + in.width - 1)};
  for (size_t b = 0; b < in.streams; ++b) {
    for (size_t t = 0; t < in.tokens; ++t) {
      for (size_t c = 0; c < in.channels; ++c) {
        const Scalar z = in.z(rows, b, t, c);
        results.y.push_back(z / (1.0 + std::exp(-z)));
      }
    }
  }
  return results;
}

struct ShortConvolutionGradients {
  std::vector<double> x, taps, before;
};
// dy [B, T, C]; dafter [B, S-1, C], or empty for zeros.
inline ShortConvolutionGradients short_convolution_gradients(const ShortConvolution<double>& in,
                                                             const std::vector<double>& dy,
                                                             const std::vector<double>& dafter) {
  const std::vector<double> rows = in.rows();
  std::vector<double> drows(rows.size()), dtaps(in.taps.size());
  for (size_t b = 0; b < in.streams; ++b) {
    for (size_t c = 0; c < in.channels; ++c) {
      for (size_t i = 0; i + 1 < in.width && !dafter.empty(); ++i)
        drows[in.place(b, in.tokens + i, c)] = dafter[(b * (in.width - 1) + i) * in.channels + c];
      for (size_t t = 0; t < in.tokens; ++t) {
        const double z = in.z(rows, b, t, c), share = 1.0 / (1.0 + std::exp(-z));
        const double dz = dy[(b * in.tokens + t) * in.channels + c] * (share + z * share * (1.0 - share));
        for (size_t j = 0; j < in.width; ++j) {
          drows[in.place(b, t + j, c)] += in.taps[c * in.width + j] * dz;
          dtaps[c * in.width + j] += dz * rows[in.place(b, t + j, c)];
        }
      }
    }
  }
  return {.x = in.cut(drows, in.width - 1, in.width - 1 + in.tokens),
          .taps = dtaps,
          .before = in.cut(drows, 0, in.width - 1)};
}

}  // namespace segue::oracle
