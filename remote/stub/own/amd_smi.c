/* What AMD SMI answers where no driver of AMD's GPUs is loaded. */
static amdsmi_status_t own_amdsmi_init(uint64_t flags) {
    (void)flags;
    stub_say("amdsmi_init", "AMDSMI_STATUS_DRIVER_NOT_LOADED");
    return AMDSMI_STATUS_DRIVER_NOT_LOADED;
}
static amdsmi_status_t own_amdsmi_shut_down(void) { return AMDSMI_STATUS_SUCCESS; }

static amdsmi_status_t own_amdsmi_get_lib_version(amdsmi_version_t *version) {
    if (!version) return AMDSMI_STATUS_INVAL;
    *version = (amdsmi_version_t){27, 1, 0, "27.1.0"};
    return AMDSMI_STATUS_SUCCESS;
}

/* The library has no text for AMDSMI_STATUS_TIMEOUT and AMDSMI_STATUS_MORE_DATA. */
#define AMDSMI_TEXT(name, text) {AMDSMI_STATUS_##name, "AMDSMI_STATUS_" #name ": " text}
static amdsmi_status_t own_amdsmi_status_code_to_string(amdsmi_status_t status, const char **text) {
    static const struct { amdsmi_status_t status; const char *text; } texts[] = {
        AMDSMI_TEXT(SUCCESS, "Call succeeded."),
        AMDSMI_TEXT(INVAL, "Invalid parameters."),
        AMDSMI_TEXT(NOT_SUPPORTED, "Command not supported."),
        AMDSMI_TEXT(NOT_YET_IMPLEMENTED, " Not implemented yet."),
        AMDSMI_TEXT(FAIL_LOAD_MODULE, "Fail to load lib module."),
        AMDSMI_TEXT(FAIL_LOAD_SYMBOL, "Fail to load symbol."),
        AMDSMI_TEXT(DRM_ERROR, "Error when calling libdrm function."),
        AMDSMI_TEXT(API_FAILED, "API call failed."),
        AMDSMI_TEXT(RETRY, "Retry operation."),
        AMDSMI_TEXT(NO_PERM, "Permission Denied."),
        AMDSMI_TEXT(INTERRUPT, "An interrupt occurred during execution of function."),
        AMDSMI_TEXT(IO, "I/O Error."),
        AMDSMI_TEXT(ADDRESS_FAULT, "Bad address."),
        AMDSMI_TEXT(FILE_ERROR, "Problem accessing a file."),
        AMDSMI_TEXT(OUT_OF_RESOURCES, "Not enough memory."),
        AMDSMI_TEXT(INTERNAL_EXCEPTION, "An internal exception was caught."),
        AMDSMI_TEXT(INPUT_OUT_OF_BOUNDS, "The provided input is out of allowable or safe range."),
        AMDSMI_TEXT(INIT_ERROR, "An error occurred when initializing internal data structures."),
        AMDSMI_TEXT(REFCOUNT_OVERFLOW, "An internal reference counter exceeded INT32_MAX."),
        AMDSMI_TEXT(DIRECTORY_NOT_FOUND, "Error when a directory is not found, maps to ENOTDIR."),
        AMDSMI_TEXT(IPC_ERROR, "An IPC error occurred."),
        AMDSMI_TEXT(BUSY, "Processor busy."),
        AMDSMI_TEXT(NOT_FOUND, "Processor Not found."),
        AMDSMI_TEXT(NOT_INIT, "Processor not initialized."),
        AMDSMI_TEXT(NO_SLOT, "No more free slot."),
        AMDSMI_TEXT(DRIVER_NOT_LOADED, "Processor driver not loaded."),
        AMDSMI_TEXT(NO_DATA, "No data was found for a given input."),
        AMDSMI_TEXT(INSUFFICIENT_SIZE, "Not enough resources were available for the operation."),
        AMDSMI_TEXT(UNEXPECTED_SIZE, "An unexpected amount of data was read."),
        AMDSMI_TEXT(UNEXPECTED_DATA, "The data read or provided to function is not what was expected."),
        AMDSMI_TEXT(NON_AMD_CPU, "System has different cpu than AMD."),
        AMDSMI_TEXT(NO_ENERGY_DRV, "Energy driver not found."),
        AMDSMI_TEXT(NO_MSR_DRV, "MSR driver not found."),
        AMDSMI_TEXT(NO_HSMP_DRV, "HSMP driver not found."),
        AMDSMI_TEXT(NO_HSMP_SUP, "HSMP not supported."),
        AMDSMI_TEXT(NO_HSMP_MSG_SUP, "HSMP message/feature not supported."),
        AMDSMI_TEXT(HSMP_TIMEOUT, "HSMP message timed out."),
        AMDSMI_TEXT(NO_DRV, "No Energy and HSMP driver present."),
        AMDSMI_TEXT(FILE_NOT_FOUND, "file or directory not found."),
        AMDSMI_TEXT(ARG_PTR_NULL, "Parsed argument is invalid."),
        AMDSMI_TEXT(AMDGPU_RESTART_ERR, "AMDGPU restart failed."),
        AMDSMI_TEXT(SETTING_UNAVAILABLE, "Setting is not available."),
        AMDSMI_TEXT(CORRUPTED_EEPROM, "EEPROM is corrupted."),
        AMDSMI_TEXT(MAP_ERROR, "The internal library error did not map to a status code."),
        AMDSMI_TEXT(UNKNOWN_ERROR, "An unknown error occurred."),
    };
    if (!text) return AMDSMI_STATUS_INVAL;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i].status == status) {
            *text = texts[i].text;
            return AMDSMI_STATUS_SUCCESS;
        }
    *text = "An unknown error occurred";
    return AMDSMI_STATUS_UNKNOWN_ERROR;
}
