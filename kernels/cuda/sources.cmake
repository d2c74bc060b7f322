# What a GPU's operations are made of, compiled for real GPUs and for the emulated one: kernels by nvcc and by the C++
# compiler, the rest by the C++ compiler both times.
set(SEGUE_CUDA_KERNELS adam.cu cross_entropy.cu dropout.cu embedding.cu layer_norm.cu segment_memory.cu)
set(SEGUE_CUDA_HOST_SOURCES matmul.cc)

# Families without kernels; they refuse.
set(SEGUE_CUDA_MISSING feed_forward relative_attention)
list(TRANSFORM SEGUE_CUDA_MISSING REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/kernels/no_cuda/\\1.cc")
list(TRANSFORM SEGUE_CUDA_KERNELS PREPEND ${PROJECT_SOURCE_DIR}/kernels/cuda/)
list(TRANSFORM SEGUE_CUDA_HOST_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/kernels/cuda/)
