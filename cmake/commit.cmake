# Writes the commit of SOURCE as a header, OUTPUT, which changes only with it. Run by every build.
cmake_minimum_required(VERSION 3.25)
set(commit "")
if(EXISTS "${SOURCE}/.git")
  execute_process(
    COMMAND git -C "${SOURCE}" describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#define SEGUE_COMMIT \"@commit@\"\n" @ONLY)
