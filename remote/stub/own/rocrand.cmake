# As the library's own package has it: its headers are found without their folder too.
if(IS_DIRECTORY "${rocrand_PREFIX}/include/rocrand")
  set_property(TARGET roc::rocrand APPEND PROPERTY INTERFACE_INCLUDE_DIRECTORIES "${rocrand_PREFIX}/include/rocrand")
endif()
