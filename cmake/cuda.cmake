# CUDA, where SEGUE_CUDA asks for it and there is nvcc: SEGUE_CUDA_ENABLED tells.
find_program(SEGUE_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
include(${CMAKE_CURRENT_LIST_DIR}/gpus_here.cmake)
set(architectures 80-real 90a-real 100)  # the newest also as PTX
set(words "")
if(SEGUE_CUDA STREQUAL "HERE")
  segue_gpus_here(architectures words)
endif()
set(SEGUE_CUDA_ENABLED OFF)
if(SEGUE_CUDA STREQUAL "ON" OR (NOT SEGUE_CUDA STREQUAL "OFF" AND SEGUE_NVCC AND architectures))
  set(SEGUE_CUDA_ENABLED ON)
elseif(NOT SEGUE_CUDA STREQUAL "OFF" AND NOT SEGUE_NVCC)
  set(words "there is no nvcc")
endif()
if(SEGUE_CUDA_ENABLED)
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND SEGUE_NVCC)
    set(CMAKE_CUDA_COMPILER ${SEGUE_NVCC})
  endif()
  if(SEGUE_CUDA STREQUAL "HERE")
    set(CMAKE_CUDA_ARCHITECTURES ${architectures})
  else()
    set(CMAKE_CUDA_ARCHITECTURES ${architectures} CACHE STRING "GPUs to compile for")
  endif()
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
if(words)
  string(PREPEND words ", ")
endif()
message(STATUS "CUDA: ${SEGUE_CUDA_ENABLED}${words}")

# What stands for the GPU in a program, for base and for kernels: CUDA (in a build without it, refusals), unless a
# property of the program's target asks for something else. SEGUE_EMULATES_CUDA: the emulated GPU, tests/simt.
# SEGUE_STANDS_IN_FOR_CUDA: what drives CUDA, above the stand-ins for its libraries, tests/cuda_standins.
set(SEGUE_EMULATED $<BOOL:$<TARGET_PROPERTY:SEGUE_EMULATES_CUDA>>)
set(SEGUE_STOOD_IN $<BOOL:$<TARGET_PROPERTY:SEGUE_STANDS_IN_FOR_CUDA>>)
set(SEGUE_CUDART_LIBRARY $<IF:${SEGUE_STOOD_IN},segue_cudart_stand_in,CUDA::cudart_static>)
set(SEGUE_CUDA_RUNTIME_LIBRARY $<IF:${SEGUE_EMULATED},segue_cuda_runtime_emulated,segue_cuda_runtime>)
set(SEGUE_CUDA_LIBRARY
  $<IF:${SEGUE_EMULATED},segue_cuda_emulated,$<IF:${SEGUE_STOOD_IN},segue_cuda_stood_in,segue_cuda>>)
