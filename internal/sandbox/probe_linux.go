package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// probeTime bounds the probe, which takes some ten milliseconds.
const probeTime = 10 * time.Second

// Probe runs a program that does nothing in a sandbox like those of steps and
// says whether that works. path is the search path for bubblewrap, in the form
// of $PATH.
func Probe(ctx context.Context, path string) Status {
	program := look("bwrap", path)
	if program == "" {
		return Status{
			Why: "bubblewrap is not installed", Next: "apt-get install bubblewrap, dnf install bubblewrap", Absent: true,
		}
	}
	version, err := run(ctx, program, "--version")
	if err != nil {
		return Status{Why: program + " does not run: " + err.Error()}
	}
	policy, err := Resolve(Access{Hidden: temporary()})
	if err != nil {
		return Status{Why: err.Error()}
	}
	noop := "/bin/true"
	if _, err := os.Stat(noop); err != nil {
		noop = look("true", path) // NixOS has no /bin/true
	}
	argv := Wrap(program, policy, []string{noop})
	if _, err := run(ctx, argv[0], argv[1:]...); err != nil {
		return refused(err.Error())
	}
	return Status{Program: program, Version: version}
}

// refused explains why the kernel or what surrounds us forbids it.
func refused(said string) Status {
	s := Status{Why: said}
	switch {
	case reads("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"):
		s.Why = "AppArmor forbids user namespaces (" + said + ")"
		s.Next = "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap"
	case reads("/proc/sys/kernel/unprivileged_userns_clone", "0"):
		s.Why = "the kernel forbids user namespaces (" + said + ")"
		s.Next = "sysctl kernel.unprivileged_userns_clone=1"
	case reads("/proc/sys/user/max_user_namespaces", "0"):
		s.Why = "the kernel forbids user namespaces (" + said + ")"
		s.Next = "sysctl user.max_user_namespaces=10000"
	case container():
		s.Why = "this container may not make namespaces (" + said + ")"
		s.Next = "start it with the right to (docker run --privileged), or leave it: the container itself keeps the build apart"
	}
	return s
}

func reads(file, want string) bool {
	data, err := os.ReadFile(file)
	return err == nil && strings.TrimSpace(string(data)) == want
}

// container reports whether docker's, podman's or systemd's mark of a container
// is there (systemd.io/CONTAINER_INTERFACE).
func container() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv", "/run/systemd/container"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return false
}

func look(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// run runs a program and returns the first line that it prints.
func run(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir = []string{"LC_ALL=C"}, "/"
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	line = line[:min(len(line), 200)]
	switch {
	case err == nil:
		return line, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case line != "":
		return "", errors.New(line)
	}
	return "", err
}
