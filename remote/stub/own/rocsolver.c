/* What rocSOLVER answers without a device. */
static const char rocsolver_version[] = "3.32.0.";
static rocblas_status own_rocsolver_get_version_string(char *to, size_t size) {
    if (!to) return rocblas_status_invalid_pointer;
    if (size < sizeof rocsolver_version) return rocblas_status_invalid_size;
    memcpy(to, rocsolver_version, sizeof rocsolver_version);
    return rocblas_status_success;
}
static rocblas_status own_rocsolver_get_version_string_size(size_t *size) {
    if (!size) return rocblas_status_invalid_pointer;
    *size = sizeof rocsolver_version;
    return rocblas_status_success;
}
