# The compiler options of every target, and the two functions by which folders declare their targets.
add_library(segue_options INTERFACE)
target_include_directories(segue_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/launch/library/include)
function(segue_compile_options)  # of C++; cmake/cuda.cmake has those of CUDA
  foreach(option ${ARGN})
    target_compile_options(segue_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${option}>)
  endforeach()
endfunction()
segue_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Werror
                      -fno-math-errno)
segue_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)  # the same object wherever the sources lie
# For any x86-64-v3 processor, but for what is compiled for several levels (kernels/cpu).
segue_compile_options(-march=x86-64-$<IF:$<BOOL:$<TARGET_PROPERTY:SEGUE_CPU_LEVEL>>,$<TARGET_PROPERTY:SEGUE_CPU_LEVEL>,v3>)
if(SEGUE_SANITIZE)
  segue_compile_options(-fsanitize=address -fno-omit-frame-pointer)
  target_link_options(segue_options INTERFACE -fsanitize=address,undefined)
  add_compile_options(-fsanitize=undefined -fno-sanitize-recover=all)  # of folders, so that tests may leave it out
  if(NOT SEGUE_FUZZ)
    add_compile_options(-fno-sanitize=null)  # a fifth of the compiler's time for what ends a program anyhow
  endif()
endif()
if(SEGUE_FUZZ)
  segue_compile_options(-fsanitize=fuzzer-no-link)
endif()

# segue_library(NAME [SOURCES ...] LINK ...): one module, as a static library; of all the sources in its folder
# unless they are listed.
function(segue_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  endif()
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC segue_options ${ARG_LINK})
endfunction()

# segue_computes_little(TARGET): its sources check, choose and write. More than -O1 costs the compiler's time alone, and so
# does UndefinedBehaviorSanitizer where nothing is fuzzed: half the time of such sources, which do next to no arithmetic.
function(segue_computes_little target)
  target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-O1>)
  if(SEGUE_SANITIZE AND NOT SEGUE_FUZZ)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=undefined>)
  endif()
endfunction()

# segue_runs(TEST TARGET...): what launch/test builds for this test: it builds nothing that no test needs.
function(segue_runs test)
  set_property(TEST ${test} PROPERTY ATTACHED_FILES ${ARGN})  # which launch/checks/tests reads
endfunction()

# segue_leave_out(TARGET TEST...): built when asked for, and listed by ctest alone.
function(segue_leave_out target)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  set_tests_properties(${ARGN} PROPERTIES DISABLED ON)
endfunction()

# segue_test(NAME LABEL SOURCES ... LINK ...): one GoogleTest program, run by ctest as one test; one labelled unit is only
# listed by it where SEGUE_LEAVES_OUT is set.
function(segue_test name label)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} segue_tests_on_cpu GTest::gtest GTest::gmock GTest::gtest_main)
  if(TARGET segue_common_headers)
    target_precompile_headers(${name} REUSE_FROM segue_common_headers)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 1800)  # four times what the longest takes beside others
  if(SEGUE_LEAVES_OUT AND label STREQUAL "unit")
    segue_leave_out(${name} ${name})
  endif()
  segue_runs(${name} ${name})
endfunction()

# segue_by_need(NAME PATH...): a long trial. launch/test runs it only when one of these files or folders, named from the
# top and by patterns, or what they include, is not as it was when the trial passed (tests/long_trials.txt).
function(segue_by_need name)
  set(paths "")
  foreach(pattern IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS LIST_DIRECTORIES ON ${PROJECT_SOURCE_DIR}/${pattern})
    if(NOT found)
      message(FATAL_ERROR "${name}: there is no ${pattern}")
    endif()
    list(APPEND paths ${found})
  endforeach()
  set_property(TEST ${name} APPEND PROPERTY REQUIRED_FILES ${paths})  # which launch/checks/tests reads
  set_property(TEST ${name} APPEND PROPERTY LABELS long)
endfunction()

# segue_waits(NAME...): tests that wait more than they compute, which launch/test runs beside others, one after another.
function(segue_waits)
  foreach(name ${ARGN})
    set_property(TEST ${name} APPEND PROPERTY LABELS waits)
  endforeach()
endfunction()

# segue_folders_of(TARGET OUT): the folders, named from the top, of all that a target is linked from in this project.
function(segue_folders_of target out)
  set(folders "")
  set(waiting ${target})
  set(seen "")
  while(waiting)
    list(POP_FRONT waiting next)
    if(NOT TARGET ${next} OR next IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${next})
    get_target_property(imported ${next} IMPORTED)
    if(imported)
      continue()
    endif()
    get_target_property(folder ${next} SOURCE_DIR)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    list(APPEND folders ${folder})
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(linked ${next} ${property})
      if(linked)
        list(APPEND waiting ${linked})
      endif()
    endforeach()
  endwhile()
  list(REMOVE_DUPLICATES folders)
  set(${out} ${folders} PARENT_SCOPE)
endfunction()

# segue_test_objects(NAME SOURCES ... LINK ...): tests of several programs, compiled once: each takes
# $<TARGET_OBJECTS:NAME> among its sources.
function(segue_test_objects name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gmock)
endfunction()

# segue_bundled(NAME): a program that launch/package/bundle packs; it finds its libraries beside itself, and without a
# bundle where they were when it was built. They find theirs there too, which the older of the two kinds of run path is
# for.
add_custom_target(bundle_programs)
function(segue_bundled name)
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib;${CMAKE_BUILD_RPATH}"
    INSTALL_RPATH_USE_LINK_PATH ON)
  target_link_options(${name} PRIVATE LINKER:--disable-new-dtags)
  get_target_property(left_out ${name} EXCLUDE_FROM_ALL)
  if(NOT left_out)
    install(TARGETS ${name} RUNTIME DESTINATION bin COMPONENT bundle EXCLUDE_FROM_ALL)
    add_dependencies(bundle_programs ${name})
  endif()
endfunction()

# segue_gpu_test(NAME ...): a test on a real GPU, labelled gpu; skipped where there is none.
function(segue_gpu_test name)
  segue_test(${name} gpu ${ARGN})
  if(NOT SEGUE_GPU_CODE)
    segue_leave_out(${name} ${name})
  endif()
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "no GPU here")
  segue_bundled(${name})
endfunction()

# segue_fuzzer(NAME SOURCES ... LINK ... [SEEDS folder] [DICTIONARY file]): one libFuzzer program, run by ctest as one
# test. Mutation starts from the files in the folder and splices in words of the dictionary.
function(segue_fuzzer name)
  cmake_parse_arguments(ARG "" "SEEDS;DICTIONARY" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers ${name})
  set(arguments -runs=${SEGUE_FUZZ_INPUTS} -seed=1 -print_final_stats=1)
  if(ARG_SEEDS)
    file(GLOB seeds CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SEEDS}/*)
    list(JOIN seeds "," seeds)
    list(APPEND arguments -seed_inputs=${seeds})
  endif()
  if(ARG_DICTIONARY)
    cmake_path(ABSOLUTE_PATH ARG_DICTIONARY)
    list(APPEND arguments -dict=${ARG_DICTIONARY})
  endif()
  add_test(NAME ${name} COMMAND ${name} ${arguments})
  set_tests_properties(${name} PROPERTIES TIMEOUT 7200 ENVIRONMENT SEGUE_FUZZ_INPUTS=${SEGUE_FUZZ_INPUTS})
  segue_runs(${name} ${name})
  segue_folders_of(${name} paths)
  list(REMOVE_ITEM paths .)
  foreach(source IN LISTS ARG_SOURCES)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    list(APPEND paths ${source})
  endforeach()
  segue_by_need(${name} cmake tests/fuzz ${paths})
endfunction()
