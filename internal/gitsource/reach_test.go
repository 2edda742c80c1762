package gitsource

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/statcache"
)

// An answer is remembered for its life, with when it was asked, and not for
// other addresses, other proxies, or a local repository that comes or goes.
func TestSilentRemembers(t *testing.T) {
	dir := t.TempDir()
	repo := "file://" + filepath.Join(dir, "repo")
	state := filepath.Join(t.TempDir(), "cache")
	ask := func(life time.Duration, addresses ...string) (silent bool, remembered bool) {
		t.Helper()
		c := statcache.Open(state)
		list, at := Memory{Cache: c, Life: life}.Silent(t.Context(), addresses)
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
		if len(list) != 0 && len(list) != len(addresses) {
			t.Fatalf("silent are %v of %v", list, addresses)
		}
		return len(list) != 0, !at.IsZero()
	}
	for _, a := range []struct {
		what               string
		life               time.Duration
		before             func()
		address            string
		silent, remembered bool
	}{
		{what: "first", life: time.Hour, address: repo, silent: true},
		{what: "again", life: time.Hour, address: repo, silent: true, remembered: true},
		{what: "another", life: time.Hour, address: repo + "2", silent: true},
		{what: "with a proxy", life: time.Hour, address: repo, silent: true, before: func() { t.Setenv("https_proxy", "http://127.0.0.1:9") }},
		{what: "with the proxy again", life: time.Hour, address: repo, silent: true, remembered: true},
		{what: "the repository came", life: time.Hour, address: repo, before: func() {
			if _, err := (&runner{home: dir, protocol: "file"}).git(t.Context(), "init", "-q", "--bare", filepath.Join(dir, "repo")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(statcache.Slack + 100*time.Millisecond)
		}},
		{what: "it is there again", life: time.Hour, address: repo, remembered: true},
		{what: "no life", life: -1, address: repo + "/../repo"},
		{what: "no life, again", life: -1, address: repo + "/../repo"},
	} {
		if a.before != nil {
			a.before()
		}
		if silent, remembered := ask(a.life, a.address); silent != a.silent || remembered != a.remembered {
			t.Errorf("%s: silent %v, remembered %v", a.what, silent, remembered)
		}
	}
}

// The user's environment can tell git anything, to take another repository for
// instance. Git gets none of it but how the network is reached.
func TestGitSeesNoSettingsOfTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	if _, err := (&runner{home: dir, protocol: "file"}).git(t.Context(), "init", "-q", "--bare", filepath.Join(dir, "repo")); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "url.file:///nowhere/.insteadOf", "GIT_CONFIG_VALUE_0": "file://" + dir + "/",
		"GIT_CONFIG_PARAMETERS": "'url.file:///nowhere/.insteadOf=file://" + dir + "/'", "GIT_DIR": "/nowhere", "GIT_PROTOCOL_FROM_USER": "0",
	} {
		t.Setenv(name, value)
	}
	if err := Reachable(t.Context(), "file://"+filepath.Join(dir, "repo")); err != nil {
		t.Error(err)
	}
}
