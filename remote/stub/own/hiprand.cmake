# As the library's own package has it: its headers are found without their folder too.
if(IS_DIRECTORY "${hiprand_PREFIX}/include/hiprand")
  set_property(TARGET hip::hiprand APPEND PROPERTY INTERFACE_INCLUDE_DIRECTORIES "${hiprand_PREFIX}/include/hiprand")
endif()
