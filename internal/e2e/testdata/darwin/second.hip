#define KERNEL shift
#define ENTRY second
#define words words_of_second
#include "kernel.hip"
