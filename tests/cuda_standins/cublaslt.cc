// The functions of cuBLASLt that Segue calls: what they are given is held against what their reference demands, and
// products are computed with double sums.
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tests/cuda_standins/gpu.h"
#include "tests/cuda_standins/machine.h"
#include "tests/cuda_standins/memory.h"
#include "tests/cuda_standins/product.h"

struct cublasLtContext {};

namespace segue::standin {

namespace {

struct Operation : cublasLtMatmulDescOpaque_t {
  int32_t transpose_a = CUBLAS_OP_N;
  int32_t transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};

struct Layout : cublasLtMatrixLayoutOpaque_t, Matrix {};

struct Preference : cublasLtMatmulPreferenceOpaque_t {
  uint64_t workspace_bytes = 0;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::array<uint32_t, 4> alignments{256, 256, 256, 256};  // of a, b, c and d
};

// The problem an algorithm was found for. Lies in a cublasLtMatmulAlgo_t.
struct Algorithm {
  uint64_t problem = 0;
  uint64_t workspace_bytes = 0;
  std::array<uint32_t, 5> alignments{};  // of a, b, c, d and the bias
  uint32_t splits = 1;                   // of the sum over k
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

std::set<const void*>& live() {
  static std::set<const void*> objects;
  return objects;
}

template <typename Object, typename Handle>
void create(Handle* handle, Object made) {
  Object* object = std::make_unique<Object>(made).release();
  live().insert(static_cast<Handle>(object));
  ++counts().library_objects;
  *handle = object;
}

template <typename Object, typename Handle>
cublasStatus_t destroy(Handle handle) {
  if (live().erase(handle) == 0) return CUBLAS_STATUS_INVALID_VALUE;
  const std::unique_ptr<Object> owner(static_cast<Object*>(handle));
  --counts().library_objects;
  return CUBLAS_STATUS_SUCCESS;
}

// The object; null when there is none such.
template <typename Object, typename Handle>
Object* find(Handle handle) {
  return live().contains(handle) ? static_cast<Object*>(handle) : nullptr;
}

// An attribute is as large as its type, never larger or smaller.
template <typename Value>
cublasStatus_t take(Value* attribute, const void* value, size_t bytes, bool (*is_valid)(Value)) {
  if (value == nullptr || bytes != sizeof(Value)) return CUBLAS_STATUS_INVALID_VALUE;
  Value given;
  std::memcpy(&given, value, bytes);
  if (!is_valid(given)) return CUBLAS_STATUS_INVALID_VALUE;
  *attribute = given;
  return CUBLAS_STATUS_SUCCESS;
}

bool is_transposition(int32_t value) { return value == CUBLAS_OP_N || value == CUBLAS_OP_T; }
bool is_epilogue(uint32_t value) {
  return value == CUBLASLT_EPILOGUE_DEFAULT || value == CUBLASLT_EPILOGUE_RELU || value == CUBLASLT_EPILOGUE_BIAS ||
         value == CUBLASLT_EPILOGUE_RELU_BIAS;
}
bool is_reductions(uint32_t value) { return value <= CUBLASLT_REDUCTION_SCHEME_MASK; }
bool is_alignment(uint32_t value) { return std::has_single_bit(value); }
template <typename Value>
bool is_any(Value /*value*/) {
  return true;
}

bool is_supported(cudaDataType_t operands, cudaDataType_t result) {
  return (operands == CUDA_R_16BF && (result == CUDA_R_16BF || result == CUDA_R_32F)) ||
         (operands == CUDA_R_32F && result == CUDA_R_32F);
}

// As of an address: the largest power of two that divides it.
uint32_t alignment_of(const void* address) {
  constexpr int kMostBits = 8;
  return 1U << std::min(std::countr_zero(reinterpret_cast<uintptr_t>(address)), kMostBits);
}

bool has_bias(const Operation& operation) { return (operation.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }

// One product's descriptions, when they fit together.
std::optional<Product> product_of(cublasLtMatmulDesc_t operation_handle, cublasLtMatrixLayout_t a,
                                  cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  const auto* operation = find<Operation>(operation_handle);
  if (operation == nullptr) return {};
  for (const cublasLtMatrixLayout_t layout : {a, b, c, d}) {
    if (find<Layout>(layout) == nullptr || !static_cast<Layout*>(layout)->is_possible()) return {};
  }
  Product product{.a = *static_cast<Layout*>(a),
                  .b = *static_cast<Layout*>(b),
                  .d = *static_cast<Layout*>(d),
                  .transpose_a = operation->transpose_a == CUBLAS_OP_T,
                  .transpose_b = operation->transpose_b == CUBLAS_OP_T,
                  .has_bias = has_bias(*operation),
                  .relu = (operation->epilogue & CUBLASLT_EPILOGUE_RELU) != 0};
  const Matrix& beside = *static_cast<Layout*>(c);
  const bool fits = product.rows_of_a() == product.d.rows && product.columns_of_b() == product.d.columns &&
                    product.columns_of_a() == product.rows_of_b() && product.a.type == product.b.type &&
                    beside == product.d;
  if (!fits || !is_supported(product.a.type, product.d.type)) return {};
  return product;
}

// As on hardware: none behind bfloat16 results whose columns lie an odd number of elements apart.
bool has_algorithm(const Product& product) {
  if (!machine().has_algorithms) return false;
  if (!product.has_bias && !product.relu) return true;
  return machine().has_epilogues && (product.d.type != CUDA_R_16BF || product.d.stride % 2 == 0);
}

uint64_t split_bytes(const Product& product, uint32_t splits) {
  return sizeof(float) * splits * static_cast<uint64_t>(product.d.rows * product.d.columns);
}

// Two ways, of which a workspace that is too small and a preference for sums in one piece rule out the first.
std::vector<Algorithm> algorithms_for(const Product& product, const Operation& operation,
                                      const Preference& preference) {
  Algorithm algorithm{.problem = product.hash()};
  std::copy(preference.alignments.begin(), preference.alignments.end(), algorithm.alignments.begin());
  algorithm.alignments.back() = operation.bias == nullptr ? 256 : alignment_of(operation.bias);
  std::vector<Algorithm> found;
  Algorithm split = algorithm;
  split.splits = 2;
  split.workspace_bytes = split_bytes(product, split.splits);
  const bool may_split = (preference.reductions & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) != 0;
  if (may_split && product.columns_of_a() > 1 && split.workspace_bytes <= preference.workspace_bytes)
    found.push_back(split);
  found.push_back(algorithm);
  return found;
}

bool is_aligned(const void* address, uint32_t alignment) {
  return address != nullptr && reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

}  // namespace

}  // namespace segue::standin

using namespace segue::standin;  // NOLINT(google-build-using-namespace): these are C's functions

const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_UNKNOWN";
  }
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  create(handle, cublasLtContext{});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy<cublasLtContext>(handle); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  create(operation, Operation{});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) { return destroy<Operation>(operation); }

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  auto* operation = find<Operation>(handle);
  if (operation == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(&operation->transpose_a, value, bytes, is_transposition);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return take(&operation->transpose_b, value, bytes, is_transposition);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(&operation->epilogue, value, bytes, is_epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(&operation->bias, value, bytes, is_any<const void*>);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t stride) {
  Layout made{};
  made.type = type;
  made.rows = static_cast<int64_t>(rows);
  made.columns = static_cast<int64_t>(columns);
  made.stride = stride;
  create(layout, made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return destroy<Layout>(layout); }

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  create(preference, Preference{});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy<Preference>(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    size_t bytes) {
  auto* preference = find<Preference>(handle);
  if (preference == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return take(&preference->workspace_bytes, value, bytes, is_any<uint64_t>);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return take(&preference->reductions, value, bytes, is_reductions);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return take(&preference->alignments[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes,
                  is_alignment);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  ++counts().heuristics;
  if (find<cublasLtContext>(handle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (wanted <= 0 || results == nullptr || found == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *found = 0;
  const std::optional<Product> product = product_of(operation, a, b, c, d);
  if (!product || find<Preference>(preference) == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (!has_algorithm(*product)) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (int i = 0; i < machine().failed_results && *found < wanted; ++i) {
    cublasLtMatmulHeuristicResult_t& result = results[(*found)++];
    result = {};  // of which only the state means anything
    result.state = CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const auto* asked = static_cast<Operation*>(operation);
  for (const Algorithm& algorithm : algorithms_for(*product, *asked, *static_cast<Preference*>(preference))) {
    if (*found == wanted) break;
    cublasLtMatmulHeuristicResult_t& result = results[(*found)++];
    result = {};
    result.workspaceSize = algorithm.workspace_bytes;
    std::memcpy(&result.algo, &algorithm, sizeof(algorithm));
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* chosen, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  if (find<cublasLtContext>(handle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const std::optional<Product> product = product_of(operation, a_layout, b_layout, c_layout, d_layout);
  if (!product || alpha == nullptr || beta == nullptr || chosen == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Algorithm algorithm;
  std::memcpy(static_cast<void*>(&algorithm), chosen, sizeof(algorithm));
  if (algorithm.problem != product->hash()) return CUBLAS_STATUS_INVALID_VALUE;
  const void* bias = static_cast<Operation*>(operation)->bias;
  const std::array<const void*, 5> addresses{a, b, c, d, product->has_bias ? bias : d};
  for (size_t i = 0; i < addresses.size(); ++i) {
    const bool is_promised = i < 4 || product->has_bias;
    if (!is_aligned(addresses[i], is_promised ? algorithm.alignments[i] : 1)) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (algorithm.workspace_bytes > workspace_bytes) return CUBLAS_STATUS_INVALID_VALUE;
  if (workspace_bytes > 0 && !is_aligned(workspace, 256)) return CUBLAS_STATUS_INVALID_VALUE;
  const Operands operands{.a = a,
                          .b = b,
                          .c = c,
                          .d = d,
                          .bias = bias,
                          .alpha = *static_cast<const float*>(alpha),
                          .beta = *static_cast<const float*>(beta),
                          .partial_sums = static_cast<float*>(workspace),
                          .splits = static_cast<int64_t>(algorithm.splits)};
  ++counts().products;
  if (product->has_bias || product->relu) ++counts().fused_epilogues;
  const bool queued = queue_product(*product, operands, stream) == cudaSuccess;
  return queued ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
