/* What the HIP runtime can answer without a device. */

/* The last error of each thread; a success leaves it. */
static _Thread_local hipError_t hip_last;
#define STUB_NOTE(status) (hip_last = (status) != hipSuccess ? (status) : hip_last)

static hipError_t own_hipGetLastError(void) {
    hipError_t last = hip_last;
    hip_last = hipSuccess;
    return last;
}
static hipError_t own_hipExtGetLastError(void) { return own_hipGetLastError(); }
static hipError_t own_hipPeekAtLastError(void) { return hip_last; }

/* The configuration that <<<>>> pushes and the kernel's stub pops, by thread. */
struct hip_configuration {
    struct hip_configuration *below;
    dim3 grid, block;
    size_t shared;
    hipStream_t stream;
};
static _Thread_local struct hip_configuration *hip_configurations;

static hipError_t own___hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, hipStream_t stream) {
    struct hip_configuration *c = malloc(sizeof *c);
    if (!c) return hipErrorOutOfMemory;
    *c = (struct hip_configuration){hip_configurations, grid, block, shared, stream};
    hip_configurations = c;
    return hipSuccess;
}

static hipError_t own___hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, hipStream_t *stream) {
    struct hip_configuration *c = hip_configurations;
    if (!c) return hipErrorMissingConfiguration;
    if (grid) *grid = c->grid;
    if (block) *block = c->block;
    if (shared) *shared = c->shared;
    if (stream) *stream = c->stream;
    hip_configurations = c->below;
    free(c);
    return hipSuccess;
}

/* What compilers register: a module for each fat binary, and in it what the host
   knows by an address. Constructors of several libraries may run at once. */
struct hip_symbol {
    struct hip_symbol *next;
    const void *host;
    const char *name;
    void *memory; /* of a managed variable */
};
struct hip_module {
    const void *image;
    struct hip_symbol *symbols;
};
static char hip_busy;
static void hip_lock(void) { while (__atomic_exchange_n(&hip_busy, 1, __ATOMIC_ACQUIRE)) { } }
static void hip_unlock(void) { __atomic_store_n(&hip_busy, 0, __ATOMIC_RELEASE); }

static void **own___hipRegisterFatBinary(const void *data) {
    struct hip_module *m = calloc(1, sizeof *m);
    if (m) m->image = data;
    return (void **)m;
}

static struct hip_symbol *hip_register(void *modules, const void *host, const char *name) {
    struct hip_module *m = modules;
    struct hip_symbol *s = m ? calloc(1, sizeof *s) : 0;
    if (!s) return 0;
    s->host = host;
    s->name = name;
    hip_lock();
    s->next = m->symbols;
    m->symbols = s;
    hip_unlock();
    return s;
}

static void own___hipUnregisterFatBinary(void **modules) {
    struct hip_module *m = (struct hip_module *)modules;
    if (!m) return;
    hip_lock();
    struct hip_symbol *s = m->symbols;
    m->symbols = 0;
    hip_unlock();
    while (s) {
        struct hip_symbol *next = s->next;
        free(s->memory);
        free(s);
        s = next;
    }
    free(m);
}

static void own___hipRegisterFunction(void **modules, const void *host, char *device, const char *name, unsigned int limit,
                                      void *tid, void *bid, dim3 *block, dim3 *grid, int *size) {
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)size;
    hip_register(modules, host, name);
}
static void own___hipRegisterVar(void **modules, void *var, char *host, char *device, int ext, size_t size, int constant, int global) {
    (void)host, (void)ext, (void)size, (void)constant, (void)global;
    hip_register(modules, var, device);
}
static void own___hipRegisterSurface(void **modules, void *var, char *host, char *device, int type, int ext) {
    (void)host, (void)type, (void)ext;
    hip_register(modules, var, device);
}
static void own___hipRegisterTexture(void **modules, void *var, char *host, char *device, int type, int norm, int ext) {
    (void)host, (void)type, (void)norm, (void)ext;
    hip_register(modules, var, device);
}

/* The host reads a managed variable through a pointer, so there is memory for it. */
static void own___hipRegisterManagedVar(void *modules, void **pointer, void *value, const char *name, size_t size, unsigned int align) {
    struct hip_symbol *s = hip_register(modules, pointer, name);
    void *memory = 0;
    if (!s || !pointer || posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, size ? size : 1) != 0) return;
    if (value) memcpy(memory, value, size);
    else memset(memory, 0, size);
    s->memory = memory;
    *pointer = memory;
}

/* Entry points by name, as hipGetProcAddress finds them: some have a newer form
   that programs mean by the old name, and one for the stream of the thread. */
static stub_function hip_entry(const char *name, int version, unsigned long long flags) {
    char longer[256];
    size_t n = strlen(name);
    if (n < sizeof longer - 8) {
        memcpy(longer, name, n);
        if (version >= 600) {
            memcpy(longer + n, "R0600", 6);
            stub_function f = stub_find(longer);
            if (f) return f;
        }
        if (flags & 2) {
            memcpy(longer + n, "_spt", 5);
            stub_function f = stub_find(longer);
            if (f) return f;
        }
    }
    return stub_find(name);
}

static hipError_t own_hipGetProcAddress(const char *name, void **to, int version, uint64_t flags, hipDriverProcAddressQueryResult *status) {
    if (!name || !*name || !to) return hip_last = hipErrorInvalidValue;
    stub_function f = hip_entry(name, version, flags);
    *to = (void *)(uintptr_t)f;
    if (status) *status = f ? HIP_GET_PROC_ADDRESS_SUCCESS : HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return f ? hipSuccess : (hip_last = hipErrorNotFound);
}

static hipError_t own_hipGetDriverEntryPoint(const char *name, void **to, unsigned long long flags, hipDriverEntryPointQueryResult *status) {
    if (!name || !*name || !to) return hip_last = hipErrorInvalidValue;
    stub_function f = hip_entry(name, 700, flags);
    *to = (void *)(uintptr_t)f;
    if (status) *status = f ? hipDriverEntryPointSuccess : hipDriverEntryPointSymbolNotFound;
    return f ? hipSuccess : (hip_last = hipErrorNotFound);
}
static hipError_t own_hipGetDriverEntryPoint_spt(const char *name, void **to, unsigned long long flags, hipDriverEntryPointQueryResult *status) {
    return own_hipGetDriverEntryPoint(name, to, flags | 2, status);
}

static hipChannelFormatDesc own_hipCreateChannelDesc(int x, int y, int z, int w, hipChannelFormatKind f) {
    hipChannelFormatDesc d = {x, y, z, w, f};
    return d;
}

static const char *own_hipApiName(uint32_t id) { (void)id; return "unknown"; }
static const char *own_hipGetCmdName(unsigned int id) { (void)id; return "unknown"; }

/* Half precision, for compilers that call the runtime for it: round to nearest,
   ties to even. */
static unsigned short own___gnu_f2h_ieee(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return (unsigned short)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x47800000) return (unsigned short)(sign | 0x7c00);
    uint32_t shift = 13, mantissa = magnitude, bias = 0x38000000;
    if (magnitude < 0x38800000) { /* subnormal: the hidden bit becomes visible */
        uint32_t exponent = magnitude >> 23;
        if (exponent < 102) return (unsigned short)sign;
        mantissa = (magnitude & 0x7fffff) | 0x800000;
        shift = 126 - exponent;
        bias = 0;
    }
    uint32_t half = (mantissa - bias) >> shift, rest = (mantissa - bias) & ((1u << shift) - 1), middle = 1u << (shift - 1);
    if (rest > middle || (rest == middle && (half & 1))) half++;
    return (unsigned short)(sign | half);
}

static float own___gnu_h2f_ieee(unsigned short value) {
    uint32_t sign = (uint32_t)(value & 0x8000) << 16, exponent = value >> 10 & 31, mantissa = value & 0x3ff, bits;
    if (exponent == 31) bits = sign | 0x7f800000 | mantissa << 13;
    else if (exponent) bits = sign | (exponent + 112) << 23 | mantissa << 13;
    else if (!mantissa) bits = sign;
    else {
        uint32_t e = 113;
        while (!(mantissa & 0x400)) { mantissa <<= 1; e--; }
        bits = sign | e << 23 | (mantissa & 0x3ff) << 13;
    }
    float out;
    memcpy(&out, &bits, sizeof out);
    return out;
}
