// The calls of libamdhip64 that programs of public collections make, handed on to a test
// that answers them out of the emulator. Each is a request and a reply through the file
// descriptor 3: two words (operation or status, length), then that many bytes. Streams do
// their work at once, so that events and synchronization have nothing to do.
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <hip/hip_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

namespace {

enum Operation : uint32_t { Alloc = 1, Free, Write, Read, Fill, Copy, Load, Kernel, Launch, Symbol };

struct Message {
  std::string bytes;
  template <typename T> Message &put(T v) { bytes.append(reinterpret_cast<const char *>(&v), sizeof v); return *this; }
  Message &put(const void *p, size_t n) { bytes.append(static_cast<const char *>(p), n); return *this; }
};

void all(bool writing, void *p, size_t n) {
  auto *b = static_cast<char *>(p);
  while (n > 0) {
    ssize_t done = writing ? write(3, b, n) : read(3, b, n);
    if (done <= 0) { perror("the emulator is gone"); _exit(99); }
    b += done, n -= done;
  }
}

thread_local hipError_t last = hipSuccess;
hipError_t status(hipError_t e) { if (e != hipSuccess) last = e; return e; }

// call sends a request; the reply's bytes replace the message.
hipError_t call(Operation op, Message &m) {
  uint64_t head[2] = {op, m.bytes.size()};
  all(true, head, sizeof head);
  all(true, m.bytes.data(), m.bytes.size());
  all(false, head, sizeof head);
  m.bytes.resize(head[1]);
  all(false, m.bytes.data(), head[1]);
  return status(hipError_t(head[0]));
}

struct Function { uint32_t module; std::string name; };
struct Variable { uint32_t module; std::string name; };
struct Config { dim3 grid, block; size_t lds; hipStream_t stream; };

// Made at the first registration, which comes before main and before constructors here.
struct State {
  std::map<const void *, Function> functions;
  std::map<const void *, Variable> variables;
  std::map<char *, size_t> shared;  // memory of host and device, at the same address in both
  std::vector<Config> configs;
};
State &state() { static auto *s = new State; return *s; }

size_t bundleSize(const char *p) {
  if (memcmp(p, "CCOB", 4) == 0) {
    uint16_t version; memcpy(&version, p + 4, 2);
    if (version >= 3) { uint64_t n; memcpy(&n, p + 8, 8); return n; }
    uint32_t n; memcpy(&n, p + 8, 4); return n;
  }
  uint64_t count, most = 0; memcpy(&count, p + 24, 8);
  const char *at = p + 32;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t e[3]; memcpy(e, at, 24);
    if (e[0] + e[1] > most) most = e[0] + e[1];
    at += 24 + e[2];
  }
  return most;
}

hipError_t alloc(void **p, size_t n) {
  Message m; m.put(uint64_t(n));
  hipError_t e = call(Alloc, m);
  if (e == hipSuccess) memcpy(p, m.bytes.data(), 8);
  return e;
}

// both allocates memory that the host reads and writes as well: the kernels' copy is
// brought up to date before each launch, the host's behind it.
hipError_t both(void **p, size_t n) {
  hipError_t e = alloc(p, n);
  if (e != hipSuccess) return e;
  void *here = mmap(*p, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (here != *p) return status(hipErrorOutOfMemory);
  state().shared[static_cast<char *>(*p)] = n;
  return hipSuccess;
}

bool isShared(const void *p) {
  auto it = state().shared.upper_bound(const_cast<char *>(static_cast<const char *>(p)));
  if (it == state().shared.begin()) return false;
  --it;
  return static_cast<const char *>(p) < it->first + it->second;
}

hipError_t store(void *to, const void *from, size_t n) {
  Message m; m.put(uint64_t(uintptr_t(to))).put(from, n);
  return call(Write, m);
}

hipError_t fetch(void *to, const void *from, size_t n) {
  Message m; m.put(uint64_t(uintptr_t(from))).put(uint64_t(n));
  hipError_t e = call(Read, m);
  if (e == hipSuccess) memcpy(to, m.bytes.data(), n);
  return e;
}

hipError_t launch(uint32_t module, const std::string &name, dim3 grid, dim3 block, void **args, const char *packed, size_t lds) {
  Message m; m.put(module).put(name.data(), name.size());
  hipError_t e = call(Kernel, m);  // sizes and places of the arguments
  if (e != hipSuccess) return e;
  std::vector<uint32_t> layout(m.bytes.size() / 4);
  memcpy(layout.data(), m.bytes.data(), m.bytes.size());
  for (auto &s : state().shared) if ((e = store(s.first, s.first, s.second)) != hipSuccess) return e;
  Message r; r.put(module);
  for (uint32_t v : {grid.x, grid.y, grid.z, block.x, block.y, block.z, uint32_t(lds), uint32_t(name.size())}) r.put(v);
  r.put(name.data(), name.size());
  for (size_t i = 0; i + 1 < layout.size(); i += 2)
    r.put(packed ? packed + layout[i + 1] : static_cast<const char *>(args[i / 2]), layout[i]);
  e = call(Launch, r);
  (e == hipSuccess ? fwrite(r.bytes.data(), 1, r.bytes.size(), stdout) : fprintf(stderr, "%s\n", r.bytes.c_str()));
  fflush(stdout);
  for (auto &s : state().shared) fetch(s.first, s.first, s.second);
  return e;
}

uint32_t load(const void *image) {
  const char *p = static_cast<const char *>(image);
  Message m; m.put(p, bundleSize(p));
  uint32_t id = ~0u;
  if (call(Load, m) == hipSuccess) memcpy(&id, m.bytes.data(), 4);
  return id;
}

}  // namespace

extern "C" {

void **__hipRegisterFatBinary(const void *data) {
  struct Wrapper { uint32_t magic, version; const void *binary; };
  return reinterpret_cast<void **>(new uint32_t(load(static_cast<const Wrapper *>(data)->binary)));
}
void __hipUnregisterFatBinary(void **) {}
void __hipRegisterFunction(void **m, const void *host, char *, const char *name, unsigned, void *, void *, void *, void *, int *) {
  state().functions[host] = {*reinterpret_cast<uint32_t *>(m), name};
}
void __hipRegisterVar(void **m, void *var, char *, char *name, int, size_t, int, int) { state().variables[var] = {*reinterpret_cast<uint32_t *>(m), name}; }
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds, hipStream_t stream) { state().configs.push_back({grid, block, lds, stream}); return hipSuccess; }
hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *lds, hipStream_t *stream) {
  Config c = state().configs.back();
  state().configs.pop_back();
  *grid = c.grid, *block = c.block, *lds = c.lds, *stream = c.stream;
  return hipSuccess;
}
hipError_t hipLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t lds, hipStream_t) {
  auto it = state().functions.find(f);
  return it == state().functions.end() ? status(hipErrorInvalidDeviceFunction) : launch(it->second.module, it->second.name, grid, block, args, nullptr, lds);
}
hipError_t hipLaunchCooperativeKernel(const void *f, dim3 grid, dim3 block, void **args, unsigned lds, hipStream_t s) { return hipLaunchKernel(f, grid, block, args, lds, s); }

hipError_t hipModuleLoadData(hipModule_t *m, const void *image) {
  uint32_t id;
  if (memcmp(image, "\177ELF", 4) == 0) {  // the section headers come last
    auto *p = static_cast<const char *>(image);
    uint64_t at; uint16_t size, n; memcpy(&at, p + 40, 8); memcpy(&size, p + 58, 2); memcpy(&n, p + 60, 2);
    Message r; r.put(p, at + size_t(size) * n);
    if (call(Load, r) != hipSuccess) return last;
    memcpy(&id, r.bytes.data(), 4);
  } else if ((id = load(image)) == ~0u) return last;
  *m = reinterpret_cast<hipModule_t>(new uint32_t(id));
  return hipSuccess;
}
hipError_t hipModuleLoad(hipModule_t *m, const char *name) {
  FILE *f = fopen(name, "rb");
  if (!f) return status(hipErrorFileNotFound);
  std::string *data = new std::string;
  for (int c; (c = fgetc(f)) != EOF;) data->push_back(char(c));
  fclose(f);
  return hipModuleLoadData(m, data->data());
}
hipError_t hipModuleUnload(hipModule_t) { return hipSuccess; }
hipError_t hipModuleGetFunction(hipFunction_t *f, hipModule_t m, const char *name) { *f = reinterpret_cast<hipFunction_t>(new Function{*reinterpret_cast<uint32_t *>(m), name}); return hipSuccess; }
hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned lds, hipStream_t, void **args, void **extra) {
  auto *k = reinterpret_cast<Function *>(f);
  const char *packed = nullptr;
  for (; extra && *extra != HIP_LAUNCH_PARAM_END; extra += 2) if (*extra == HIP_LAUNCH_PARAM_BUFFER_POINTER) packed = static_cast<const char *>(extra[1]);
  return launch(k->module, k->name, dim3(gx, gy, gz), dim3(bx, by, bz), args, packed, lds);
}

hipError_t hipMalloc(void **p, size_t n) { return alloc(p, n); }
hipError_t hipMallocManaged(void **p, size_t n, unsigned) { return both(p, n); }
hipError_t hipHostMalloc(void **p, size_t n, unsigned) { return both(p, n); }
hipError_t hipMallocHost(void **p, size_t n) { return both(p, n); }
hipError_t hipHostGetDevicePointer(void **d, void *h, unsigned) { *d = h; return hipSuccess; }
hipError_t hipFree(void *p) {
  if (!p) return hipSuccess;
  auto it = state().shared.find(static_cast<char *>(p));
  if (it != state().shared.end()) { munmap(p, it->second); state().shared.erase(it); }
  Message m; m.put(uint64_t(uintptr_t(p)));
  return call(Free, m);
}
hipError_t hipHostFree(void *p) { return hipFree(p); }
hipError_t hipFreeHost(void *p) { return hipFree(p); }
hipError_t hipMemcpy(void *to, const void *from, size_t n, hipMemcpyKind kind) {
  bool down = kind == hipMemcpyDeviceToHost, up = kind == hipMemcpyHostToDevice;
  if (isShared(to)) up = false, down = down || kind != hipMemcpyHostToHost && !isShared(from) && kind != hipMemcpyHostToDevice;
  if (isShared(from)) down = false, up = up || kind == hipMemcpyDeviceToDevice && !isShared(to);
  if (kind == hipMemcpyHostToHost || isShared(to) && !down || isShared(from) && !up) return memmove(to, from, n), hipSuccess;
  if (up) return store(to, from, n);
  if (down) return fetch(to, from, n);
  Message m; m.put(uint64_t(uintptr_t(to))).put(uint64_t(uintptr_t(from))).put(uint64_t(n));
  return call(Copy, m);
}
hipError_t hipMemcpyAsync(void *to, const void *from, size_t n, hipMemcpyKind kind, hipStream_t) { return hipMemcpy(to, from, n, kind); }
hipError_t hipMemset(void *p, int v, size_t n) {
  if (isShared(p)) return memset(p, v, n), hipSuccess;
  Message m; m.put(uint64_t(uintptr_t(p))).put(uint64_t(n)).put(uint32_t(v));
  return call(Fill, m);
}
hipError_t hipMemsetAsync(void *p, int v, size_t n, hipStream_t) { return hipMemset(p, v, n); }
static hipError_t symbol(const void *var, void **p, size_t *n) {
  auto it = state().variables.find(var);
  if (it == state().variables.end()) return status(hipErrorInvalidSymbol);
  Message m; m.put(it->second.module).put(it->second.name.data(), it->second.name.size());
  hipError_t e = call(Symbol, m);
  if (e != hipSuccess) return e;
  if (p) memcpy(p, m.bytes.data(), 8);
  if (n) memcpy(n, m.bytes.data() + 8, 8);
  return e;
}
hipError_t hipGetSymbolAddress(void **p, const void *var) { return symbol(var, p, nullptr); }
hipError_t hipGetSymbolSize(size_t *n, const void *var) { return symbol(var, nullptr, n); }
hipError_t hipMemcpyToSymbol(const void *var, const void *from, size_t n, size_t at, hipMemcpyKind kind) {
  void *p;
  hipError_t e = symbol(var, &p, nullptr);
  return e != hipSuccess ? e : hipMemcpy(static_cast<char *>(p) + at, from, n, kind);
}
hipError_t hipMemcpyFromSymbol(void *to, const void *var, size_t n, size_t at, hipMemcpyKind kind) {
  void *p;
  hipError_t e = symbol(var, &p, nullptr);
  return e != hipSuccess ? e : hipMemcpy(to, static_cast<char *>(p) + at, n, kind);
}
hipError_t hipMemGetInfo(size_t *free, size_t *total) { *free = *total = size_t(8) << 30; return hipSuccess; }

hipError_t hipGetDeviceCount(int *n) { *n = 1; return hipSuccess; }
hipError_t hipGetDevice(int *n) { *n = 0; return hipSuccess; }
hipError_t hipSetDevice(int n) { return n == 0 ? hipSuccess : status(hipErrorInvalidDevice); }
hipError_t hipDeviceSynchronize() { return hipSuccess; }
hipError_t hipDeviceReset() { return hipSuccess; }
hipError_t hipDriverGetVersion(int *v) { *v = HIP_VERSION; return hipSuccess; }
hipError_t hipRuntimeGetVersion(int *v) { *v = HIP_VERSION; return hipSuccess; }
hipError_t hipDeviceCanAccessPeer(int *can, int, int) { *can = 0; return hipSuccess; }
hipError_t hipGetDeviceProperties(hipDeviceProp_t *p, int) {
  memset(p, 0, sizeof *p);
  const char *arch = getenv("EMULATED_GPU");
  snprintf(p->name, sizeof p->name, "emulated %s", arch);
  snprintf(p->gcnArchName, sizeof p->gcnArchName, "%s", arch);
  p->warpSize = 64, p->maxThreadsPerBlock = 1024, p->multiProcessorCount = 4, p->regsPerBlock = 65536;
  p->sharedMemPerBlock = p->maxSharedMemoryPerMultiProcessor = 65536, p->totalGlobalMem = size_t(8) << 30, p->maxThreadsPerMultiProcessor = 2048;
  for (int i = 0; i < 3; i++) p->maxThreadsDim[i] = 1024, p->maxGridSize[i] = 0x7fffffff;
  p->cooperativeLaunch = p->canMapHostMemory = p->managedMemory = 1, p->clockRate = 1000000, p->major = 9;
  return hipSuccess;
}
hipError_t hipDeviceGetAttribute(int *v, hipDeviceAttribute_t a, int) {
  *v = a == hipDeviceAttributeWarpSize ? 64 : a == hipDeviceAttributeMaxThreadsPerBlock ? 1024 : a == hipDeviceAttributeMultiprocessorCount ? 4 : 1;
  return hipSuccess;
}
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *, int block, size_t) { *n = 2048 / block; return hipSuccess; }
hipError_t hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *, size_t, int) { *grid = 8, *block = 1024; return hipSuccess; }

hipError_t hipStreamCreate(hipStream_t *s) { *s = reinterpret_cast<hipStream_t>(new int); return hipSuccess; }
hipError_t hipStreamCreateWithFlags(hipStream_t *s, unsigned) { return hipStreamCreate(s); }
hipError_t hipStreamDestroy(hipStream_t s) { delete reinterpret_cast<int *>(s); return hipSuccess; }
hipError_t hipStreamSynchronize(hipStream_t) { return hipSuccess; }
hipError_t hipEventCreate(hipEvent_t *e) { *e = reinterpret_cast<hipEvent_t>(new timespec{}); return hipSuccess; }
hipError_t hipEventCreateWithFlags(hipEvent_t *e, unsigned) { return hipEventCreate(e); }
hipError_t hipEventDestroy(hipEvent_t e) { delete reinterpret_cast<timespec *>(e); return hipSuccess; }
hipError_t hipEventRecord(hipEvent_t e, hipStream_t) { clock_gettime(CLOCK_MONOTONIC, reinterpret_cast<timespec *>(e)); return hipSuccess; }
hipError_t hipEventSynchronize(hipEvent_t) { return hipSuccess; }
hipError_t hipEventElapsedTime(float *ms, hipEvent_t a, hipEvent_t b) {
  auto *x = reinterpret_cast<timespec *>(a), *y = reinterpret_cast<timespec *>(b);
  *ms = float((y->tv_sec - x->tv_sec) * 1e3 + (y->tv_nsec - x->tv_nsec) * 1e-6);
  return hipSuccess;
}

hipError_t hipGetLastError() { hipError_t e = last; last = hipSuccess; return e; }
hipError_t hipPeekAtLastError() { return last; }
const char *hipGetErrorString(hipError_t e) { return e == hipSuccess ? "no error" : "the emulator's error, or a call that it does not have"; }
const char *hipGetErrorName(hipError_t e) { return hipGetErrorString(e); }

}  // extern "C"
