# NCCL, where its header is found; the library itself is loaded when it is needed. NCCL_ROOT names a folder with
# include/nccl.h, such as that of the wheel nvidia-nccl: SITE-PACKAGES/nvidia/nccl.
set(SEGUE_NCCL_ENABLED OFF)
if(SEGUE_CUDA_ENABLED AND NOT SEGUE_NCCL STREQUAL "OFF")
  find_path(SEGUE_NCCL_INCLUDE_DIR nccl.h HINTS ENV NCCL_ROOT PATHS ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
  if(SEGUE_NCCL_INCLUDE_DIR)
    set(SEGUE_NCCL_ENABLED ON)
  endif()
endif()
if(SEGUE_NCCL STREQUAL "ON" AND NOT SEGUE_NCCL_ENABLED)
  message(FATAL_ERROR "SEGUE_NCCL is ON and needs CUDA and nccl.h; install libnccl-dev, or set NCCL_ROOT")
endif()
message(STATUS "NCCL: ${SEGUE_NCCL_ENABLED}")

# As cmake/cuda.cmake has it for CUDA: a program in which the GPU is emulated has emulated collectives too.
set(SEGUE_NCCL_LIBRARY $<IF:${SEGUE_EMULATED},segue_nccl_emulated,segue_nccl>)
