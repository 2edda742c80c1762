package treehash

import "golang.org/x/sys/unix"

// openFlags keep an open from following a last symlink, and from waiting for
// the other end of a pipe.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
