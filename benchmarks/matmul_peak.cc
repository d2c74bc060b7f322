// Measures oneDNN's fp32 matrix product rate: the ceiling against which a training step on the CPU is judged.
#include <fmt/format.h>
#include <omp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/stopwatch.h"

namespace {

using Clock = std::chrono::steady_clock;
using dnnl::memory;

struct Shape {
  int64_t m;
  int64_t n;
  int64_t k;
};

Shape parse_shape(const std::string& text) {
  Shape shape{};
  char first = 0;
  char second = 0;
  std::istringstream in(text);
  const bool read = static_cast<bool>(in >> shape.m >> first >> shape.n >> second >> shape.k) && in.eof();
  if (!read || first != 'x' || second != 'x' || std::min({shape.m, shape.n, shape.k}) < 1) {
    throw segue::UsageError("shape: expected MxNxK, found '{}'", text);
  }
  return shape;
}

// One product c = a · b, prepared once. Packed: oneDNN chooses the layout of b, as for weights that never change.
class Product {
 public:
  Product(const dnnl::engine& engine, const Shape& shape, bool packed) {
    const auto f32 = memory::data_type::f32;
    const auto rows = memory::format_tag::ab;
    const memory::desc a({shape.m, shape.k}, f32, rows);
    const memory::desc b({shape.k, shape.n}, f32, packed ? memory::format_tag::any : rows);
    const memory::desc c({shape.m, shape.n}, f32, rows);
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, c), engine);
    product_ = dnnl::matmul(description);
    arguments_ = {{DNNL_ARG_SRC, filled(engine, description.src_desc())},
                  {DNNL_ARG_WEIGHTS, filled(engine, description.weights_desc())},
                  {DNNL_ARG_DST, filled(engine, description.dst_desc())}};
  }

  void run(const dnnl::stream& stream) const {
    product_.execute(stream, arguments_);
    dnnl::stream(stream).wait();
  }

 private:
  static memory filled(const dnnl::engine& engine, const memory::desc& description) {
    memory result(description, engine);
    std::fill_n(static_cast<float*>(result.get_data_handle()), description.get_size() / sizeof(float), 0.5F);
    return result;
  }

  dnnl::matmul product_;
  std::unordered_map<int, memory> arguments_;
};

// GFLOP/s of single products, repeated for the given time after two unmeasured ones.
std::vector<double> sample_rates(const Product& product, const Shape& shape, const dnnl::stream& stream,
                                 double seconds) {
  product.run(stream);
  product.run(stream);
  const double gflop = 2e-9 * static_cast<double>(shape.m) * static_cast<double>(shape.n * shape.k);
  std::vector<double> rates;
  const auto begin = Clock::now();
  while (rates.size() < 3 || segue::seconds_since(begin) < seconds) {
    const auto start = Clock::now();
    product.run(stream);
    rates.push_back(gflop / segue::seconds_since(start));
  }
  std::sort(rates.begin(), rates.end());
  return rates;
}

nlohmann::json measure(const dnnl::engine& engine, const dnnl::stream& stream, const Shape& shape, bool packed,
                       double seconds) {
  const auto rates = sample_rates(Product(engine, shape, packed), shape, stream, seconds);
  return {{"shape", fmt::format("{}x{}x{}", shape.m, shape.n, shape.k)},
          {"packed", packed},
          {"gflops_best", rates.back()},
          {"gflops_median", rates[rates.size() / 2]},
          {"samples", rates.size()}};
}

nlohmann::json measure_all(const std::vector<Shape>& shapes, double seconds) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const dnnl::stream stream(engine);
  auto results = nlohmann::json::array();
  for (const Shape& shape : shapes) {
    for (const bool packed : {false, true}) {
      results.push_back(measure(engine, stream, shape, packed, seconds));
    }
  }
  return results;
}

std::string library_version() {
  const auto* version = dnnl::version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

nlohmann::json run(int threads, double seconds, const std::vector<int64_t>& cubes,
                   const std::vector<std::string>& named) {
  omp_set_num_threads(threads);
  std::vector<Shape> shapes;
  for (const int64_t side : cubes) shapes.push_back({side, side, side});
  std::transform(named.begin(), named.end(), std::back_inserter(shapes), parse_shape);
  return {{"onednn", library_version()}, {"threads", threads}, {"products", measure_all(shapes, seconds)}};
}

}  // namespace

int main(int argc, char** argv) {
  int threads = omp_get_max_threads();
  double seconds = 1.0;
  std::vector<int64_t> cubes{512, 1024, 2048};
  std::vector<std::string> named;
  CLI::App app("oneDNN's fp32 matrix product rate, for cubes and for the shapes given", "matmul_peak");
  app.add_option("--threads", threads, "OpenMP threads")->check(CLI::Range(1, 1024))->capture_default_str();
  app.add_option("--seconds", seconds, "time per shape and layout")->check(CLI::Range(0.0, 3600.0));
  app.add_option("--cubes", cubes, "sides of the cubes")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("shapes", named, "further shapes MxNxK: [M, K] times [K, N]");
  app.footer("Example: matmul_peak --threads 2 --seconds 0.2 --cubes 512,1024 1024x768x256");
  try {
    app.parse(argc, argv);
    fmt::print("{}\n", run(threads, seconds, cubes, named).dump(2));
    return 0;
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "matmul_peak: {}\n", error.what());
    return static_cast<int>(segue::ExitCode::kUsage);
  } catch (const segue::Error& error) {
    fmt::print(stderr, "matmul_peak: {}\n", error.what());
    return static_cast<int>(error.code());
  } catch (const dnnl::error& error) {
    fmt::print(stderr, "matmul_peak: oneDNN: {}\n", error.what());
    return static_cast<int>(segue::ExitCode::kUnexpected);
  }
}
