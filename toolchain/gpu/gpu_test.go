package gpu

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

func table(t testing.TB) *Table {
	t.Helper()
	tab, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func ids(ts []Target) string {
	var s []string
	for _, target := range ts {
		s = append(s, target.String())
	}
	return strings.Join(s, " ")
}

// The families of TheRock main at 89553ce (2026-08-22), cmake's family lists:
// family → number of targets, and every member of the three -all groups.
func TestFamiliesAreTheReferenceTable(t *testing.T) {
	want := map[string]int{
		"gfx900-dgpu": 1, "gfx906-dgpu": 1, "gfx90c-igpu": 1, "gfx908-dcgpu": 1, "gfx90a-dcgpu": 1,
		"gfx94X-all": 1, "gfx94X-dcgpu": 1, "gfx950-all": 1, "gfx950-dcgpu": 1,
		"gfx101X-all": 3, "gfx101X-dgpu": 3, "gfx103X-all": 7, "gfx103X-dgpu": 4, "gfx103X-igpu": 3,
		"gfx110X-all": 4, "gfx110X-dgpu": 3, "gfx110X-igpu": 1, "gfx115X-all": 4, "gfx115X-igpu": 4,
		"gfx120X-all": 2, "gfx125X-all": 1, "gfx125X-dcgpu": 1,
		"dgpu-all": 14, "dcgpu-all": 5, "igpu-all": 9,
	}
	tab := table(t)
	if got := len(tab.Families()); got != len(want) {
		t.Errorf("%d families, the reference has %d", got, len(want))
	}
	for name, n := range want {
		ts, err := tab.Expand([]string{name}, nil)
		if err != nil || len(ts) != n {
			t.Errorf("%s: %d targets (%v), the reference has %d", name, len(ts), err, n)
		}
	}
	// The groups hold exactly the processors of their class that some other
	// family holds.
	for _, fam := range tab.Families() {
		class, isGroup := strings.CutSuffix(fam.Name, "-all")
		if strings.HasPrefix(fam.Name, "gfx") || !isGroup {
			continue
		}
		for _, p := range tab.Processors() {
			inFamily := slices.ContainsFunc(tab.Families(), func(f Family) bool {
				return strings.HasPrefix(f.Name, "gfx") && slices.Contains(f.Targets, p.Name)
			})
			if want := inFamily && string(p.Class) == class; slices.Contains(fam.Targets, p.Name) != want {
				t.Errorf("%s: holds %s is %v, class %s wants %v", fam.Name, p.Name, !want, p.Class, want)
			}
		}
	}
}

func TestExpand(t *testing.T) {
	tab := table(t)
	for _, c := range []struct {
		names, exclude string
		want           string
	}{
		{"gfx942", "", "gfx942"},
		{"gfx94X-all gfx942 gfx94X-dcgpu", "", "gfx942"},
		{"gfx1201 gfx900 gfx120X-all", "", "gfx900 gfx1200 gfx1201"},
		{"dcgpu-all", "gfx90a-dcgpu gfx908", "gfx942 gfx950 gfx1250"},
		{"gfx90a:xnack+:sramecc- gfx90a:sramecc-:xnack-", "", "gfx90a:sramecc-:xnack- gfx90a:sramecc-:xnack+"},
		{"gfx90a:xnack+ gfx90a:xnack-", "gfx90a:xnack-", "gfx90a:xnack+"},
		{"gfx90a:xnack+ gfx90a:xnack- gfx942", "gfx90a", "gfx942"},
		{"gfx942", "gfx942:xnack+", "gfx942"},
		{"gfx90a gfx90a:xnack+", "gfx90a:xnack+", "gfx90a"},
		{"gfx942", "dcgpu-all", ""},
		{"", "", ""},
		{"gfx11-generic gfx9-4-generic", "", "gfx9-4-generic gfx11-generic"},
	} {
		ts, err := tab.Expand(strings.Fields(c.names), strings.Fields(c.exclude))
		if got := ids(ts); err != nil || got != c.want {
			t.Errorf("Expand(%q, %q) = %q, %v; want %q", c.names, c.exclude, got, err, c.want)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	tab := table(t)
	for _, c := range []struct{ names, exclude, want string }{
		{"gfx943", "", `unknown gpu "gfx943", did you mean "gfx942"?`},
		{"gfx94x-all", "", `unknown gpu "gfx94x-all", did you mean "gfx94X-all"?`},
		{"GFX90A", "", `unknown gpu "GFX90A", did you mean "gfx90a"?`},
		{"gfx9oa:xnack+", "", `unknown gpu "gfx9oa:xnack+", did you mean "gfx90a:xnack+"?`},
		{"gfx942", "dcgpu-al", `exclude: unknown gpu "dcgpu-al", did you mean "dcgpu-all"?`},
		{"quantum", "", `unknown gpu "quantum"`},
		{"", "", ""},
		{"gfx1030:xnack+", "", `gpu "gfx1030:xnack+": gfx1030 has no xnack; leave the feature out`},
		{"gfx1250:xnack+", "", `gpu "gfx1250:xnack+": xnack of gfx1250 cannot be chosen; leave the feature out`},
		{"gfx90a:xnak+", "", `gpu "gfx90a:xnak+": feature "xnak" is neither xnack nor sramecc`},
		{"gfx90a:xnack", "", `gpu "gfx90a:xnack": feature "xnack" must end in + or -`},
		{"gfx90a:", "", `gpu "gfx90a:": feature "" must end in + or -`},
		{"gfx90a:xnack+:xnack-", "", `gpu "gfx90a:xnack+:xnack-": feature xnack is named twice`},
		{"dcgpu-all:xnack+", "", `gpu "dcgpu-all:xnack+": dcgpu-all is a family: name its processors to choose features`},
		{"gfx90a gfx90a:xnack+", "", `gpus "gfx90a" and "gfx90a:xnack+" cannot be selected together: xnack is set by one and left open by the other; set it in both or in none`},
		{"gfx906:sramecc+ gfx906:xnack+", "", `gpus "gfx906:xnack+" and "gfx906:sramecc+" cannot be selected together: sramecc is set by one and left open by the other; set it in both or in none`},
	} {
		_, err := tab.Expand(strings.Fields(c.names), strings.Fields(c.exclude))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Expand(%q, %q):\n got %s\nwant %s", c.names, c.exclude, got, c.want)
		}
	}
	var unknown *UnknownError
	if _, err := tab.Expand([]string{"gfx942"}, []string{"gfx10300"}); !errors.As(err, &unknown) || unknown.Suggestion != "gfx1030" {
		t.Errorf("no *UnknownError with a suggestion: %v", err)
	}
}

func TestBundleName(t *testing.T) {
	tab := table(t)
	for _, c := range []struct{ selection, want string }{
		{"gfx94X-all", "gfx94X-all"},
		{"gfx942 gfx942", "gfx942"},
		{"gfx90a:sramecc+:xnack-", "gfx90a-sramecc+-xnack-"},
		{"gfx942 gfx950", ""},
		{"", ""},
	} {
		got, err := tab.BundleName(strings.Fields(c.selection))
		var name *NameError
		if got != c.want || (c.want == "") != errors.As(err, &name) {
			t.Errorf("BundleName(%q) = %q, %v; want %q", c.selection, got, err, c.want)
		}
	}
	var unknown *UnknownError
	if _, err := tab.BundleName([]string{"gfx94"}); !errors.As(err, &unknown) {
		t.Errorf("an unknown selection gives %v", err)
	}
}

func TestParseRefusesBrokenTables(t *testing.T) {
	row := "  - {name: gfx942, mach: 0x4c, class: dcgpu, wave: 64, lds: 65536}\n"
	for _, c := range []struct{ name, yaml, want string }{
		{"unknown key", "schema: 1\nprocessors:\n  - {name: gfx942, match: 1}\n", "match"},
		{"schema", "schema: 2\nprocessors:\n" + row, "schema 2"},
		{"twice", "schema: 1\nprocessors:\n" + row + row, "twice"},
		{"mach twice", "schema: 1\nprocessors:\n" + row + strings.Replace(row, "gfx942", "gfx943", 1), "also that of gfx942"},
		{"wave", "schema: 1\nprocessors:\n" + strings.Replace(row, "64", "63", 1), "wave 63"},
		{"class", "schema: 1\nprocessors:\n" + strings.Replace(row, "dcgpu", "tpu", 1), `class "tpu"`},
		{"support", "schema: 1\nprocessors:\n" + strings.Replace(row, "wave", "xnack: maybe, wave", 1), `"maybe"`},
		{"name", "schema: 1\nprocessors:\n" + strings.Replace(row, "gfx942", "mi300", 1), "not that of a processor"},
		{"family of nobody", "schema: 1\nprocessors:\n" + row + "families:\n  - {name: x-all, targets: [gfx1]}\n", `"gfx1" is no processor`},
		{"empty family", "schema: 1\nprocessors:\n" + row + "families:\n  - {name: x-all, targets: []}\n", "at least one target"},
		{"two documents", "schema: 1\nprocessors:\n" + row + "---\nschema: 1\n", "more than one document"},
	} {
		if _, err := parse([]byte(c.yaml)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one that says %q", c.name, err, c.want)
		}
	}
}

func TestRuns(t *testing.T) {
	tab := table(t)
	for _, c := range []struct {
		code, device string
		want         bool
	}{
		{"gfx942", "gfx942:sramecc+:xnack-", true},
		{"gfx942:xnack+", "gfx942:sramecc+:xnack-", false},
		{"gfx942:xnack-", "gfx942:sramecc+:xnack-", true},
		{"gfx9-4-generic", "gfx942:sramecc+:xnack-", true},
		{"gfx9-4-generic:xnack+", "gfx950:sramecc+:xnack-", false},
		{"gfx9-4-generic", "gfx90a", false},
		{"gfx11-generic", "gfx1151", true},
		{"gfx1030", "gfx1031", false},
	} {
		code, err1 := ParseTargetID(c.code)
		device, err2 := ParseTargetID(c.device)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if got := tab.Runs(code, device); got != c.want {
			t.Errorf("Runs(%s, %s) = %v", c.code, c.device, got)
		}
	}
}

// everyTarget lists each processor, alone and with each feature setting that
// its row says a target id may have.
func everyTarget(t *testing.T, tab *Table) []Target {
	t.Helper()
	var all []Target
	for _, p := range tab.Processors() {
		names := []string{p.Name}
		if p.XNACK == SupportSelect {
			names = append(names, p.Name+":xnack+", p.Name+":xnack-")
		}
		if p.SRAMECC == SupportSelect {
			names = append(names, p.Name+":sramecc+", p.Name+":sramecc-:xnack+")
		}
		for _, n := range names {
			target, err := tab.Target(n)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, target)
		}
	}
	return all
}

// Oracle: clang itself writes e_flags and the metadata of an empty kernel.
func TestTargetsAgreeWithClang(t *testing.T) {
	tab := table(t)
	src := filepath.Join(t.TempDir(), "k.cl")
	if err := os.WriteFile(src, []byte("kernel void k(void) {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wave := regexp.MustCompile(`\.wavefront_size:\s+(\d+)`)
	for _, target := range everyTarget(t, tab) {
		t.Run(target.String(), func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "k.o")
			llvmtest.Run(t, "clang", "-x", "cl", "-target", "amdgcn-amd-amdhsa", "-mcpu="+target.String(),
				"-nogpulib", "-c", src, "-o", out)
			data, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			flags := binary.LittleEndian.Uint32(data[48:]) // Elf64_Ehdr.e_flags
			if got := target.EFlags(); got != flags {
				t.Errorf("EFlags() = 0x%x, clang writes 0x%x", got, flags)
			}
			back, err := tab.TargetOfEFlags(flags)
			if err != nil || back.ID != target.ID {
				t.Errorf("TargetOfEFlags(0x%x) = %s, %v", flags, back, err)
			}
			asm := llvmtest.Run(t, "clang", "-x", "cl", "-target", "amdgcn-amd-amdhsa", "-mcpu="+target.String(),
				"-nogpulib", "-S", src, "-o", "-")
			m := wave.FindStringSubmatch(asm)
			if m == nil || m[1] != strconv.Itoa(target.Wave) {
				t.Errorf("wave %d, clang says %v", target.Wave, m)
			}
		})
	}
}

// Oracle: clang refuses features that the table calls none or fixed, and
// names the limit when a kernel wants too much local memory.
func TestLimitsAgreeWithClang(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "k.cl")
	text := "kernel void k(global int *p, int n) { local volatile int a[1 << 20]; a[n] = 1; *p = a[n - 1]; }\n"
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	limit := regexp.MustCompile(`exceeds limit \((\d+)\)`)
	for _, p := range table(t).Processors() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			_, stderr, err := llvmtest.Try(t, "clang", "-x", "cl", "-target", "amdgcn-amd-amdhsa", "-mcpu="+p.Name,
				"-nogpulib", "-O1", "-c", src, "-o", os.DevNull)
			m := limit.FindStringSubmatch(stderr)
			if err == nil || m == nil || m[1] != strconv.Itoa(p.LDS) {
				t.Errorf("lds %d, clang says %v: %s", p.LDS, m, stderr)
			}
			for feature, has := range map[string]Support{"xnack": p.XNACK, "sramecc": p.SRAMECC} {
				_, stderr, err := llvmtest.Try(t, "clang", "-x", "hip", "-nogpuinc", "-nogpulib", "--offload-device-only",
					"--offload-arch="+p.Name+":"+feature+"+", "-###", src)
				refused := err != nil && strings.Contains(stderr, "invalid target ID")
				if refused == (has == SupportSelect) {
					t.Errorf("%s is %s, clang refuses it: %v", feature, has, refused)
				}
			}
		})
	}
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{"gfx942", "gfx90a:xnack+:sramecc-", "gfx94X-all", "gfx:+", "::", "gfx9-4-generic:xnack-", "gfx90a:xnack+:"} {
		f.Add(s)
	}
	tab := table(f)
	f.Fuzz(func(t *testing.T, s string) {
		target, err := tab.Target(s)
		if err != nil {
			return
		}
		again, err := tab.Target(target.String())
		if err != nil || again.ID != target.ID {
			t.Errorf("%q gives %s, which gives %s, %v", s, target, again, err)
		}
		if back, err := tab.TargetOfEFlags(target.EFlags()); err != nil || back.ID != target.ID {
			t.Errorf("%s: e_flags 0x%x give %s, %v", target, target.EFlags(), back, err)
		}
	})
}
