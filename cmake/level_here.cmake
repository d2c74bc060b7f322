# The best level of x86-64 that a processor runs, of those that Segue's operations are compiled for.

# Sets the variable named `level` to v4 where the first processor of `cpuinfo`, which Linux has as /proc/cpuinfo, has all of
# it, and to v3 otherwise, which Segue needs at least.
function(segue_level_here cpuinfo level)
  set(flags "")
  if(EXISTS ${cpuinfo})
    file(STRINGS ${cpuinfo} flags REGEX "^flags[ \t]*:" LIMIT_COUNT 1)
  endif()
  set(found v4)
  foreach(flag avx2 fma bmi2 avx512f avx512bw avx512cd avx512dq avx512vl)
    if(NOT "${flags} " MATCHES "[ \t]${flag} ")
      set(found v3)
    endif()
  endforeach()
  set(${level} ${found} PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  segue_level_here(${CPUINFO} level)
  message("${level}")
endif()
