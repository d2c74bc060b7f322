// How cuBLASLt computes each product it has met: chosen once, then looked up.
#pragma once

#include <cublasLt.h>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/tensor.h"

namespace segue::cuda {

inline void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) throw DeviceError("{}: {}", call, cublasLtGetStatusString(status));
}

// Everything a choice depends on. Extents of row-major c [m, n]; alignments in bytes, powers of two.
struct GemmKey {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  DType operands = DType::kFloat32, result = DType::kFloat32;
  bool relu = false;
  int64_t a_stride = 0, b_stride = 0, c_stride = 0;  // from one stored row to the next
  uint32_t a_alignment = 0, b_alignment = 0, c_alignment = 0;
  uint32_t bias_alignment = 0;                       // 0: no bias
  auto operator<=>(const GemmKey&) const = default;  // NOLINT(modernize-use-nullptr): a zero of the compiler's own

  bool has_bias() const { return bias_alignment > 0; }
  bool has_epilogue() const { return has_bias() || relu; }
};

// The product as cuBLASLt sees it: column-major, so with a and b exchanged.
struct GemmPlan {
  // With the bias of the first product, or null without one; set_bias names the next product's, aligned alike.
  GemmPlan(cublasLtHandle_t handle, const GemmKey& key, const void* bias, int64_t workspace_bytes);
  ~GemmPlan();
  GemmPlan(const GemmPlan&) = delete;
  GemmPlan& operator=(const GemmPlan&) = delete;

  void set_bias(const void* bias);

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  bool fuses_epilogue = false;  // otherwise bias and ReLU take passes of their own

 private:
  void describe(const GemmKey& key, const void* bias);
  void choose(cublasLtHandle_t handle, const GemmKey& key, int64_t workspace_bytes);
  // Finds `algorithm` for the operation as described now; CUBLAS_STATUS_NOT_SUPPORTED when none can run in the
  // workspace.
  cublasStatus_t find_algorithm(cublasLtHandle_t handle, cublasLtMatmulPreference_t preference,
                                int64_t workspace_bytes);
  void destroy() noexcept;
};

using GemmPlans = std::map<GemmKey, std::unique_ptr<GemmPlan>>;

}  // namespace segue::cuda
