/* What rocFFT answers without a device. */
static rocfft_status own_rocfft_get_version_string(char *to, size_t size) {
    static const char version[] = "1.0.36.";
    if (!to) return rocfft_status_failure;
    if (size < sizeof version) return rocfft_status_invalid_arg_value;
    memcpy(to, version, sizeof version);
    return rocfft_status_success;
}
