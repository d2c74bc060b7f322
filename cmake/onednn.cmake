# oneDNN as DNNL::dnnl. Debian's own package file also demands OpenCL, which nothing here uses.
find_library(SEGUE_DNNL_LIBRARY dnnl REQUIRED)
find_path(SEGUE_DNNL_INCLUDE_DIR dnnl.h REQUIRED)
add_library(DNNL::dnnl UNKNOWN IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${SEGUE_DNNL_LIBRARY}
                                            INTERFACE_INCLUDE_DIRECTORIES ${SEGUE_DNNL_INCLUDE_DIR})
