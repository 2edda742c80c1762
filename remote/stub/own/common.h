#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define STUB_EXPORT __declspec(dllexport)
#else
#define STUB_EXPORT __attribute__((visibility("default")))
#endif
#if defined(__APPLE__)
#define STUB_UNDERSCORE "_"
#else
#define STUB_UNDERSCORE ""
#endif

/* What is needed of the C library, declared here: no header of the system is
   needed to compile this. */
extern char *getenv(const char *name);
extern int vsnprintf(char *to, size_t size, const char *format, va_list values);
extern ptrdiff_t write(int file, const void *from, size_t size);
extern void *malloc(size_t size);
extern void *calloc(size_t count, size_t size);
extern void free(void *memory);
extern void *memcpy(void *to, const void *from, size_t size);
extern void *memset(void *to, int value, size_t size);
extern size_t strlen(const char *text);
extern int strcmp(const char *a, const char *b);
extern int posix_memalign(void **memory, size_t alignment, size_t size);

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

static inline void stub_zero(void *to, size_t size) { memset(to, 0, size); }

/* One line on standard error, written at once so that threads do not mix. */
__attribute__((format(printf, 1, 2))) static void stub_print(const char *format, ...) {
    static const char prefix[] = STUB_LIBRARY ": ";
    char line[2048];
    size_t room = sizeof line - sizeof prefix, size = sizeof prefix - 1;
    memcpy(line, prefix, size);
    va_list values;
    va_start(values, format);
    int n = vsnprintf(line + size, room, format, values);
    va_end(values);
    if (n < 0) return;
    size += (size_t)n < room ? (size_t)n : room - 1;
    line[size++] = '\n';
    if (write(2, line, size) < 0) return;
}

static bool stub_tracing(void) {
    static int known; /* 0 unknown, 1 no, 2 yes; threads that ask at once find the same */
    int is = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (is == 0) {
        const char *wish = getenv("STONEMASON_STUB_TRACE");
        is = wish && *wish && strcmp(wish, "0") != 0 ? 2 : 1;
        __atomic_store_n(&known, is, __ATOMIC_RELAXED);
    }
    return is == 2;
}

/* Says once in a process that the library is a stub. */
static void stub_say(const char *function, const char *answer) {
    static char said;
    if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) return;
    stub_print("this is a link stub, no device can be reached: %s answers %s, and so will others "
               "(STONEMASON_STUB_TRACE=1 prints every call)", function, answer);
}

typedef void (*stub_function)(void);
struct stub_entry { const char *name; stub_function address; };

/* Finds a name in a sorted table. */
static stub_function stub_search(const struct stub_entry *table, size_t count, const char *name) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = strcmp(table[middle].name, name);
        if (c == 0) return table[middle].address;
        if (c < 0) low = middle + 1;
        else high = middle;
    }
    return 0;
}
