# oneDNN 2.6 or 3.x as DNNL::dnnl. Debian 12's package configuration asks for OpenCL's development files; where they
# are missing, the library is found by hand.
find_package(dnnl CONFIG QUIET)
if(NOT TARGET DNNL::dnnl)
  find_path(OneDnn_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
  find_library(OneDnn_LIBRARY dnnl)
  if(OneDnn_INCLUDE_DIR AND OneDnn_LIBRARY)
    add_library(DNNL::dnnl UNKNOWN IMPORTED)
    set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION "${OneDnn_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${OneDnn_INCLUDE_DIR}")
  endif()
endif()
if(TARGET DNNL::dnnl)
  set(OneDnn_TARGET DNNL::dnnl)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDnn REQUIRED_VARS OneDnn_TARGET
  REASON_FAILURE_MESSAGE "install libdnnl-dev (Debian) or onednn (Spack)")
