package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

// fake is a machine in a temporary folder: scripts on its PATH, files below
// its root. Nothing of the real one is on the PATH but sh and what scripts
// need, by absolute names.
type fake struct {
	t   *testing.T
	dir string
	Host
}

func newFake(t *testing.T, goos string) *fake {
	dir := t.TempDir()
	f := &fake{t: t, dir: dir, Host: Host{OS: goos, Root: filepath.Join(dir, "root"), Env: []string{"PATH=" + filepath.Join(dir, "bin"), "FAKE=" + dir}}}
	for _, d := range []string{"bin", "root/etc", "root/proc/self"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.file("root/proc/meminfo", "MemTotal:       16000000 kB\nMemFree: 1 kB\n")
	return f
}

func (f *fake) file(name, text string) {
	f.t.Helper()
	p := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) script(name, body string) {
	f.t.Helper()
	p := filepath.Join(f.dir, "bin", name)
	if err := os.WriteFile(p, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fake) says(name, text string) { f.script(name, "cat <<'EOF'\n"+text+"\nEOF") }

// all puts every tool on the PATH, printing what the real ones print.
func (f *fake) all() *fake {
	f.script("cat", `exec /bin/cat "$@"`)
	f.says("go", "go1.26.8")
	f.says("git", "git version 2.39.5 (Apple Git-154)")
	f.says("cmake", "cmake version 3.31.6\n\nCMake suite maintained and supported by Kitware (kitware.com/cmake).")
	f.says("ninja", "1.13.0.git.kitware.jobserver-pipe-1")
	f.says("c++", "c++ (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright (C) 2022")
	f.says("patchelf", "patchelf 0.14.3")
	f.says("perl", "\nThis is perl 5, version 36, subversion 0 (v5.36.0) built for x86_64-linux-gnu-thread-multi")
	return f
}

func item(t *testing.T, r *Report, name string) Item {
	t.Helper()
	for _, it := range r.Items {
		if it.Name == name {
			return it
		}
	}
	t.Fatalf("no item %s in %+v", name, r.Items)
	return Item{}
}

func TestVersions(t *testing.T) {
	f := newFake(t, "linux").all()
	r := Check(context.Background(), Needs{Host: f.Host, Why: map[string][]string{"cmake": {"device-libs", "hipify"}}})
	if !r.OK() {
		t.Fatalf("%+v", r.Missing())
	}
	want := map[string]string{"go": "1.26.8", "git": "2.39.5", "cmake": "3.31.6", "ninja": "1.13", "patchelf": "0.14.3", "perl": "5.36",
		"compiler": "c++ (Debian 12.2.0-14+deb12u1) 12.2.0"}
	for name, found := range want {
		if it := item(t, r, name); it.Found != found || it.Status != OK {
			t.Errorf("%s: %+v, want %s", name, it, found)
		}
	}
	if it := item(t, r, "cmake"); it.Why != "device-libs, hipify" || it.Want != "3.25 or newer" || it.Packages != nil {
		t.Errorf("%+v", it)
	}

	f.says("git", "git version 2.24.4")
	f.says("cmake", "cmake version 3.24.9")
	f.says("ninja", "1.9.0")
	f.script("c++", "echo 'xcode-select: note: No developer tools were found' >&2; exit 1")
	f.says("perl", "no number here")
	os.Remove(filepath.Join(f.dir, "bin", "patchelf"))
	os.Remove(filepath.Join(f.dir, "bin", "go"))
	r = Check(context.Background(), Needs{Host: f.Host})
	for name, status := range map[string]Status{"go": Warn, "git": Old, "cmake": Old, "ninja": Old, "compiler": Missing, "patchelf": Missing, "perl": Missing} {
		it := item(t, r, name)
		if it.Status != status {
			t.Errorf("%s is %s: %+v", name, it.Status, it)
		}
		if status != Warn && len(it.Packages["apt"]) == 0 {
			t.Errorf("%s has no packages", name)
		}
	}
	if it := item(t, r, "compiler"); !strings.Contains(it.Found, "does not run: exit status 1: xcode-select: note") {
		t.Errorf("%+v", it)
	}
}

func TestOnlyTheToolsAskedFor(t *testing.T) {
	f := newFake(t, "linux").all()
	r := Check(context.Background(), Needs{Host: f.Host, Tools: []string{"git"}})
	var got []string
	for _, it := range r.Items {
		got = append(got, it.Name)
	}
	if want := []string{"git", "memory", "cores", "terminal"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	f.OS = "darwin"
	r = Check(context.Background(), Needs{Host: f.Host})
	if slices.ContainsFunc(r.Items, func(it Item) bool { return it.Name == "patchelf" }) {
		t.Error("patchelf is no matter on macOS")
	}
}

func TestProbes(t *testing.T) {
	f := newFake(t, "linux").all()
	r := Check(context.Background(), Needs{Host: f.Host, Tools: []string{"compiler"}, Probes: []Probe{
		func(context.Context) Item {
			return Item{Name: "llvm", Status: Missing, Want: "19 or newer", Why: "amd-llvm"}
		},
		func(context.Context) Item { return Item{Name: "compiler", Status: OK, Found: "Clang 19"} },
		func(context.Context) Item {
			return Item{Name: "special", Status: Missing, Packages: map[string][]string{"apt": {"x"}}}
		},
	}})
	if it := item(t, r, "llvm"); len(it.Packages["dnf"]) == 0 || len(it.Packages["brew"]) == 0 || it.Why != "amd-llvm" {
		t.Errorf("%+v", it)
	}
	if it := item(t, r, "compiler"); it.Found != "Clang 19" {
		t.Errorf("the probe did not take the tool's place: %+v", it)
	}
	if it := item(t, r, "special"); it.Packages["apt"][0] != "x" {
		t.Errorf("%+v", it)
	}
}

// This machine has what the project is built with.
func TestThisMachine(t *testing.T) {
	dir := t.TempDir()
	r := Check(context.Background(), Needs{
		Tools: []string{"go", "git", "cmake", "ninja", "compiler", "perl"}, TTY: true, Memory: 1 << 20,
		Disk: []DiskNeed{{Path: filepath.Join(dir, "not", "yet"), What: "work folder", Bytes: 1 << 10}, {Path: dir, What: "store", Bytes: 1 << 10}},
	})
	if !r.OK() {
		t.Fatalf("missing: %s", list(r.Missing()))
	}
	disks := 0
	for _, it := range r.Items {
		if it.Name == "disk" {
			disks++
			if it.Want != "2.0 KiB: work folder 1.0 KiB, store 1.0 KiB" {
				t.Errorf("%+v", it)
			}
		}
	}
	if disks != 1 {
		t.Errorf("%d items for one file system", disks)
	}
	if it := item(t, r, "go"); !strings.HasPrefix(runtime.Version(), "go"+strings.Join(strings.Split(it.Found, ".")[:2], ".")) {
		t.Errorf("%+v, this is %s", it, runtime.Version())
	}
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"name":"cmake","status":"ok"`) {
		t.Errorf("%v: %s", err, b)
	}
}

func TestResourcesTooSmall(t *testing.T) {
	f := newFake(t, "linux").all()
	huge := int64(1) << 62
	r := Check(context.Background(), Needs{Host: f.Host, Memory: 1 << 40, Disk: []DiskNeed{{Path: f.dir, What: "work", Bytes: huge}, {Path: f.dir, What: "store", Bytes: huge}}})
	err := Ensure(context.Background(), r, Mode{Yes: true})
	if exit.Of(err) != exit.Resources || !strings.Contains(err.Error(), "disk") || !strings.Contains(err.Error(), "memory 1.0 TiB") {
		t.Fatalf("%v, %v", exit.Of(err), err)
	}
}

func TestTotalMemory(t *testing.T) {
	const total = 16000000 * 1024
	cases := []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no groups", nil, total},
		{"version 2, no limit", map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, total},
		{"version 2", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "4294967296\n"}, 4 << 30},
		{"version 2, a parent's limit", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1073741824\n"}, 1 << 30},
		{"version 2, the least of all", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1073741824\n", "sys/fs/cgroup/a/memory.max": "4294967296\n"}, 1 << 30},
		{"version 2, in a container", map[string]string{"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "2147483648\n"}, 2 << 30},
		{"version 1", map[string]string{"proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/j/1\n0::/\n", "sys/fs/cgroup/memory/j/1/memory.limit_in_bytes": "3221225472\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 3 << 30},
		{"a limit above the machine", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999999\n"}, total},
		{"rubbish", map[string]string{"proc/self/cgroup": "x\n0::\n:::\n4:memory:/\n", "sys/fs/cgroup/memory.max": "-5\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "0x10\n"}, total},
	}
	for _, c := range cases {
		f := newFake(t, "linux")
		for name, text := range c.files {
			f.file("root/"+name, text)
		}
		got, by, err := TotalMemory(f.Host)
		if err != nil || got != c.want || (by != "") != (got != total) {
			t.Errorf("%s: %d, %q, %v; want %d", c.name, got, by, err, c.want)
		}
	}
	f := newFake(t, "linux")
	for _, bad := range []string{"", "MemTotal: x kB\n", "MemTotal: -1 kB\n", "MemTotal: 9223372036854775807 kB\n", "MemTotal: 5 MB\n"} {
		f.file("root/proc/meminfo", bad)
		if _, _, err := TotalMemory(f.Host); err == nil {
			t.Errorf("%q gave no error", bad)
		}
		if it := checkMemory(f.Host, 1); it.Status != Warn {
			t.Errorf("%q: %+v", bad, it)
		}
	}
	if n, _, err := TotalMemory(ThisHost()); err != nil || n < 256<<20 {
		t.Errorf("this machine: %d, %v", n, err)
	}
}

func TestForeignThingsAreNamed(t *testing.T) {
	f := newFake(t, "linux").all()
	r := Check(context.Background(), Needs{Host: f.Host})
	if slices.ContainsFunc(r.Items, func(it Item) bool { return it.Name == "environment" }) {
		t.Error("a warning about nothing")
	}
	f.file("root/opt/rocm/x", "")
	f.file("root/opt/rocm-7.2.0/x", "")
	f.Env = append(f.Env, "ROCM_PATH=/x", "CPATH=/y", "HIP_PATH=")
	r = Check(context.Background(), Needs{Host: f.Host})
	if it := item(t, r, "environment"); it.Status != Warn || it.Found != "ROCM_PATH, CPATH, /opt/rocm, /opt/rocm-7.2.0" || !strings.Contains(it.Want, "ignored") {
		t.Errorf("%+v", it)
	}
	if !r.OK() {
		t.Error("a warning stops the build")
	}
}

func TestManager(t *testing.T) {
	cases := []struct {
		goos, release string
		commands      []string
		want          string
	}{
		{"linux", "ID=debian\n", []string{"apt-get"}, "apt"},
		{"linux", "NAME=x\nID=ubuntu\nID_LIKE=debian\n", []string{"dnf", "apt-get", "brew"}, "apt"},
		{"linux", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", []string{"dnf", "apt-get"}, "dnf"},
		{"linux", "ID=fedora\n", []string{"brew"}, "brew"},
		{"linux", "ID=arch\n", []string{"pacman"}, ""},
		{"linux", "", []string{"dnf"}, "dnf"},
		{"darwin", "", []string{"brew", "apt-get"}, "brew"},
		{"darwin", "", []string{"apt-get"}, ""},
	}
	for _, c := range cases {
		f := newFake(t, c.goos)
		if c.release != "" {
			f.file("root/etc/os-release", c.release)
		}
		for _, cmd := range c.commands {
			f.script(cmd, "exit 0")
		}
		if got := f.manager(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestTable(t *testing.T) {
	f := newFake(t, "linux").all()
	f.says("cmake", "cmake version 3.10.2")
	r := Check(context.Background(), Needs{Host: f.Host, Why: map[string][]string{"cmake": {"hipify"}}})
	var b bytes.Buffer
	if err := r.Table(&b, ui.Look{}); err != nil {
		t.Fatal(err)
	}
	want := "cmake     old     3.10.2"
	if !strings.Contains(b.String(), want) || !strings.Contains(b.String(), "3.25 or newer  hipify") {
		t.Errorf("no %q in\n%s", want, b.String())
	}
}

func TestPackageTable(t *testing.T) {
	table, err := packageTable()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(table.LLVM.Majors, table.LLVM.Assumed) || !slices.IsSortedFunc(table.LLVM.Majors, func(a, b int) int { return b - a }) {
		t.Errorf("%+v", table.LLVM)
	}
	for _, name := range Tools() {
		if _, ok := table.Items[name]; !ok && name != "go" {
			t.Errorf("no packages for %s", name)
		}
	}
	for name, row := range table.Items {
		if len(row.Apt) == 0 || len(row.Dnf) == 0 || len(row.Brew) == 0 && row.Suggest["darwin"] == "" {
			t.Errorf("%s lacks a manager: %+v", name, row)
		}
		if versioned(row.Dnf) || versioned(row.Brew) {
			t.Errorf("%s: only apt's names are expanded", name)
		}
		for _, n := range slices.Concat(row.Apt, row.Dnf, row.Brew) {
			if strings.ContainsAny(n, " '$;&|") || strings.HasPrefix(n, "-") {
				t.Errorf("%s: odd package name %q", name, n)
			}
		}
	}
}

func TestParsePolicy(t *testing.T) {
	// From apt 2.6.1 on Debian 12.
	out := "clang-22:\n  Installed: (none)\n  Candidate: 1:22.1.8-1~deb12u1\n  Version table:\n     1:22.1.8-1~deb12u1 500\n        500 http://mirror.example/debian-security bookworm-security/main amd64 Packages\n" +
		"clang-23:\n  Installed: (none)\n  Candidate: (none)\n  Version table:\n"
	if got, want := parsePolicy(out), map[string]string{"clang-22": "1:22.1.8-1~deb12u1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if v, ok := debianVersion("1:22.1.8-1~deb12u1"); !ok || v != (version{22, 1, 8}) {
		t.Error(v, ok)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a:\n  Candidate: 1:2.3-4\n")
	f.Add("git version 2.39.5 (Apple Git-154)\n1.99999999999999999999")
	f.Fuzz(func(t *testing.T, s string) {
		for name, v := range parsePolicy(s) {
			if name == "" || v == "" {
				t.Fatal(name, v)
			}
			debianVersion(v)
		}
		if v, ok := parseVersion(s); ok && (v.less(version{}) || v.less(v)) {
			t.Fatal(v)
		}
	})
}

func TestCheckEndsWhenCancelled(t *testing.T) {
	f := newFake(t, "linux").all()
	f.script("cmake", "exec /bin/sleep 60")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := Check(ctx, Needs{Host: f.Host})
	if it := item(t, r, "cmake"); it.Status != Missing || !strings.Contains(it.Found, context.Canceled.Error()) {
		t.Errorf("%+v", it)
	}
}

func TestHugeOutputIsBounded(t *testing.T) {
	f := newFake(t, "linux").all()
	f.script("cmake", "/usr/bin/head -c 50000000 /dev/zero; echo 3.99.1")
	out, err := f.output(context.Background(), f.lookPath("cmake"))
	if err != nil || len(out) != queryBytes {
		t.Fatal(err, len(out))
	}
}

func TestNonAbsolutePathIsIgnored(t *testing.T) {
	f := newFake(t, "linux")
	f.script("cmake", "exit 0")
	t.Chdir(filepath.Join(f.dir, "bin"))
	f.Env = []string{"PATH=." + string(os.PathListSeparator) + string(os.PathListSeparator)}
	if p := f.lookPath("cmake"); p != "" {
		t.Errorf("found %s in the current folder", p)
	}
}
