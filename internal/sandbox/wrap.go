package sandbox

import "slices"

// Wrap is the command line that runs argv under a policy, by the bubblewrap at
// program. Inside there is
//
//   - no network but a loopback interface of its own,
//   - the machine's files, read-only, the hidden folders empty, and only the
//     policy's writable folders to write in,
//   - a /tmp, a /proc and a /dev (null, zero, random, a terminal) of its own,
//   - no other process to be seen, and the end of all processes, in whatever
//     session or group they are, when bubblewrap or this program ends,
//   - no capability, for root either.
//
// The environment and the working folder are those of the caller; argv[0] is
// absolute.
func Wrap(program string, p Policy, argv []string) []string {
	out := []string{
		program,
		"--die-with-parent",
		"--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", "localhost",
		"--cap-drop", "ALL",
		"--ro-bind", "/", "/",
		"--dev", "/dev", "--proc", "/proc",
	}
	if p.NewSession {
		out = append(out, "--new-session")
	}
	for _, one := range p.places {
		switch one.kind {
		case hide:
			out = append(out, "--tmpfs", one.path)
		case link:
			out = append(out, "--symlink", one.target, one.path)
		case show:
			out = append(out, "--ro-bind", one.path, one.path)
		case write:
			out = append(out, "--bind", one.path, one.path)
		}
	}
	// What was mounted to hide must not be a place to leave things in: only
	// folders for temporary files stay writable.
	for _, one := range p.places {
		if one.kind == hide && !slices.Contains(temporary(), one.path) {
			out = append(out, "--remount-ro", one.path)
		}
	}
	return append(append(out, "--"), argv...)
}

// temporary are the folders for files that any program may make.
func temporary() []string { return []string{"/tmp", "/var/tmp", "/run"} }
