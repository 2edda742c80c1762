/* What rocBLAS answers without a device. */
static const char rocblas_version[] = "5.2.0.";
static rocblas_status own_rocblas_get_version_string(char *to, size_t size) {
    if (!to) return rocblas_status_invalid_pointer;
    if (size < sizeof rocblas_version) return rocblas_status_invalid_size;
    memcpy(to, rocblas_version, sizeof rocblas_version);
    return rocblas_status_success;
}
static rocblas_status own_rocblas_get_version_string_size(size_t *size) {
    if (!size) return rocblas_status_invalid_pointer;
    *size = sizeof rocblas_version;
    return rocblas_status_success;
}
