"""How what drives CUDA could be wrong; noticed above the stand-ins for its libraries (tests/cuda_standins)."""

from mutation import KERNELS, Mutation


def host(path: str, meaning: str, text: str, replacement: str, tests: str) -> Mutation:
    return Mutation(path, meaning, text, replacement, tests, path, "cuda_host_test")


def nccl(meaning: str, text: str, replacement: str, tests: str) -> Mutation:
    """One rank alone should notice."""
    path = "distributed/nccl.cc"
    return Mutation(path, meaning, text, replacement, tests, path, "collectives_host_test", "tests/distributed")


EPILOGUE = f"{KERNELS}epilogue.cu"
GEMM = f"{KERNELS}gemm.cc"
PLANS = f"{KERNELS}gemm_plans.cc"
QUEUE = f"{KERNELS}queue.cc"
RUNTIME = "base/cuda/runtime.cc"

HOST_MUTATIONS = [
    host(
        EPILOGUE,
        "a bias that is the same in every column",
        "= args.bias[column]",
        "= args.bias[0]",
        "CudaGemm.EveryFormInBFloat16",
    ),
    host(EPILOGUE, "what is positive made nothing", "< 0.0F)", "> 0.0F)", "CudaGemm.EveryFormInBFloat16"),
    nccl("calls that block", "  config.blocking = 0;\n", "", "Collectives.AllReduce*"),
    nccl("going on taken for an error", "result != ncclInProgress && ", "", "Collectives.AllReduce*"),
    nccl(
        "parts gathered by their elements, not bytes",
        "my_part.data, values.data, static_cast<size_t>(my_part.bytes())",
        "my_part.data, values.data, static_cast<size_t>(my_part.elements())",
        "Collectives.AllGatherPuts*",
    ),
    host(
        GEMM,
        "what was there is forgotten",
        "args.accumulate || bias_ahead",
        "bias_ahead",
        "CudaGemm.EveryFormInFloat32",
    ),
    host(
        GEMM,
        "a bias ahead of a product that overwrites it",
        "args.accumulate || bias_ahead",
        "args.accumulate",
        "CudaGemm.EveryFormInBFloat16",
    ),
    host(
        GEMM,
        "rows of the result side by side",
        "stride_of(args.c, args.c_stride)",
        "args.c.shape[1]",
        "CudaGemm.EveryFormInFloat32",
    ),
    host(
        GEMM,
        "one choice for biases of all alignments",
        "args.bias.empty() ? 0 : alignment_of(args.bias.data)",
        "args.bias.empty() ? 0 : 1",
        "CudaGemm.ChoosesOnce*",
    ),
    host(
        GEMM,
        "the bias of the first product",
        "} else if (key.has_bias()) {",
        "} else if (false) {",
        "CudaGemm.Biases*",
    ),
    host(
        GEMM,
        "no ReLU where nothing is fused",
        "key.relu && !plan.fuses_epilogue",
        "false",
        "CudaGemm.EveryFormInBFloat16",
    ),
    host(
        PLANS,
        "operands transposed for each other",
        "CUBLASLT_MATMUL_DESC_TRANSA, key.transpose_b",
        "CUBLASLT_MATMUL_DESC_TRANSA, key.transpose_a",
        "CudaGemm.EveryFormInFloat32",
    ),
    host(
        PLANS,
        "operands aligned like each other",
        "MIN_ALIGNMENT_A_BYTES, key.b_alignment",
        "MIN_ALIGNMENT_A_BYTES, key.a_alignment",
        "CudaGemm.EveryFormInFloat32",
    ),
    host(
        PLANS,
        "an attribute of the wrong size",
        "static_cast<uint64_t>(workspace_bytes)",
        "static_cast<uint32_t>(workspace_bytes)",
        "CudaGemm.FusesWhatItCan",
    ),
    host(
        PLANS,
        "no bias to choose for",
        "  if (key.has_bias()) set_bias(bias);\n",
        "",
        "CudaGemm.ChoosesOnce*",
    ),
    host(
        PLANS,
        "a result that is none",
        "result.state == CUBLAS_STATUS_SUCCESS && ",
        "",
        "CudaGemm.TakesTheFirst*",
    ),
    host(
        PLANS,
        "nothing tried without the epilogue",
        "CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT",
        "CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(key)",
        "CudaGemm.FusesWhatItCan",
    ),
    host(
        QUEUE,
        "a fence that holds nothing",
        "if (state_) check(cudaStreamWaitEvent(",
        "if (false) check(cudaStreamWaitEvent(",
        "CudaQueue.AnotherQueue*",
    ),
    host(
        QUEUE,
        "a fence that nobody waits for",
        "if (state_) check(cudaEventSynchronize(",
        "if (false) check(cudaEventSynchronize(",
        "CudaQueue.TheHostWaits*",
    ),
    host(
        QUEUE,
        "times of the recording in place of those of a launch",
        "cudaEventRecordDefault : cudaEventRecordExternal",
        "cudaEventRecordDefault : cudaEventRecordDefault",
        "CudaQueue.AStopwatch*",
    ),
    host(
        QUEUE,
        "a recording without end when its work fails",
        "    cudaStreamEndCapture(stream, &recording.graph);\n    cudaGetLastError();",
        "    cudaGetLastError();",
        "CudaGraph.Refuses*",
    ),
    host(
        QUEUE,
        "what a recording failed of reported again by the next launch",
        "    cudaGetLastError();",
        "",
        "CudaGraph.Refuses*",
    ),
    host(
        RUNTIME,
        "a copy that waits for nothing",
        "  check(cudaDeviceSynchronize(), \"cudaDeviceSynchronize\");\n  check(cudaMemcpy(",
        "  check(cudaMemcpy(",
        "CudaGraph.Refuses*",
    ),
    host(
        RUNTIME,
        "want of memory reported again by the next launch",
        "cudaGetLastError();  // the error is reported here, not by the call that comes next\n  const DeviceInfo",
        "const DeviceInfo",
        "CudaRuntime.SaysHowMuch*",
    ),
]
