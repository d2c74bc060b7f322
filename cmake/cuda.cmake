# CUDA, where there is nvcc: SEGUE_CUDA_ENABLED tells.
find_program(SEGUE_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
set(SEGUE_CUDA_ENABLED OFF)
if(SEGUE_CUDA STREQUAL "ON" OR (SEGUE_CUDA STREQUAL "AUTO" AND SEGUE_NVCC))
  set(SEGUE_CUDA_ENABLED ON)
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND SEGUE_NVCC)
    set(CMAKE_CUDA_COMPILER ${SEGUE_NVCC})
  endif()
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100 CACHE STRING "GPUs to compile for; the newest also as PTX")
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc can
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  find_package(CUDAToolkit REQUIRED)
  set(CMAKE_BUILD_RPATH ${CUDAToolkit_LIBRARY_DIR})  # of cuBLASLt, which is loaded when it is needed
  if(SEGUE_CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${SEGUE_CCACHE})
  endif()
endif()
message(STATUS "CUDA: ${SEGUE_CUDA_ENABLED}")

# What stands for the GPU in a program, for base and for kernels: CUDA (in a build without it, refusals), unless the
# program's target property SEGUE_EMULATES_CUDA asks for the emulated GPU.
set(SEGUE_EMULATED $<BOOL:$<TARGET_PROPERTY:SEGUE_EMULATES_CUDA>>)
set(SEGUE_CUDA_RUNTIME_LIBRARY $<IF:${SEGUE_EMULATED},segue_cuda_runtime_emulated,segue_cuda_runtime>)
set(SEGUE_CUDA_LIBRARY $<IF:${SEGUE_EMULATED},segue_cuda_emulated,segue_cuda>)
