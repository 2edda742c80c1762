# The headers that hipBLAS and hipBLASLt have in common are a target of their own.
if(NOT TARGET roc::hipblas-common)
  add_library(roc::hipblas-common INTERFACE IMPORTED)
  if(IS_DIRECTORY "${hipblas_PREFIX}/include")
    set_property(TARGET roc::hipblas-common PROPERTY INTERFACE_INCLUDE_DIRECTORIES "${hipblas_PREFIX}/include")
  endif()
  set_property(TARGET roc::hipblas APPEND PROPERTY INTERFACE_LINK_LIBRARIES roc::hipblas-common)
endif()
