package jobserver

import "golang.org/x/sys/unix"

// fionread asks how many bytes can be read (FIONREAD, pipe(7)).
const fionread = unix.TIOCINQ
