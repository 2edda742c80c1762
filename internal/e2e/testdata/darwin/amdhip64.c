// What the host code of kernel.hip calls in libamdhip64, doing nothing.
void *__hipRegisterFatBinary(const void *wrapper) { return (void *)wrapper; }
void __hipUnregisterFatBinary(void *handle) {}
int __hipRegisterFunction(void *handle) { return 0; }
void __hipRegisterVar(void *handle) {}
void __hipRegisterManagedVar(void *handle) {}
int __hipPushCallConfiguration(void) { return 0; }
int __hipPopCallConfiguration(void) { return 0; }
int hipLaunchKernel(void) { return 0; }
