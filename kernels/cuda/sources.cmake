# What a GPU's operations are made of, compiled for real GPUs and for the emulated one: kernels by nvcc and by the C++
# compiler, the rest by the C++ compiler both times.
file(GLOB SEGUE_CUDA_KERNELS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/cuda/*.cu)
set(SEGUE_CUDA_HOST_SOURCES matmul.cc operations.cc)

list(TRANSFORM SEGUE_CUDA_HOST_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/kernels/cuda/)
