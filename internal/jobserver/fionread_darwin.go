package jobserver

// fionread asks how many bytes can be read (<sys/filio.h>: _IOR('f', 127, int)).
const fionread = 0x4004667f
