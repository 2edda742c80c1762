package gitsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/stonemason-hip/stonemason/internal/fetch"
)

// runner runs git on one repository, whose work tree and index lie elsewhere.
type runner struct {
	repo, work, index, home string
	protocol                string // the only one that git may speak
}

// maxOutput bounds what is kept of git's output; errors come last.
const maxOutput = 1 << 20

// tail keeps the last maxOutput bytes written to it.
type tail struct{ bytes.Buffer }

// Write never fails, and reports all of p as written, whatever is kept of it.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	p = p[max(0, len(p)-maxOutput):]
	if over := t.Len() + len(p) - maxOutput; over > 0 {
		t.Next(over)
	}
	t.Buffer.Write(p)
	return n, nil
}

// settings are given on each command line, where nothing overrides them.
func settings(p fetch.Patience) []string {
	var argv []string
	for _, s := range []string{
		"safe.directory=*", // a cache that another user made is checked by its ids
		"transfer.fsckObjects=true",
		"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "core.attributesFile=" + os.DevNull,
		// Files as they are in the repository, on every system.
		"core.autocrlf=false", "core.eol=lf", "core.symlinks=true", "core.fileMode=true",
		"core.protectHFS=true", "core.protectNTFS=true", "core.precomposeUnicode=false",
		"advice.detachedHead=false", "gc.auto=0", "maintenance.auto=false", "credential.helper=", "http.followRedirects=initial",
		// A server that is slower is given up, as for downloads; one that sends
		// nothing always. Git takes whole seconds.
		fmt.Sprintf("http.lowSpeedLimit=%d", max(p.Rate, 1)),
		fmt.Sprintf("http.lowSpeedTime=%d", max((p.Stall+time.Second-1)/time.Second, 1)),
		"submodule.recurse=false", "fetch.recurseSubmodules=false",
	} {
		argv = append(argv, "-c", s)
	}
	return argv
}

// environment is all that git sees: nothing of the person's configuration, but
// the way to the network.
func (g *runner) environment() []string {
	env := []string{
		"LC_ALL=C", "HOME=" + g.home, "XDG_CONFIG_HOME=" + g.home,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_LFS_SKIP_SMUDGE=1",
		"GIT_ALLOW_PROTOCOL=" + g.protocol,
	}
	if g.repo != "" {
		env = append(env, "GIT_DIR="+g.repo, "GIT_WORK_TREE="+g.work, "GIT_INDEX_FILE="+g.index)
	}
	for _, name := range append([]string{"PATH", "TMPDIR", "GIT_EXEC_PATH"}, proxies()...) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// proxies are the variables that say how the network is reached.
func proxies() []string {
	return []string{
		"http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
	}
}

// git runs one command and returns its output. Git starts helpers (for http,
// for packs), so it gets a process group that is killed as one.
func (g *runner) git(ctx context.Context, args ...string) ([]byte, error) {
	patience, err := fetch.EnvironmentPatience()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "git", append(settings(patience), args...)...)
	cmd.Env = g.environment()
	if cmd.Dir = g.home; g.work != "" {
		cmd.Dir = g.work
	}
	if args[0] == "init" {
		// It refuses GIT_WORK_TREE together with --bare.
		cmd.Env, cmd.Dir = (&runner{home: g.home}).environment(), g.home
	}
	var stdout, stderr tail
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	switch {
	case err == nil:
		return stdout.Bytes(), nil
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("git is not installed")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	verb := args[0]
	for i := 0; i+2 < len(args) && args[i] == "-c"; i += 2 {
		verb = args[i+2]
	}
	said := strings.Join(strings.Fields(fetch.RedactText(stderr.String())), " ")
	if said == "" {
		return nil, fmt.Errorf("git %s: %w", verb, err)
	}
	return nil, fmt.Errorf("git %s: %s", verb, said)
}
