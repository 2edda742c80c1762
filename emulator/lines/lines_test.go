package lines

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

const source = `
typedef unsigned int u32;
namespace deep {
template <typename T> static inline __device__ __attribute__((always_inline)) T twice(T v, const T *p) {
  return v + v + p[v];
}
static __device__ __attribute__((noinline)) u32 far(u32 v) { return __builtin_popcount(v) * 3; }
}
__global__ void f(const u32 *a, u32 *out) {
  u32 i = __builtin_amdgcn_workitem_id_x();
  out[i] = deep::twice(
      a[i], a) + deep::far(i);
}
__global__ void g(u32 *out) { *out = 7; }
`

func object(t *testing.T, flags ...string) (string, *codeobj.Object) {
	t.Helper()
	path := llvmtest.HIP(t, source, "gfx90a", flags...)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := codeobj.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return path, obj
}

// The answer for every instruction is llvm-symbolizer's.
func TestFind(t *testing.T) {
	for _, flags := range [][]string{{"-gline-tables-only", "-O3"}, {"-g", "-O0"}, {"-g", "-O2", "-gdwarf-4"}} {
		path, obj := object(t, flags...)
		table, err := New(obj)
		if err != nil {
			t.Fatal(err)
		}
		var addrs []uint64
		var args []string
		for _, s := range obj.Symbols {
			if s.Type == codeobj.SymbolFunc {
				for at := s.Value; at < s.Value+s.Size; at += 4 {
					addrs, args = append(addrs, at), append(args, "0x"+strconv.FormatUint(at, 16))
				}
			}
		}
		out := llvmtest.Run(t, "llvm-symbolizer", append([]string{"--obj=" + path, "--output-style=GNU", "--no-demangle"}, args...)...)
		answers := strings.Split(strings.TrimSpace(out), "\n")
		inlined := 0
		for _, at := range addrs {
			places, err := table.Find(at)
			if err != nil {
				t.Fatal(err)
			}
			if len(places) > 1 {
				inlined++
			}
			for _, p := range places {
				if len(answers) < 2 {
					t.Fatalf("%v: at 0x%x more places than llvm-symbolizer has: %v", flags, at, places)
				}
				want, _, _ := strings.Cut(answers[1], " (discriminator")
				if got := filepath.Base(p.File) + ":" + strconv.Itoa(p.Line); got != filepath.Base(want) {
					t.Errorf("%v: 0x%x: %s, llvm-symbolizer says %s", flags, at, got, want)
				}
				if name := codeobj.SignatureOf(answers[0]).Name; p.Function != name && p.Function != strings.TrimPrefix(name, "deep::") && !strings.HasPrefix(name, "deep::twice") {
					t.Errorf("%v: 0x%x: function %q, llvm-symbolizer says %q", flags, at, p.Function, name)
				}
				answers = answers[2:]
			}
			if len(places) == 0 {
				if !strings.HasPrefix(answers[1], "??") && !strings.HasSuffix(answers[1], ":0") {
					t.Errorf("%v: 0x%x: nothing, llvm-symbolizer says %s", flags, at, answers[1])
				}
				answers = answers[2:]
			}
		}
		if len(answers) != 0 || len(addrs) < 20 || inlined == 0 {
			t.Errorf("%v: %d addresses, %d within others, %d answers left", flags, len(addrs), inlined, len(answers))
		}
		if places, err := table.Find(1); err != nil || places != nil {
			t.Errorf("nowhere: %v, %v", places, err)
		}
	}
}

func TestNone(t *testing.T) {
	_, obj := object(t)
	if _, err := New(obj); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}

// Damage anywhere in the debug information is an error or another answer, and never
// more.
func TestDamaged(t *testing.T) {
	_, obj := object(t, "-g", "-O0")
	var pc uint64
	for _, s := range obj.Symbols {
		if s.Name == "_Z1fPKjPj" {
			pc = s.Value + 64
		}
	}
	for i := range obj.Sections {
		s := &obj.Sections[i]
		if !strings.HasPrefix(s.Name, ".debug_") {
			continue
		}
		whole := s.Data
		for at := 0; at < len(whole); at += 1 + len(whole)/150 {
			for _, v := range []byte{0, 0xff, whole[at] ^ 0x81} {
				s.Data = append([]byte(nil), whole...)
				s.Data[at] = v
				if table, err := New(obj); err == nil {
					_, _ = table.Find(pc)
				}
				s.Data = whole[:at]
				if table, err := New(obj); err == nil {
					_, _ = table.Find(pc)
				}
			}
		}
		s.Data = whole
	}
}
