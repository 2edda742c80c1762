# As the library's own package has it: its headers are C++17, and include hipBLAS's common ones.
set_property(TARGET roc::hipblaslt PROPERTY INTERFACE_COMPILE_FEATURES cxx_std_17)
set_property(TARGET roc::hipblaslt PROPERTY INTERFACE_LINK_LIBRARIES roc::hipblas-common)
