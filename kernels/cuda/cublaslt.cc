// cuBLASLt, loaded when a GPU is first used. Each function here stands for the library's own of the same name.
#include <cublasLt.h>

#include <string>

#include "base/shared_library.h"

namespace {

template <auto* kFunction>
auto* library_function(const char* name) {
  static const segue::SharedLibrary library("cuBLASLt", "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR));
  static auto* const kFound = library.function<kFunction>(name);
  return kFound;
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return library_function<&cublasLtCreate>("cublasLtCreate")(handle);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return library_function<&cublasLtDestroy>("cublasLtDestroy")(handle);
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  return library_function<&cublasLtGetStatusString>("cublasLtGetStatusString")(status);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  return library_function<&cublasLtMatmul>("cublasLtMatmul")(handle, operation, alpha, a, a_layout, b, b_layout, beta,
                                                             c, c_layout, d, d_layout, algorithm, workspace,
                                                             workspace_bytes, stream);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  return library_function<&cublasLtMatmulAlgoGetHeuristic>("cublasLtMatmulAlgoGetHeuristic")(
      handle, operation, a, b, c, d, preference, wanted, results, found);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  return library_function<&cublasLtMatmulDescCreate>("cublasLtMatmulDescCreate")(operation, compute, scale);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  return library_function<&cublasLtMatmulDescDestroy>("cublasLtMatmulDescDestroy")(operation);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  return library_function<&cublasLtMatmulDescSetAttribute>("cublasLtMatmulDescSetAttribute")(operation, attribute,
                                                                                             value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return library_function<&cublasLtMatmulPreferenceCreate>("cublasLtMatmulPreferenceCreate")(preference);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return library_function<&cublasLtMatmulPreferenceDestroy>("cublasLtMatmulPreferenceDestroy")(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                                    size_t bytes) {
  return library_function<&cublasLtMatmulPreferenceSetAttribute>("cublasLtMatmulPreferenceSetAttribute")(
      preference, attribute, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t stride) {
  return library_function<&cublasLtMatrixLayoutCreate>("cublasLtMatrixLayoutCreate")(layout, type, rows, columns,
                                                                                     stride);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return library_function<&cublasLtMatrixLayoutDestroy>("cublasLtMatrixLayoutDestroy")(layout);
}
