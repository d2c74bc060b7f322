// oneDNN's matmul, compiled once for each kind of product.
#include "kernels/cpu/gemm.h"

#include <fmt/format.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"

namespace segue::kernels::cpu {

namespace {

using dnnl::memory;

// Waking a team and waiting for its slowest thread costs more than a thread alone needs for so many operations.
constexpr int64_t kFlopsWorthATeam = 2'000'000;

constexpr size_t kMostProducts = 512;  // a step has some 25, and 6 for each number of tokens that a cluster meets
constexpr int64_t kMostScratchBytes = int64_t{1} << 28;  // of all products for all their users

[[noreturn]] void refuse(const Gemm& args, std::string_view reason) {
  throw DeviceError("oneDNN product [{}, {}, {}]: {}", args.m, args.n, args.k, reason);
}

memory::data_type type_of(DType dtype) {
  return dtype == DType::kBFloat16 ? memory::data_type::bf16 : memory::data_type::f32;
}

bool has(dnnl_cpu_isa_t wanted) {
  return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & wanted) == static_cast<unsigned>(wanted);
}

// Rows of such a stride, or, transposed, columns.
memory::desc block(int64_t rows, int64_t columns, DType dtype, int64_t stride, bool transposed) {
  return {{rows, columns}, type_of(dtype), transposed ? memory::dims{1, stride} : memory::dims{stride, 1}};
}

// oneDNN's kernels for AVX-512 write dense results only; for others it takes its sgemm, which is slower. Where that is
// all that stands against them, the result is computed apart and copied.
bool is_computed_apart(const Gemm& args) {
  const bool a_dense = args.a_stride == (args.transpose_a ? args.m : args.k);
  const bool b_dense = args.b_stride == (args.transpose_b ? args.k : args.n);
  return has_avx512_products() && a_dense && b_dense && args.c_stride != args.n && !args.accumulate;
}

dnnl::primitive_attr attributes_of(const Gemm& args) {
  dnnl::post_ops after;
  if (args.accumulate) after.append_sum(1.0F);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_post_ops(after);
  return attributes;
}

// oneDNN 2 describes an operation in two steps, oneDNN 3 in one.
template <typename Matmul>
auto describe(const dnnl::engine& engine, const dnnl::primitive_attr& attributes, const auto&... blocks) {
  if constexpr (requires { typename Matmul::desc; }) {
    return typename Matmul::primitive_desc(typename Matmul::desc(blocks...), attributes, engine);
  } else {
    return typename Matmul::primitive_desc(engine, blocks..., attributes);
  }
}

}  // namespace

class Products::Product {
 public:
  // For as many users at a time: each has its operands and scratch from the start, whenever its first call may come.
  Product(const Gemm& args, int users) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const memory::desc a = block(args.m, args.k, args.operands, args.a_stride, args.transpose_a);
    const memory::desc b = block(args.k, args.n, args.operands, args.b_stride, args.transpose_b);
    const bool apart = is_computed_apart(args);
    const memory::desc c = block(args.m, args.n, args.result, apart ? args.n : args.c_stride, false);
    const memory::desc bias = block(1, args.n, DType::kFloat32, args.n, false);
    const dnnl::primitive_attr attributes = attributes_of(args);
    const auto description = args.bias == nullptr ? describe<dnnl::matmul>(engine_, attributes, a, b, c)
                                                  : describe<dnnl::matmul>(engine_, attributes, a, b, bias, c);
    product_ = dnnl::matmul(description);
    const auto result_bytes = static_cast<int64_t>(apart ? c.get_size() : 0);
    for (int user = 0; user < users; ++user)
      users_.push_back(Operands{placeless(a), placeless(b), placeless(bias), placeless(c),
                                memory(description.scratchpad_desc(), engine_), Buffer(result_bytes)});
    scratch_bytes_ = users * (static_cast<int64_t>(description.scratchpad_desc().get_size()) + result_bytes);
  }

  int64_t scratch_bytes() const { return scratch_bytes_; }

  // Nothing is allocated: the operands exist, and learn here where they lie.
  void run(const Gemm& args, size_t user) {
    Operands& operands = users_.at(user);
    place(operands.a, args.a);
    place(operands.b, args.b);
    place(operands.bias, args.bias);
    std::byte* const apart = operands.apart.data();
    place(operands.c, apart == nullptr ? args.c : apart);
    const std::array<dnnl_exec_arg_t, 5> arguments{{{DNNL_ARG_SRC, operands.a.get()},
                                                    {DNNL_ARG_WEIGHTS, operands.b.get()},
                                                    {DNNL_ARG_DST, operands.c.get()},
                                                    {DNNL_ARG_SCRATCHPAD, operands.scratch.get()},
                                                    {DNNL_ARG_BIAS, operands.bias.get()}}};
    const int count = args.bias == nullptr ? 4 : 5;
    dnnl::error::wrap_c_api(dnnl_primitive_execute(product_.get(), stream_.get(), count, arguments.data()),
                            "could not compute the product");
    if (apart == nullptr) return;
    const int64_t row_bytes = args.n * bytes_of(args.result);
    for (int64_t row = 0; row < args.m; ++row)
      std::memcpy(static_cast<std::byte*>(args.c) + row * args.c_stride * bytes_of(args.result),
                  apart + row * row_bytes, static_cast<size_t>(row_bytes));
  }

 private:
  struct Operands {
    memory a, b, bias, c, scratch;
    Buffer apart;  // the result of a product that is computed apart
  };
  memory placeless(const memory::desc& description) const { return {description, engine_, DNNL_MEMORY_NONE}; }
  static void place(const memory& operand, const void* data) {
    operand.set_data_handle(const_cast<void*>(data));  // oneDNN knows no memory of constants
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul product_;
  std::vector<Operands> users_;
  int64_t scratch_bytes_ = 0;
};

// How many threads OpenMP gives for as long as it lives.
class TeamOf {
 public:
  explicit TeamOf(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~TeamOf() { omp_set_num_threads(before_); }
  TeamOf(const TeamOf&) = delete;
  TeamOf& operator=(const TeamOf&) = delete;

 private:
  int before_;
};

Products::Products() = default;
Products::~Products() = default;

// oneDNN plans for as many threads as OpenMP would give it, when it compiles and when it computes.
void Products::run(const Gemm& args, int threads, int users) {
  const TeamOf team(threads);
  try {
    product_for(args, threads, users)->run(args, users == 1 ? 0 : static_cast<size_t>(omp_get_thread_num()));
  } catch (const dnnl::error& error) {
    refuse(args, error.what());
  }
}

// Texts of all lengths bring ever new shapes: from time to time those that are still met are compiled again.
std::shared_ptr<Products::Product> Products::product_for(const Gemm& args, int threads, int users) {
  const Key key{args.m,
                args.n,
                args.k,
                args.a_stride,
                args.b_stride,
                args.c_stride,
                static_cast<int64_t>(args.operands),
                static_cast<int64_t>(args.result),
                static_cast<int64_t>(args.transpose_a),
                static_cast<int64_t>(args.transpose_b),
                static_cast<int64_t>(args.bias != nullptr),
                static_cast<int64_t>(args.accumulate),
                threads,
                users};
  const std::scoped_lock lock(mutex_);
  const auto found = products_.find(key);
  if (found != products_.end()) return found->second;
  auto product = std::make_shared<Product>(args, users);
  if (products_.size() == kMostProducts || scratch_bytes_ + product->scratch_bytes() > kMostScratchBytes) {
    products_.clear();
    scratch_bytes_ = 0;
  }
  scratch_bytes_ += product->scratch_bytes();
  return products_.emplace(key, std::move(product)).first->second;
}

float* Products::scratch(int64_t floats) {
  const std::scoped_lock lock(mutex_);
  const auto bytes = floats * static_cast<int64_t>(sizeof(float));
  if (scratch_.bytes() < bytes) scratch_ = Buffer(bytes);
  return reinterpret_cast<float*>(scratch_.data());
}

namespace {

// Finishes a product without an inner extent.
void finish_without_terms(const Gemm& args) {
  if (args.bias != nullptr) refuse(args, "expected an inner extent of 1 or more");
  if (args.accumulate) return;
  const int64_t element = bytes_of(args.result);
  for (int64_t row = 0; row < args.m; ++row)
    std::memset(static_cast<std::byte*>(args.c) + row * args.c_stride * element, 0,
                static_cast<size_t>(args.n * element));
}

void run_on(const Queue& queue, const Gemm& args, int threads, int users) {
  if (args.m == 0 || args.n == 0) return;
  if (args.k == 0) return finish_without_terms(args);
  queue.products().run(args, threads, users);
}

}  // namespace

void gemm_in_thread(const Queue& queue, const Gemm& args) { run_on(queue, args, 1, queue.threads()); }

void gemm(const Queue& queue, const Gemm& args) { run_on(queue, args, threads_for(queue, args), 1); }

int threads_for(const Queue& queue, const Gemm& args) {
  return 2 * args.m * args.n * args.k < kFlopsWorthATeam ? 1 : queue.threads();
}

bool has_bfloat16_products() { return has(dnnl_cpu_isa_avx512_core_bf16); }
bool has_avx512_products() { return has(dnnl_cpu_isa_avx512_core); }

std::string name_of_products() {
  const dnnl_version_t& version = *dnnl_version();
  std::string isa = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
  isa.erase(0, std::string_view("cpu_isa_").size());
  return fmt::format("oneDNN {}.{}.{} ({})", version.major, version.minor, version.patch, isa);
}

}  // namespace segue::kernels::cpu
