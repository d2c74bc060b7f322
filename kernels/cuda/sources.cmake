# What a GPU's kernels are made of. Each list is compiled for real GPUs and for the emulated one: the first by nvcc and
# by the C++ compiler, the second by the C++ compiler both times.
set(SEGUE_CUDA_KERNELS)
set(SEGUE_CUDA_HOST_SOURCES)
