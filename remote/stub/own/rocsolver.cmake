# As the library's own package has it: whoever links with it has rocBLAS's handles too.
set_property(TARGET roc::rocsolver PROPERTY INTERFACE_LINK_LIBRARIES roc::rocblas)
