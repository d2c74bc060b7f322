# What a GPU's operations are made of, compiled for real GPUs and for the emulated one: kernels by nvcc and by the C++
# compiler, the rest by the C++ compiler both times.
set(SEGUE_CUDA_KERNELS copy_block.cu cross_entropy.cu dropout.cu embedding.cu epilogue.cu feed_forward.cu
  gradient_clip.cu lamb.cu layer_norm.cu linear_cross_entropy.cu linear_cross_entropy_listed.cu optimizer_step.cu
  relative_attention_backward.cu relative_attention_distances.cu relative_attention_forward.cu
  relative_attention_keys.cu relative_attention_queries.cu segment_memory.cu
  token_clusters.cu)
set(SEGUE_CUDA_HOST_SOURCES matmul.cc operations.cc)

list(TRANSFORM SEGUE_CUDA_KERNELS PREPEND ${PROJECT_SOURCE_DIR}/kernels/cuda/)
list(TRANSFORM SEGUE_CUDA_HOST_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/kernels/cuda/)
