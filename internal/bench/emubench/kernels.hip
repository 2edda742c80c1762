// What bench runs on emulators of GPUs. The kernels read no hidden arguments, and
// integer, f32 and saxpy keep to instructions that MGPUSim has too.
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define KERNEL extern "C" __global__ void
#define ITEM __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define BLOCK 256
#define BARRIER                                             \
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");    \
  __builtin_amdgcn_s_barrier();                             \
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")

typedef unsigned int u32;

KERNEL integer(u32 *out, u32 n) {
  u32 i = GROUP * BLOCK + ITEM, x = i, y = ITEM;
  for (u32 k = 0; k < n; k++) {
    x = ((x ^ (y << 5)) & 0x7fffffff) + (x >> 3) * 9;
    y = (y + x) ^ (x << 11);
    y = y < x ? y + k : x - y;
    x += y & 0xff00ff;
  }
  out[i] = x + y;
}

KERNEL f32(float *out, u32 n) {
  u32 i = GROUP * BLOCK + ITEM;
  float x = i, y = ITEM;
  for (u32 k = 0; k < n; k++) {
    x = x * 0.99f + y;
    y = y * 0.5f - x * 0.25f;
    x = x > 1e6f ? x - 1e6f : x + 1.0f;
    y = y + (float)k;
  }
  out[i] = x + y;
}

KERNEL f64(double *out, u32 n) {
  u32 i = GROUP * BLOCK + ITEM;
  double x = ITEM, y = 3.5;
  for (u32 k = 0; k < n; k++) {
    x = x * 0.99 + y;
    y = y * 0.49 - x * 0.24;
  }
  out[i] = x + y;
}

// Each work-group sums up n rows of its own in local memory.
KERNEL reduce(const u32 *in, u32 *out, u32 n) {
  __shared__ u32 t[BLOCK];
  u32 sum = 0;
  in += GROUP * BLOCK + ITEM;
  for (u32 k = 0; k < n; k++) {
    t[ITEM] = in[k] + k;
    BARRIER;
#pragma unroll
    for (u32 d = BLOCK / 2; d > 0; d /= 2) {
      if (ITEM < d)
        t[ITEM] += t[ITEM + d];
      BARRIER;
    }
    sum += t[0];
    BARRIER;
  }
  if (ITEM == 0)
    out[GROUP] = sum;
}

KERNEL saxpy(const float *x, float *y, float s, u32 n) {
  u32 i = GROUP * BLOCK + ITEM;
  if (i < n)
    y[i] += s * x[i];
}
