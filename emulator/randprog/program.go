package randprog

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
)

//go:embed prelude.h
var prelude string

// Sizes of what a kernel is given, in bytes.
const (
	Groups     = 2      // work-groups of a launch
	InputSize  = 16384  // what it may read
	CommonSize = 16 * 4 // words that all work-items share
	Common8    = 8 * 8  // the same of 64 bits
	ownSize    = 64     // what each work-item has to itself
)

// Program is some kernels in one source.
type Program struct {
	Seed    uint64
	Kernels []*Kernel
}

// Kernel is one of a program.
type Kernel struct {
	Name  string
	Block [3]uint32 // work-items

	root, functions *node
	fields          []string
	results         []Result
	arguments       []argument
	least           int // lanes that every wave has
}

// Result is a variable whose last value a kernel stores, for each work-item.
type Result struct {
	Name, Type string
	At         int // of the first work-item's, in bytes
	size       int
}

// New makes the program of a seed: the same for the same seed.
func New(seed uint64, kernels int) *Program {
	g := newGrammar()
	p := &Program{Seed: seed}
	for n := range kernels {
		k := g.kernel(fmt.Sprintf("k%d", n), rand.New(rand.NewPCG(seed, uint64(n))))
		at := 0
		for i := range k.results {
			k.results[i].At = at
			at += (k.results[i].size*k.threads()*Groups + 15) &^ 15
		}
		p.Kernels = append(p.Kernels, k)
	}
	return p
}

func (k *Kernel) threads() int { return int(k.Block[0] * k.Block[1] * k.Block[2]) }

// OutputSize is how much a kernel stores into the buffer of results, in bytes.
func (k *Kernel) OutputSize() int {
	return k.localAt() + Groups*(CommonSize+Common8)
}

// localAt is where a kernel stores what its groups have in local memory.
func (k *Kernel) localAt() int {
	last := k.results[len(k.results)-1]
	return (last.At + last.size*k.threads()*Groups + 15) &^ 15
}

// OwnSize is how much memory its work-items have to themselves, in bytes.
func (k *Kernel) OwnSize() int { return ownSize * k.threads() * Groups }

// Values returns the bytes of the arguments behind the five buffers: the input, what
// work-items have to themselves, the results, words and double words of all.
func (k *Kernel) Values() [][]byte {
	var list [][]byte
	for _, a := range k.arguments {
		list = append(list, a.bytes)
	}
	return list
}

// Where says what lies at a byte of the results.
func (k *Kernel) Where(at int) string {
	for _, r := range k.results {
		if n := at - r.At; n >= 0 && n < r.size*k.threads()*Groups {
			item, group := k.Owner(at)
			return fmt.Sprintf("%s %s of work-item %d of group %d", r.Type, r.Name, item, group)
		}
	}
	return fmt.Sprintf("byte %d of the results", at)
}

// Owner returns the work-item, counted through its group, that stores a byte of the
// results, and its group; the first one for what groups have in common.
func (k *Kernel) Owner(at int) (item, group int) {
	for _, r := range k.results {
		if n := at - r.At; n >= 0 && n < r.size*k.threads()*Groups {
			return n / r.size % k.threads(), n / r.size / k.threads()
		}
	}
	return 0, 0
}

// Source is the program in C++: HIP, or with HOST defined what computes the reference.
// LANES is the size of a wave on the device; on the host it is a variable.
func (p *Program) Source() string {
	var b strings.Builder
	b.WriteString(prelude)
	rng := rand.New(rand.NewPCG(p.Seed, 1<<32))
	numbers := func(decl string, n int) {
		b.WriteString(decl + " = {")
		for range n {
			fmt.Fprintf(&b, "0x%x, ", rng.Uint64()>>(rng.IntN(4)*16))
		}
		b.WriteString("};\n")
	}
	numbers("CONSTANT u64 wide[8]", 8)
	b.WriteString("CONSTANT u32 table[16] = {0, 1, 2, 3, 5, 0x80000000, 0xffffffff, 31, 32, 0x7fffffff, 255, 0xff00, 0x3f800000, 77, 0xaaaaaaaa, 9};\n")
	b.WriteString("VARIABLE u32 places[16] = {9, 8, 7, 6, 5, 0xfffffffe, 3, 2, 1, 0, 11, 12, 13, 14, 0x12345678, 16};\n")
	b.WriteString("CONSTANT u8 bytes[32] = {1, 2, 3, 255, 254, 128, 127, 0, 9, 8, 7, 6, 5, 77, 99, 100};\n")
	for _, k := range p.Kernels {
		k.write(&b)
	}
	b.WriteString("#ifdef HOST\nint main(int, char **argv) {\n  LANES = atoi(argv[1]);\n")
	fmt.Fprintf(&b, "  static __attribute__((aligned(64))) u8 in[%d];\n  if (fread(in, 1, sizeof in, stdin) != sizeof in) return 1;\n", InputSize)
	for _, k := range p.Kernels {
		fmt.Fprintf(&b, "  { static __attribute__((aligned(64))) u8 own[%d], out[%d], acc[%d], acc8[%d]; %s(in, own, out, (u32 *)acc, (u64 *)acc8", k.OwnSize(), k.OutputSize(), CommonSize, Common8, k.Name)
		for _, a := range k.arguments {
			b.WriteString(", " + a.value)
		}
		b.WriteString(");\n    fwrite(own, 1, sizeof own, stdout); fwrite(out, 1, sizeof out, stdout); fwrite(acc, 1, sizeof acc, stdout); fwrite(acc8, 1, sizeof acc8, stdout); }\n")
	}
	b.WriteString("}\n#endif\n")
	return b.String()
}

func (k *Kernel) write(b *strings.Builder) {
	fmt.Fprintf(b, "\nstruct %s_local { %s; };\n", k.Name, strings.Join(k.fields, "; "))
	b.WriteString(k.functions.String())
	n := k.threads()
	bounds := ""
	if k.least%2 == 0 {
		bounds = fmt.Sprintf("__attribute__((amdgpu_flat_work_group_size(1, %d))) ", n)
	}
	fmt.Fprintf(b, "#ifdef HOST\nstatic void\n#else\nextern \"C\" __global__ %svoid\n#endif\n%s(const u8 *__restrict in, u8 *scr, u8 *out, u32 *acc, u64 *acc8", bounds, k.Name)
	for _, a := range k.arguments {
		fmt.Fprintf(b, ", %s %s", a.typ, a.name)
	}
	fmt.Fprintf(b, ") {\n  SHARED(u128, tradeWords, %d) SHARED(u128, nearWords, %d) SHARED(u32, lacc, 16) SHARED(u64, lacc8, 8)\n", n, 2*n)
	b.WriteString("  u8 *const trade = (u8 *)tradeWords, *const near = (u8 *)nearWords;\n")
	y := k.Block[1]
	if k.Block[1]*k.Block[2] == 1 {
		y = 0
	}
	fmt.Fprintf(b, "  BODY(%s_local, %d, %d, %d)\n", k.Name, n, k.Block[0], y)
	b.WriteString("EACH(if (tid < 16) lacc[tid] = 0; if (tid < 8) lacc8[tid] = 0; put<u128>(near, tid * 32, 0); put<u128>(near, tid * 32 + 16, 0);) BARRIER\n")
	for _, s := range k.root.kids[1:] {
		b.WriteString(s.String())
	}
	b.WriteString("BARRIER\nEACH(\n")
	for _, r := range k.results {
		fmt.Fprintf(b, "  put<%s>(out, %d + gid * %d, v.%s);\n", r.Type, r.At, r.size, r.Name)
	}
	at := k.localAt()
	fmt.Fprintf(b, "  if (tid < 16) ((u32 *)(out + %d + bid * %d))[tid] = lacc[tid];\n  if (tid < 8) ((u64 *)(out + %d + bid * %[2]d))[tid] = lacc8[tid];\n)\nDONE\n}\n", at, CommonSize+Common8, at+CommonSize)
}
