/* What hipFFT answers without a device: its version is that of rocFFT. */
static hipfftResult own_hipfftGetProperty(hipfftLibraryPropertyType type, int *value) {
    if (!value) return HIPFFT_INVALID_VALUE;
    switch (type) {
    case HIPFFT_MAJOR_VERSION: *value = 1; return HIPFFT_SUCCESS;
    case HIPFFT_MINOR_VERSION: *value = 0; return HIPFFT_SUCCESS;
    case HIPFFT_PATCH_LEVEL: *value = 36; return HIPFFT_SUCCESS;
    }
    return HIPFFT_INVALID_VALUE;
}
