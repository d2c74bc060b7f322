// Descriptions of products for cuBLASLt, and its choice of an algorithm for each.
#include "kernels/cuda/gemm_plans.h"

#include <algorithm>
#include <array>
#include <utility>

namespace segue::cuda {

namespace {

cudaDataType_t type_of(DType dtype) { return dtype == DType::kBFloat16 ? CUDA_R_16BF : CUDA_R_32F; }

// The layout of a row-major matrix [rows, columns], which cuBLASLt takes for its transpose.
cublasLtMatrixLayout_t layout_of(DType dtype, int64_t rows, int64_t columns, int64_t stride) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, type_of(dtype), static_cast<uint64_t>(columns), static_cast<uint64_t>(rows),
                                   stride),
        "cublasLtMatrixLayoutCreate");
  return layout;
}

template <typename Value>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)), "cublasLtMatmulDescSetAttribute");
}

template <typename Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute");
}

cublasLtEpilogue_t epilogue_of(const GemmKey& key) {
  if (key.relu) return key.has_bias() ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  return key.has_bias() ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

struct PreferenceDestroyer {
  void operator()(cublasLtMatmulPreference_t preference) const { cublasLtMatmulPreferenceDestroy(preference); }
};
using Preference = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>, PreferenceDestroyer>;

// Parts of a sum over k may only meet in float32 and in a fixed order: never rounded to bfloat16 first, never in the
// order in which they happen to be ready.
Preference preference_for(const GemmKey& key, int64_t workspace_bytes) {
  cublasLtMatmulPreference_t created = nullptr;
  check(cublasLtMatmulPreferenceCreate(&created), "cublasLtMatmulPreferenceCreate");
  Preference preference(created);
  constexpr uint32_t kReductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  set(created, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(workspace_bytes));
  set(created, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kReductions);
  set(created, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.b_alignment);
  set(created, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.a_alignment);
  set(created, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.c_alignment);
  set(created, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.c_alignment);
  return preference;
}

}  // namespace

GemmPlan::GemmPlan(cublasLtHandle_t handle, const GemmKey& key, const void* bias, int64_t workspace_bytes) {
  try {
    describe(key, bias);
    choose(handle, key, workspace_bytes);
  } catch (...) {
    destroy();
    throw;
  }
}

GemmPlan::~GemmPlan() { destroy(); }

void GemmPlan::destroy() noexcept {
  for (cublasLtMatrixLayout_t layout : {a, b, c}) {
    if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
  }
  if (operation != nullptr) cublasLtMatmulDescDestroy(operation);
}

void GemmPlan::set_bias(const void* bias) { set(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias); }

void GemmPlan::describe(const GemmKey& key, const void* bias) {
  check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
  set(operation, CUBLASLT_MATMUL_DESC_TRANSA, key.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_TRANSB, key.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(key));
  if (key.has_bias()) set_bias(bias);
  a = layout_of(key.operands, key.transpose_b ? key.n : key.k, key.transpose_b ? key.k : key.n, key.b_stride);
  b = layout_of(key.operands, key.transpose_a ? key.k : key.m, key.transpose_a ? key.m : key.k, key.a_stride);
  c = layout_of(key.result, key.m, key.n, key.c_stride);
}

// The first that can run, in the library's own order. None is timed: a clock would choose differently from one run to
// the next, sums in another order end in other bits, and a run that resumes is to repeat what the first one computed.
cublasStatus_t GemmPlan::find_algorithm(cublasLtHandle_t handle, cublasLtMatmulPreference_t preference,
                                        int64_t workspace_bytes) {
  std::array<cublasLtMatmulHeuristicResult_t, 8> results{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, operation, a, b, c, c, preference, static_cast<int>(results.size()), results.data(), &found);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const auto* const end = results.cbegin() + found;
  const auto* const usable = std::find_if(results.cbegin(), end, [&](const cublasLtMatmulHeuristicResult_t& result) {
    return result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= static_cast<size_t>(workspace_bytes);
  });
  if (usable == end) return CUBLAS_STATUS_NOT_SUPPORTED;
  algorithm = usable->algo;
  return CUBLAS_STATUS_SUCCESS;
}

// Some products, such as those of bfloat16 with odd extents, have algorithms as long as nothing is fused behind them.
void GemmPlan::choose(cublasLtHandle_t handle, const GemmKey& key, int64_t workspace_bytes) {
  const Preference preference = preference_for(key, workspace_bytes);
  cublasStatus_t status = find_algorithm(handle, preference.get(), workspace_bytes);
  fuses_epilogue = key.has_epilogue() && status == CUBLAS_STATUS_SUCCESS;
  if (key.has_epilogue() && (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE)) {
    set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
    status = find_algorithm(handle, preference.get(), workspace_bytes);
  }
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw DeviceError("cuBLASLt has no way to multiply [{}, {}] by [{}, {}] in {} to {}: {}", key.m, key.k, key.k,
                      key.n, name_of(key.operands), name_of(key.result), cublasLtGetStatusString(status));
  }
}

}  // namespace segue::cuda
