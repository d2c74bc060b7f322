#include "core/bench/gemm_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "base/error.h"
#include "kernels/matmul.h"

namespace segue {

namespace {

std::string text_of(const kernels::ProductShape& shape) {
  return fmt::format("{},{},{}{}{}{}", shape.m, shape.n, shape.k, shape.transpose_a ? ",aT" : "",
                     shape.transpose_b ? ",bT" : "", shape.accumulate ? ",+" : "");
}

// The word before the next comma, which goes with it.
std::string_view take_word(std::string_view& text) {
  const size_t end = std::min(text.find(','), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

bool read_extent(std::string_view word, int64_t& extent) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), extent);
  return error == std::errc() && end == word.data() + word.size() && extent > 0;
}

}  // namespace

kernels::ProductShape parse_gemm(const std::string& text) {
  kernels::ProductShape shape;
  std::string_view rest = text;
  const std::array<int64_t*, 3> extents{&shape.m, &shape.n, &shape.k};
  const auto read = [&](int64_t* extent) { return read_extent(take_word(rest), *extent); };
  if (!std::all_of(extents.begin(), extents.end(), read) || text.ends_with(','))
    throw UsageError("bench gemm: expected a shape M,N,K of positive numbers, found \"{}\"", text);
  while (!rest.empty()) {
    const std::string_view word = take_word(rest);
    bool* const said = word == "aT"   ? &shape.transpose_a
                       : word == "bT" ? &shape.transpose_b
                       : word == "+"  ? &shape.accumulate
                                      : nullptr;
    if (said == nullptr || *said)
      throw UsageError("bench gemm: expected each of aT, bT and + at most once behind M,N,K, found \"{}\"", text);
    *said = true;
  }
  return shape;
}

Measurement bench_gemm(Workbench& workbench, const Effort& effort, const kernels::ProductShape& shape) {
  const auto [m, n, k] = std::array{shape.m, shape.n, shape.k};
  const OwnedTensor a = workbench.random_tensor(shape.transpose_a ? Shape{k, m} : Shape{m, k});
  const OwnedTensor b = workbench.random_tensor(shape.transpose_b ? Shape{n, k} : Shape{k, n});
  OwnedTensor c = workbench.random_tensor({m, n});
  const kernels::Matmul product{.a = a.view(),
                                .transpose_a = shape.transpose_a,
                                .b = b.view(),
                                .transpose_b = shape.transpose_b,
                                .c = c.view(),
                                .accumulate = shape.accumulate};
  const auto call = [&] { kernels::matmul(workbench.queue(), product); };
  return {.name = text_of(shape),
          .timing = time_calls(workbench.queue(), effort, call),
          .flops = shape.flops(),
          .bytes =
              static_cast<double>(a.view().bytes() + b.view().bytes() + (shape.accumulate ? 2 : 1) * c.view().bytes())};
}

}  // namespace segue
