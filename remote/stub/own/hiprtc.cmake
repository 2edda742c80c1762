# As the library's own package has it: its header asks for which platform.
set_property(TARGET hiprtc::hiprtc PROPERTY INTERFACE_COMPILE_DEFINITIONS __HIP_PLATFORM_AMD__)
