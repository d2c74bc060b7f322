# The GPUs of this machine. `cmake -P` on this file says what it finds.

# Sets the variable named `architectures` to what CMAKE_CUDA_ARCHITECTURES is for those that Segue runs on, empty when
# there is none, and the one named `words` to what is to be said of that.
function(segue_gpus_here architectures words)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE listed RESULT_VARIABLE status ERROR_QUIET)
  set(capabilities "")
  if(status STREQUAL "0")
    string(REGEX MATCHALL "[0-9]+[.][0-9]+" capabilities "${listed}")
    list(REMOVE_DUPLICATES capabilities)
  endif()
  set(found "")
  foreach(capability IN LISTS capabilities)
    if(capability VERSION_GREATER_EQUAL 8.0)
      string(REPLACE "." "" number ${capability})
      if(number EQUAL 90)
        string(APPEND number a)  # with what only these GPUs have
      endif()
      list(APPEND found ${number}-real)
    endif()
  endforeach()
  list(JOIN capabilities ", " seen)
  if(found)
    set(said "for the compute capability of what is here: ${seen}")
  elseif(capabilities)
    set(said "what is here has compute capability ${seen}, and Segue needs 8.0")
  else()
    set(said "nvidia-smi finds no GPU here")
  endif()
  set(${architectures} "${found}" PARENT_SCOPE)
  set(${words} "${said}" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  segue_gpus_here(architectures words)
  message("${architectures}\n${words}")
endif()
