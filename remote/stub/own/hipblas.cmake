# As the library's own package has it: with it comes that of the common headers.
include("${CMAKE_CURRENT_LIST_DIR}/../hipblas-common/hipblas-common-config.cmake")
set_property(TARGET roc::hipblas PROPERTY INTERFACE_LINK_LIBRARIES "roc::hipblas-common;hip::host")
