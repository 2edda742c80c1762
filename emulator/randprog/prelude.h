// What the programs of randprog are written in. Compiled as HIP a kernel is a kernel;
// compiled with HOST it is a function that runs the work-items of a group one after the
// other, a statement at a time, so that barriers and exchanges between lanes have their
// meaning without threads.
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32;
typedef long long i64; typedef unsigned long long u64; typedef __int128 i128; typedef unsigned __int128 u128;
typedef float f32; typedef double f64; typedef _Float16 f16; typedef __bf16 bf16;
#define VECTOR(T, N) typedef T T##x##N __attribute__((ext_vector_type(N)));
VECTOR(u8, 4) VECTOR(i8, 4) VECTOR(u16, 2) VECTOR(i16, 2) VECTOR(i16, 4) VECTOR(u32, 2) VECTOR(u32, 3) VECTOR(u32, 4) VECTOR(i32, 2) VECTOR(i32, 4) VECTOR(u64, 2)
VECTOR(f16, 2) VECTOR(f16, 4) VECTOR(f32, 2) VECTOR(f32, 4) VECTOR(f64, 2) VECTOR(i64, 2)
struct S { u8 a; u32 b; u64 c[2]; i16 d; f32 e; };
enum { GROUPS = 2 };

#ifdef HOST
#include <stdio.h>
extern "C" int atoi(const char *) noexcept; // the other headers take longer than the programs
static unsigned LANES;
#define FN static inline
#define NOINLINE static __attribute__((noinline))
#define VARIABLE static
#define CONSTANT static const
#define BUILTIN(b) 0
#else
#define FN static __device__ inline __attribute__((always_inline))
#define NOINLINE static __device__ __attribute__((noinline))
#define VARIABLE __device__
#define CONSTANT __constant__ const
#define BUILTIN(b) __has_builtin(b)
#endif

template <typename T, typename F> FN T as(F v) { T r; static_assert(sizeof(T) == sizeof(F)); __builtin_memcpy(&r, &v, sizeof r); return r; }
#ifdef HOST
// Not every libgcc has it: to nearest even.
extern "C" bf16 __truncsfbf2(f32 x) { u32 b = as<u32>(x); return as<bf16>((u16)(x != x ? 0x7fc0 : (b + 0x7fff + (b >> 16 & 1)) >> 16)); }
#endif

// NaN has one form wherever its bits are looked at.
template <typename T> FN T canon(T x) { return x; }
template <> FN f16 canon(f16 x) { return x != x ? as<f16>((u16)0x7e00) : x; }
template <> FN bf16 canon(bf16 x) { return x != x ? as<bf16>((u16)0x7fc0) : x; }
template <> FN f32 canon(f32 x) { return x != x ? as<f32>(0x7fc00000u) : x; }
template <> FN f64 canon(f64 x) { return x != x ? as<f64>(0x7ff8000000000000ull) : x; }
template <> FN f16x2 canon(f16x2 x) { x.x = canon(x.x); x.y = canon(x.y); return x; }
template <> FN f32x2 canon(f32x2 x) { x.x = canon(x.x); x.y = canon(x.y); return x; }
template <> FN f64x2 canon(f64x2 x) { x.x = canon(x.x); x.y = canon(x.y); return x; }
template <> FN f16x4 canon(f16x4 x) { x.xy = canon(x.xy); x.zw = canon(x.zw); return x; }
template <> FN f32x4 canon(f32x4 x) { x.xy = canon(x.xy); x.zw = canon(x.zw); return x; }
template <typename T, typename F> FN T bitcast(F x) { return canon(as<T>(canon(x))); }

// Memory: anywhere, and where T lies aligned.
template <typename T> FN T peek(const void *p, u32 at) { T r; __builtin_memcpy(&r, (const char *)p + at, sizeof r); return canon(r); }
template <typename T> FN void poke(void *p, u32 at, T v) { v = canon(v); __builtin_memcpy((char *)p + at, &v, sizeof v); }
template <typename T> FN T get(const void *p, u32 at) { return canon(*(const T *)((const char *)p + at / sizeof(T) * sizeof(T))); }
template <typename T> FN void put(void *p, u32 at, T v) { *(T *)((char *)p + at / sizeof(T) * sizeof(T)) = canon(v); }
FN u32 sum3(const void *p, u32 at) { u32x3 v; v.x = get<u32>(p, at & ~3u); v.y = get<u32>(p, (at & ~3u) + 4); v.z = get<u32>(p, (at & ~3u) + 8); v = v.zxy * 3u - v; return v.x ^ v.y + v.z; }
template <typename T> NOINLINE T peekCall(const volatile T *p) { return canon(*p); }

// Integers: nothing here is undefined.
template <typename T> FN T shl(T a, u32 n) { return (T)(a << (n & (sizeof(T) * 8 - 1))); }
template <typename T> FN T shr(T a, u32 n) { return (T)(a >> (n & (sizeof(T) * 8 - 1))); }
template <typename T> FN T quo(T a, T b) { return b == (T)0 || b == (T)-1 ? (T)(a ^ b) : (T)(a / b); }
template <typename T> FN T rem(T a, T b) { return b == (T)0 || b == (T)-1 ? (T)(a + b) : (T)(a % b); }
template <typename T> FN T least(T a, T b) { return a < b ? a : b; }
template <typename T> FN T most(T a, T b) { return a > b ? a : b; }
template <typename T> FN T apart(T a, T b) { return a < b ? (T)(b - a) : (T)(a - b); }
template <typename T> FN T mid(T a, T b, T c) { return most(least(a, b), least(most(a, b), c)); }
template <typename T> FN T addover(T a, T b) { T r; bool o = __builtin_add_overflow(a, b, &r); return o ? (T)(r ^ (T)5) : r; }
template <typename T> FN T subover(T a, T b) { T r; bool o = __builtin_sub_overflow(a, b, &r); return o ? (T)~r : r; }
template <typename T> FN T mulover(T a, T b) { T r; bool o = __builtin_mul_overflow(a, b, &r); return o ? (T)(r + 1) : r; }
FN u32 hi32(u32 a, u32 b) { return (u64)a * b >> 32; }
FN i32 his32(i32 a, i32 b) { return (i64)a * b >> 32; }
FN u64 hi64(u64 a, u64 b) { return (u128)a * b >> 64; }
FN i64 his64(i64 a, i64 b) { return (i128)a * b >> 64; }
FN u32 carry3(u32 a, u32 b, u32 c) { u32 x, y = __builtin_addc(a, b, c & 1, &x); return y * 2 + x; }

FN u32 ubfe(u32 x, u32 at, u32 n) {
  at &= 31, n &= 31;
#if BUILTIN(__builtin_amdgcn_ubfe)
  return __builtin_amdgcn_ubfe(x, at, n);
#endif
  return x >> at & ((1u << n) - 1);
}
FN i32 sbfe(i32 x, u32 at, u32 n) {
  at &= 31, n &= 31;
#if BUILTIN(__builtin_amdgcn_sbfe)
  return __builtin_amdgcn_sbfe(x, at, n);
#endif
  return n == 0 ? 0 : at + n < 32 ? (i32)((u32)x << (32 - at - n)) >> (32 - n) : x >> at;
}
FN u32 alignbit(u32 a, u32 b, u32 n) {
#if BUILTIN(__builtin_amdgcn_alignbit)
  return __builtin_amdgcn_alignbit(a, b, n);
#endif
  return ((u64)a << 32 | b) >> (n & 31);
}
FN u32 alignbyte(u32 a, u32 b, u32 n) {
#if BUILTIN(__builtin_amdgcn_alignbyte)
  return __builtin_amdgcn_alignbyte(a, b, n);
#endif
  return ((u64)a << 32 | b) >> (n & 3) * 8;
}
FN u32 perm(u32 a, u32 b, u32 s) {
#if BUILTIN(__builtin_amdgcn_perm)
  return __builtin_amdgcn_perm(a, b, s);
#endif
  u64 d = (u64)a << 32 | b;
  u32 r = 0;
  for (u32 n = 0; n < 4; n++) {
    u32 k = s >> 8 * n & 255;
    u32 v = k < 8 ? (u32)(d >> 8 * k) & 255 : k < 12 ? (d >> (16 * (k - 8) + 15) & 1 ? 255 : 0) : k == 12 ? 0 : 255;
    r |= v << 8 * n;
  }
  return r;
}
FN u32 sadBytes(u32 a, u32 b, u32 c, bool masked) {
  for (u32 n = 0; n < 32; n += 8) { u32 x = a >> n & 255, y = b >> n & 255; if (!masked || y) c += x < y ? y - x : x - y; }
  return c;
}
FN u32 sad8(u32 a, u32 b, u32 c) {
#if BUILTIN(__builtin_amdgcn_sad_u8)
  return __builtin_amdgcn_sad_u8(a, b, c);
#endif
  return sadBytes(a, b, c, false);
}
FN u32 sadhi8(u32 a, u32 b, u32 c) {
#if BUILTIN(__builtin_amdgcn_sad_hi_u8)
  return __builtin_amdgcn_sad_hi_u8(a, b, c);
#endif
  return (sadBytes(a, b, 0, false) << 16) + c;
}
FN u32 msad8(u32 a, u32 b, u32 c) {
#if BUILTIN(__builtin_amdgcn_msad_u8)
  return __builtin_amdgcn_msad_u8(a, b, c);
#endif
  return sadBytes(a, b, c, true);
}
FN u32 sad16(u32 a, u32 b, u32 c) {
#if BUILTIN(__builtin_amdgcn_sad_u16)
  return __builtin_amdgcn_sad_u16(a, b, c);
#endif
  return apart(a & 0xffff, b & 0xffff) + apart(a >> 16, b >> 16) + c;
}
FN u64 qsad(u64 a, u32 b, u64 c) {
  c &= 0x0fff0fff0fff0fffull; // how a sum of more than 16 bits ends is not documented
#if BUILTIN(__builtin_amdgcn_qsad_pk_u16_u8)
  return __builtin_amdgcn_qsad_pk_u16_u8(a, b, c);
#endif
  u64 r = 0;
  for (u32 n = 0; n < 4; n++) r |= (u64)(u16)sadBytes((u32)(a >> 8 * n), b, (u32)(c >> 16 * n) & 0xffff, false) << 16 * n;
  return r;
}
FN u64 mqsad(u64 a, u32 b, u64 c) {
  c &= 0x0fff0fff0fff0fffull;
#if BUILTIN(__builtin_amdgcn_mqsad_pk_u16_u8)
  return __builtin_amdgcn_mqsad_pk_u16_u8(a, b, c);
#endif
  u64 r = 0;
  for (u32 n = 0; n < 4; n++) r |= (u64)(u16)sadBytes((u32)(a >> 8 * n), b, (u32)(c >> 16 * n) & 0xffff, true) << 16 * n;
  return r;
}
FN u32x4 mqsad4(u64 a, u32 b, u32x4 c) {
#if BUILTIN(__builtin_amdgcn_mqsad_u32_u8)
  return __builtin_amdgcn_mqsad_u32_u8(a, b, c);
#endif
  for (u32 n = 0; n < 4; n++) c[n] = sadBytes((u32)(a >> 8 * n), b, c[n], true);
  return c;
}
FN u32 lerp(u32 a, u32 b, u32 c) {
#if BUILTIN(__builtin_amdgcn_lerp)
  return __builtin_amdgcn_lerp(a, b, c);
#endif
  u32 r = 0;
  for (u32 n = 0; n < 32; n += 8) r |= ((a >> n & 255) + (b >> n & 255) + (c >> n & 1)) / 2 << n;
  return r;
}
FN u32 ffbh(i32 x) {
#if BUILTIN(__builtin_amdgcn_sffbh)
  return __builtin_amdgcn_sffbh(x);
#endif
  for (u32 n = 1; n < 32; n++) if ((x >> (31 - n) & 1) != (x < 0)) return n;
  return -1;
}
FN u32 pack16(i32 a, i32 b) {
#if BUILTIN(__builtin_amdgcn_cvt_pk_i16)
  return as<u32>(__builtin_amdgcn_cvt_pk_i16(a, b));
#endif
  a = mid(a, -32768, 32767), b = mid(b, -32768, 32767);
  return (u32)(u16)a | (u32)b << 16;
}
FN u32 packu16(u32 a, u32 b) {
#if BUILTIN(__builtin_amdgcn_cvt_pk_u16)
  return as<u32>(__builtin_amdgcn_cvt_pk_u16(a, b));
#endif
  return least(a, 0xffffu) | least(b, 0xffffu) << 16;
}
FN u32 bitop3(u32 a, u32 b, u32 c) { // as a truth table: 0x6c
#if BUILTIN(__builtin_amdgcn_bitop3_b32)
  return __builtin_amdgcn_bitop3_b32(a, b, c, 0x6c);
#endif
  u32 r = 0;
  for (u32 n = 0; n < 32; n++) r |= (0x6cu >> ((a >> n & 1) * 4 + (b >> n & 1) * 2 + (c >> n & 1)) & 1) << n;
  return r;
}
FN u32 prng(u32 x) {
#if BUILTIN(__builtin_amdgcn_prng_b32)
  return __builtin_amdgcn_prng_b32(x);
#endif
  return x << 1 ^ (x >> 31 ? 197 : 0);
}
FN i64 clamped(i64 s, bool c, bool sign) { return !c ? s : sign ? mid(s, -2147483648ll, 2147483647ll) : mid(s, 0ll, 4294967295ll); }
FN i64 products(u32 a, u32 b, u32 size, bool sa, bool sb) {
  i64 s = 0;
  for (u32 n = 0; n < 32; n += size) {
    i64 x = a >> n & ((1u << size) - 1), y = b >> n & ((1u << size) - 1);
    if (sa && x >> (size - 1)) x -= 1 << size;
    if (sb && y >> (size - 1)) y -= 1 << size;
    s += x * y;
  }
  return s;
}
template <bool C> FN i32 sdot2(u32 a, u32 b, i32 c) {
#if BUILTIN(__builtin_amdgcn_sdot2)
  return __builtin_amdgcn_sdot2(as<i16x2>(a), as<i16x2>(b), c, C);
#endif
  return clamped(products(a, b, 16, true, true) + c, C, true);
}
template <bool C> FN u32 udot2(u32 a, u32 b, u32 c) {
#if BUILTIN(__builtin_amdgcn_udot2)
  return __builtin_amdgcn_udot2(as<u16x2>(a), as<u16x2>(b), c, C);
#endif
  return clamped(products(a, b, 16, false, false) + c, C, false);
}
template <bool C> FN i32 sdot4(u32 a, u32 b, i32 c) {
#if BUILTIN(__builtin_amdgcn_sdot4)
  return __builtin_amdgcn_sdot4(a, b, c, C);
#elif BUILTIN(__builtin_amdgcn_sudot4)
  return __builtin_amdgcn_sudot4(true, a, true, b, c, C);
#endif
  return clamped(products(a, b, 8, true, true) + c, C, true);
}
template <bool C> FN u32 udot4(u32 a, u32 b, u32 c) {
#if BUILTIN(__builtin_amdgcn_udot4)
  return __builtin_amdgcn_udot4(a, b, c, C);
#endif
  return clamped(products(a, b, 8, false, false) + c, C, false);
}
template <bool C> FN i32 sdot8(u32 a, u32 b, i32 c) {
#if BUILTIN(__builtin_amdgcn_sdot8)
  return __builtin_amdgcn_sdot8(a, b, c, C);
#elif BUILTIN(__builtin_amdgcn_sudot8)
  return __builtin_amdgcn_sudot8(true, a, true, b, c, C);
#endif
  return clamped(products(a, b, 4, true, true) + c, C, true);
}
template <bool C> FN u32 udot8(u32 a, u32 b, u32 c) {
#if BUILTIN(__builtin_amdgcn_udot8)
  return __builtin_amdgcn_udot8(a, b, c, C);
#endif
  return clamped(products(a, b, 4, false, false) + c, C, false);
}
template <bool C> FN i32 sudot4(u32 a, u32 b, i32 c) {
#if BUILTIN(__builtin_amdgcn_sudot4)
  return __builtin_amdgcn_sudot4(true, a, false, b, c, C);
#endif
  return clamped(products(a, b, 8, true, false) + c, C, true);
}

// Floats: operations whose result is exact, or rounded as IEEE 754 says.
FN f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
FN f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
FN f16 fused(f16 a, f16 b, f16 c) {
#ifdef HOST
  // The product is exact in f64; the sum is rounded to odd there.
  f64 p = (f64)a * (f64)b, q = c, s = p + q;
  if (s - s != 0) return (f16)s;
  f64 v = s - p, e = (p - (s - v)) + (q - v);
  if (e != 0 && !(as<u64>(s) & 1)) s = as<f64>(as<u64>(s) + ((e > 0) == (s > 0) ? 1 : -1));
  return (f16)s;
#else
  return __builtin_fmaf16(a, b, c);
#endif
}
#define EACHFLOAT(name, builtin) \
  FN f32 name(f32 x) { return builtin##f(x); } FN f64 name(f64 x) { return builtin(x); }
#define EACHHALF(name, builtin) FN f16 name(f16 x) { return (f16)builtin##f((f32)x); } // exact in f32
EACHFLOAT(down, __builtin_floor) EACHFLOAT(up, __builtin_ceil) EACHFLOAT(chop, __builtin_trunc) EACHFLOAT(even, __builtin_rint) EACHFLOAT(away, __builtin_round) EACHFLOAT(toeven, __builtin_roundeven)
EACHFLOAT(size, __builtin_fabs) EACHFLOAT(root, __builtin_sqrt)
#ifdef HOST
EACHHALF(down, __builtin_floor) EACHHALF(up, __builtin_ceil) EACHHALF(chop, __builtin_trunc) EACHHALF(even, __builtin_rint) EACHHALF(away, __builtin_round) EACHHALF(toeven, __builtin_roundeven)
EACHHALF(size, __builtin_fabs)
#else
FN f16 down(f16 x) { return __builtin_floorf16(x); }
FN f16 up(f16 x) { return __builtin_ceilf16(x); }
FN f16 chop(f16 x) { return __builtin_truncf16(x); }
FN f16 even(f16 x) { return __builtin_rintf16(x); }
FN f16 away(f16 x) { return __builtin_roundf16(x); }
FN f16 toeven(f16 x) { return __builtin_roundevenf16(x); }
FN f16 size(f16 x) { return __builtin_fabsf16(x); }
#endif
template <typename F> FN F sign(F x, F y) { y = canon(y); return as<u64>((f64)y) >> 63 ? -size(x) : size(x); }
template <> FN f32 sign(f32 x, f32 y) { return __builtin_copysignf(x, canon(y)); }
template <> FN f64 sign(f64 x, f64 y) { return __builtin_copysign(x, canon(y)); }
// Which zero is the smaller is left open by fmin and fmax.
FN f32 lower(f32 a, f32 b) { return __builtin_fminf(a, b) + 0.f; }
FN f64 lower(f64 a, f64 b) { return __builtin_fmin(a, b) + 0.; }
FN f32 upper(f32 a, f32 b) { return __builtin_fmaxf(a, b) + 0.f; }
FN f64 upper(f64 a, f64 b) { return __builtin_fmax(a, b) + 0.; }
FN f16 lower(f16 a, f16 b) { return (a != a ? b : b != b ? a : a < b ? a : b) + (f16)0; }
FN f16 upper(f16 a, f16 b) { return (a != a ? b : b != b ? a : a > b ? a : b) + (f16)0; }
FN f16x2 lower(f16x2 a, f16x2 b) {
#ifdef HOST
  return (f16x2){lower(a.x, b.x), lower(a.y, b.y)};
#else
  return __builtin_elementwise_minnum(a, b) + (f16x2)(f16)0;
#endif
}
FN f16x2 fma2(f16x2 a, f16x2 b, f16x2 c) {
#ifdef HOST
  return (f16x2){fused(a.x, b.x, c.x), fused(a.y, b.y, c.y)};
#else
  return __builtin_elementwise_fma(a, b, c);
#endif
}
FN f32x2 fma2(f32x2 a, f32x2 b, f32x2 c) { return __builtin_elementwise_fma(a, b, c); }
template <typename I, typename F> FN I whole(F x) { // within the range, else a number
  const bool s = (I)-1 < (I)0;
  const f64 limit = s ? (f64)(1ull << (sizeof(I) * 8 - 1)) : (f64)(1ull << (sizeof(I) * 8 - 1)) * 2;
  return x > (F)(s ? -limit : -1.) && x < (F)limit ? (I)x : (I)7;
}
FN f32 scale(f32 x, i32 e) { return __builtin_ldexpf(x, e); }
FN f64 scale(f64 x, i32 e) { return __builtin_ldexp(x, e); }
FN f32 tame(f32 x) { return x - x == 0 ? x : 3.f; }
FN f64 tame(f64 x) { return x - x == 0 ? x : 3.; }
FN f32 mant(f32 x) { i32 e; return __builtin_frexpf(tame(x), &e); }
FN f64 mant(f64 x) { i32 e; return __builtin_frexp(tame(x), &e); }
FN i32 expo(f32 x) { i32 e; (void)__builtin_frexpf(tame(x), &e); return e; }
FN i32 expo(f64 x) { i32 e; (void)__builtin_frexp(tame(x), &e); return e; }
FN f32 fract(f32 x) {
  x = tame(x);
#if BUILTIN(__builtin_amdgcn_fractf)
  return __builtin_amdgcn_fractf(x);
#endif
  return lower(x - down(x), 0x1.fffffep-1f);
}
FN f64 fract(f64 x) {
  x = tame(x);
#if BUILTIN(__builtin_amdgcn_fract)
  return __builtin_amdgcn_fract(x);
#endif
  return lower(x - down(x), 0x1.fffffffffffffp-1);
}
FN f32 med3(f32 a, f32 b, f32 c) {
  a = tame(a) + 0.f, b = tame(b) + 0.f, c = tame(c) + 0.f;
#if BUILTIN(__builtin_amdgcn_fmed3f)
  return __builtin_amdgcn_fmed3f(a, b, c) + 0.f;
#endif
  return mid(a, b, c);
}
FN f32 legacy(f32 a, f32 b) { // 0 times anything is 0
#if BUILTIN(__builtin_amdgcn_fmul_legacy)
  return __builtin_amdgcn_fmul_legacy(a, b);
#endif
  return a == 0 || b == 0 ? 0.f : a * b;
}
FN u32 pkrtz(f32 a, f32 b) {
  a = tame(a), b = tame(b);
#if BUILTIN(__builtin_amdgcn_cvt_pkrtz)
  return as<u32>(__builtin_amdgcn_cvt_pkrtz(a, b));
#else
  u32 r = 0;
  for (int n = 0; n < 2; n++) {
    f32 x = n ? b : a;
    u16 h = as<u16>((f16)x);
    if (size((f32)as<f16>(h)) > size(x)) h--;
    r |= (u32)h << 16 * n;
  }
  return r;
#endif
}
FN f32 off4(u32 x) {
#if BUILTIN(__builtin_amdgcn_cvt_off_f32_i4)
  return __builtin_amdgcn_cvt_off_f32_i4(x);
#endif
  return (f32)((i32)(x << 28) >> 28) / 16;
}
FN f32 ubyte(u32 x, u32 n) { return (f32)(u8)(x >> 8 * (n & 3)); }
FN bool kind(f32 x, u32 n) { return n & 1 ? __builtin_isfpclass(x, 0x0f8) : __builtin_isfpclass(x, 0x264); }
FN bool kind(f64 x, u32 n) { return n & 1 ? __builtin_isfpclass(x, 0x0f8) : __builtin_isfpclass(x, 0x264); }

// Atomic operations, of which the order does not matter, or nobody else has the place.
#ifdef HOST
#define ATOMIC(name, op, result) template <typename T> FN T name(T *p, T v) { T o = *p; *p = (T)(result); return o; } template <typename T> FN T name##G(T *p, T v) { return name(p, v); }
ATOMIC(aadd, add, o + v) ATOMIC(asub, sub, o - v) ATOMIC(aand, and, o & v) ATOMIC(aor, or, o | v) ATOMIC(axor, xor, o ^ v) ATOMIC(amin, min, o < v ? o : v) ATOMIC(amax, max, o > v ? o : v)
template <typename T> FN T aswap(T *p, T v) { T o = *p; *p = v; return o; }
template <typename T> FN T acas(T *p, T c, T v) { T o = *p; if (o == c) *p = v; return o; }
FN u32 ainc(u32 *p, u32 v) { u32 o = *p; *p = o >= v ? 0 : o + 1; return o; }
FN u32 adec(u32 *p, u32 v) { u32 o = *p; *p = o == 0 || o > v ? v : o - 1; return o; }
#else
#define ATOMIC(name, op) template <typename T> FN T name(T *p, T v) { return __hip_atomic_fetch_##op(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); } \
  template <typename T> FN T name##G(T *p, T v) { return __hip_atomic_fetch_##op(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); }
ATOMIC(aadd, add) ATOMIC(asub, sub) ATOMIC(aand, and) ATOMIC(aor, or) ATOMIC(axor, xor) ATOMIC(amin, min) ATOMIC(amax, max)
template <typename T> FN T aswap(T *p, T v) { return __hip_atomic_exchange(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
template <typename T> FN T acas(T *p, T c, T v) { __hip_atomic_compare_exchange_strong(p, &c, v, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); return c; }
FN u32 ainc(u32 *p, u32 v) { return __builtin_amdgcn_atomic_inc32(p, v, __ATOMIC_RELAXED, "agent"); }
FN u32 adec(u32 *p, u32 v) { return __builtin_amdgcn_atomic_dec32(p, v, __ATOMIC_RELAXED, "agent"); }
#endif

// A kernel: BODY, statements, DONE. Statements of a work-item stand in EACH; v are its
// variables. IF, ELSE, WHILE and END part the lanes around statements that lanes do together.
// BARRIER and what a wave does as a whole (READLANE, WRITELANE, PERMUTE) stand where no
// lane is missing.
#ifdef HOST
template <typename T> FN T settled(T x) { return x; }
struct mask { bool on[1024]; };
#define SHARED(T, name, n) static T name[n];
#define BODY(L, N, X, Y) \
  typedef L local; enum { COUNT = N }; static local V[N]; \
  for (u32 bid = 0; bid < GROUPS; bid++) { mask A; for (bool &b : A.on) b = true; __builtin_memset((void *)V, 0, sizeof V);
#define DONE }
#define EACH(...) for (u32 tid = 0; tid < COUNT; tid++) if (A.on[tid]) { local &v = V[tid]; const u32 gid = bid * COUNT + tid; (void)gid; (void)v; __VA_ARGS__ }
#define SOME(cond) { const mask before = A; bool some = false; EACH(A.on[tid] = (cond); some |= A.on[tid];)
#define IF(cond) SOME(cond) const mask met = A; if (some) {
#define ELSE } for (u32 n = 0; n < COUNT; n++) A.on[n] = before.on[n] && !met.on[n]; {
#define END } A = before; }
#define WHILE(cond) { const mask before = A; for (;;) { bool some = false; EACH(A.on[tid] = (cond); some |= A.on[tid];) if (!some) break;
#define BARRIER
struct exchange {
  const mask *a;
  u32 count, src[1024], other[1024];
  bool there(u32 at) const { return at < count && a->on[at]; }
  u32 from(u32 at) const { return there(at) ? src[at] : 0; }
  u64 ballot(u32 tid) const { u64 r = 0; u32 base = tid - tid % LANES; for (u32 n = 0; n < LANES; n++) if (there(base + n) && src[base + n]) r |= 1ull << n; return r; }
  u32 first(u32 tid) const { for (u32 at = tid - tid % LANES;; at++) if (there(at)) return src[at]; }
  // dpp, in the encoding of GFX9's DPP_CTRL.
  u32 dpp(u32 tid, u32 ctrl, u32 rows, u32 banks, bool zero) const {
    int lane = tid % LANES, base = tid - lane, in = lane & 15, row = lane & ~15, at = -1;
    u32 old = other[tid];
    if (!(rows >> (lane / 16) & 1) || !(banks >> (in / 4) & 1)) return old;
    u32 n = ctrl & 15;
    if (ctrl < 0x100) at = (lane & ~3) | (ctrl >> 2 * (lane & 3) & 3);
    else if (ctrl < 0x110) at = in + (int)n < 16 ? lane + n : -1;
    else if (ctrl < 0x120) at = in >= (int)n ? lane - n : -1;
    else if (ctrl < 0x130) at = row | ((in - n) & 15);
    else if (ctrl == 0x140) at = row | (15 - in);
    else if (ctrl == 0x141) at = (lane & ~7) | (7 - (lane & 7));
    return at >= 0 && there(base + at) ? src[base + at] : zero ? 0 : old;
  }
  u32 swizzle(u32 tid, u32 p) const {
    u32 lane = tid % LANES, base = tid - lane, in = lane & 31;
    u32 at = p & 0x8000 ? (in & ~3u) | (p >> 2 * (in & 3) & 3) : (((in & p) | p >> 5) ^ p >> 10) & 31;
    return from(base + (lane & 32) + at);
  }
  u32 row(u32 tid, u64 sel, bool other_, bool zero) const {
    u32 lane = tid % LANES, at = tid - lane + ((lane ^ (other_ ? 16 : 0)) & ~15u) + (u32)(sel >> 4 * (lane & 15) & 15);
    return there(at) ? src[at] : zero ? 0 : other[tid];
  }
  u32 reduce(u32 tid, int op) const {
    u32 base = tid - tid % LANES, r = op == 1 || op == 3 ? ~0u : 0;
    for (u32 n = 0; n < LANES; n++) if (there(base + n)) { u32 x = src[base + n]; r = op == 0 ? r + x : op == 1 ? least(r, x) : op == 2 ? most(r, x) : op == 3 ? r & x : op == 4 ? r | x : r ^ x; }
    return r;
  }
};
#define EXCHANGE(d, s, o, result) { static exchange e; e.a = &A; e.count = COUNT; EACH(e.src[tid] = (s); e.other[tid] = (o);) EACH(v.d = (result);) }
#define SHUFFLE(d, s, at) EXCHANGE(d, s, at, e.from(tid - tid % LANES + (tid % LANES & 32) + (e.other[tid] & 31)))
#define PERMUTE(d, s, odd, plus) { static exchange e; e.a = &A; e.count = COUNT; static u32 r[1024]; __builtin_memset(r, 0, sizeof r); \
  EACH(e.src[tid] = (s);) EACH({ u32 lane = tid % LANES; u32 to = tid - lane + (lane & 32) + ((lane * (odd) + (plus)) & 31); r[to] = e.src[tid]; }) EACH(v.d = r[tid];) }
#define DPP(d, o, s, ctrl, rows, banks, zero) EXCHANGE(d, s, o, e.dpp(tid, ctrl, rows, banks, zero))
#define SWIZZLE(d, s, p) EXCHANGE(d, s, 0, e.swizzle(tid, p))
#define ROW(d, o, s, sel, across, zero) EXCHANGE(d, s, o, e.row(tid, sel, across, zero))
#define FIRST(d, s) EXCHANGE(d, s, 0, e.first(tid))
#define READLANE(d, s, n) EXCHANGE(d, s, 0, e.from(tid - tid % LANES + (n)))
#define WRITELANE(d, s, x, n) EXCHANGE(d, s, 0, tid % LANES == (n) ? (x) : e.src[tid])
#define BALLOT(d, cond) EXCHANGE(d, (cond) ? 1 : 0, 0, e.ballot(tid))
#define REDUCE(d, s, op) EXCHANGE(d, s, 0, e.reduce(tid, op))
#define BEFORE(m, add) (__builtin_popcountll((m) & ((1ull << tid % LANES) - 1)) + (add))
#else
__device__ u32 writelane(u32 x, u32 lane, u32 old) __asm("llvm.amdgcn.writelane.i32"); // clang has no other name for it
#define SHARED(T, name, n) __shared__ T name[n];
#define BODY(L, N, X, Y) { L v = {}; enum { COUNT = N }; const u32 bid = __builtin_amdgcn_workgroup_id_x(), \
  tid = __builtin_amdgcn_workitem_id_x() + (Y == 0 ? 0 : __builtin_amdgcn_workitem_id_y() * X + __builtin_amdgcn_workitem_id_z() * X * Y), gid = bid * COUNT + tid; (void)gid; (void)tid;
#define DONE }
#define EACH(...) { __VA_ARGS__ }
#define IF(cond) if (cond) {
#define ELSE } else {
#define END }
#define WHILE(cond) while (cond) {
#define BARRIER __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
FN u32 lane() {
#if LANES == 32
  return __builtin_amdgcn_mbcnt_lo(~0u, 0);
#else
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
#endif
}
FN u64 ballot(bool c) {
#if LANES == 32
  return __builtin_amdgcn_ballot_w32(c);
#else
  return __builtin_amdgcn_ballot_w64(c);
#endif
}
FN u32 before(u64 m, u32 add) {
#if LANES == 32
  return __builtin_amdgcn_mbcnt_lo((u32)m, add);
#else
  return __builtin_amdgcn_mbcnt_hi((u32)(m >> 32), __builtin_amdgcn_mbcnt_lo((u32)m, add));
#endif
}
// LLVM 22 keeps what is the same in all lanes in a scalar register even when they leave a
// loop one after the other.
template <typename T> FN T each(T x) { asm volatile("" : "+v"(x)); return x; }
// Elsewhere in the row of 16 lanes, by RDNA's instruction where there is one.
template <u64 SEL, bool ACROSS, bool ZERO> FN u32 row(u32 old, u32 s) {
#if BUILTIN(__builtin_amdgcn_permlane16)
  return ACROSS ? __builtin_amdgcn_permlanex16(old, s, (u32)SEL, (u32)(SEL >> 32), false, ZERO) : __builtin_amdgcn_permlane16(old, s, (u32)SEL, (u32)(SEL >> 32), false, ZERO);
#else
  u32 at = ((lane() ^ (ACROSS ? 16 : 0)) & ~15u) + (u32)(SEL >> 4 * (lane() & 15) & 15);
  u32 r = __builtin_amdgcn_ds_bpermute(at * 4, s);
  return ballot(true) >> at & 1 ? r : ZERO ? 0 : old;
#endif
}
// LLVM 22 hoists what costs nothing, a part of a vector as a rule, out of one of three
// branches or more that meet, and then has it in others too (StructurizeCFG; llvm-project,
// pull request 183792). It does not where that comes out of assembly: so all vectors do.
template <typename T> FN T settled(T x) {
  u32 w[(sizeof x + 3) / 4] = {};
  __builtin_memcpy(w, &x, sizeof x);
  for (u32 &one : w) asm volatile("" : "+v"(one));
  __builtin_memcpy(&x, w, sizeof x);
  return x;
}
// LLVM 22 does not know that the loop this becomes changes SCC, and branches by it on a
// comparison that was before: so it is a function, across which SCC does not live.
template <int OP> NOINLINE u32 reduce(u32 s) {
  asm volatile("" : "+v"(s)); // LLVM 22 takes a constant for the sum of as many
#if BUILTIN(__builtin_amdgcn_wave_reduce_add_u32)
  return OP == 0 ? __builtin_amdgcn_wave_reduce_add_u32(s, 0) : OP == 1 ? __builtin_amdgcn_wave_reduce_min_u32(s, 0) : OP == 2 ? __builtin_amdgcn_wave_reduce_max_u32(s, 0) :
    OP == 3 ? (u32)__builtin_amdgcn_wave_reduce_and_b32(s, 0) : OP == 4 ? (u32)__builtin_amdgcn_wave_reduce_or_b32(s, 0) : (u32)__builtin_amdgcn_wave_reduce_xor_b32(s, 0);
#else
  u32 r = OP == 1 || OP == 3 ? ~0u : 0;
  for (u64 m = ballot(true); m; m &= m - 1) { u32 x = __builtin_amdgcn_readlane(s, __builtin_ctzll(m)); r = OP == 0 ? r + x : OP == 1 ? least(r, x) : OP == 2 ? most(r, x) : OP == 3 ? r & x : OP == 4 ? r | x : r ^ x; }
  return r;
#endif
}
// LLVM takes what a lane reads of one that is not there for undefined.
FN u32 shuffle(u32 s, u32 at) {
  at = (lane() & 32) + (at & 31);
  u32 r = __builtin_amdgcn_ds_bpermute(at * 4, s);
  return ballot(true) >> at & 1 ? r : 0;
}
#define SHUFFLE(d, s, at) v.d = shuffle(s, at);
#define PERMUTE(d, s, odd, plus) v.d = __builtin_amdgcn_ds_permute(((lane() & 32) + ((lane() * (odd) + (plus)) & 31)) * 4, s);
#define DPP(d, o, s, ctrl, rows, banks, zero) v.d = __builtin_amdgcn_update_dpp(o, s, ctrl, rows, banks, zero);
#define SWIZZLE(d, s, p) v.d = __builtin_amdgcn_ds_swizzle(s, p);
#define ROW(d, o, s, sel, across, zero) v.d = row<sel, across, zero>(o, s);
#define FIRST(d, s) v.d = each(__builtin_amdgcn_readfirstlane(s));
#define READLANE(d, s, n) v.d = each(__builtin_amdgcn_readlane(s, n));
#define WRITELANE(d, s, x, n) v.d = writelane(x, n, s);
#define BALLOT(d, cond) v.d = each(ballot(cond));
#define REDUCE(d, s, op) v.d = each(reduce<op>(s));
#define BEFORE(m, add) before(m, add)
#endif
