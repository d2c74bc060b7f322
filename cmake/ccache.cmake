# ccache, where it is installed: SEGUE_CACHED is what goes before a compiler. Paths below the source folder are hashed as
# relative ones, so that what one checkout compiled serves another elsewhere.
find_program(SEGUE_CCACHE ccache)
set(SEGUE_CACHED "")
if(SEGUE_CCACHE)
  set(SEGUE_CACHED env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
                   CCACHE_SLOPPINESS=pch_defines,time_macros  # without which it serves no precompiled header
                   ${SEGUE_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SEGUE_CACHED})
endif()
