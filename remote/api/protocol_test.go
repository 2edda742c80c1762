package api

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// loaded reads the descriptions that come along, once for all tests.
var loaded = sync.OnceValues(func() (libs []*Library, err error) {
	for _, name := range Libraries() {
		l, err := Load(Descriptions(), name)
		if err != nil {
			return nil, err
		}
		libs = append(libs, l)
	}
	return libs, nil
})

func all(t *testing.T) []*Library {
	t.Helper()
	libs, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return libs
}

func hip(t *testing.T) *Library {
	t.Helper()
	libs := all(t)
	return libs[slices.IndexFunc(libs, func(l *Library) bool { return l.Name == "amdhip64" })]
}

// How much is described and how much of it nobody has decided. A new header
// changes these numbers, and whoever changes them has looked at what is new.
var counts = map[string]string{
	"MIOpen":    "266 functions, 68 queue, 0 drain, 20 handles, 85 undecided",
	"amd_smi":   "247 functions, 0 queue, 0 drain, 3 handles, 6 undecided",
	"amdhip64":  "525 functions, 80 queue, 52 drain, 20 handles, 20 undecided",
	"hipblas":   "1191 functions, 1175 queue, 4 drain, 1 handles, 0 undecided",
	"hipblaslt": "40 functions, 5 queue, 0 drain, 5 handles, 2 undecided",
	"hipfft":    "50 functions, 14 queue, 1 drain, 1 handles, 4 undecided",
	"hiprand":   "30 functions, 15 queue, 0 drain, 1 handles, 0 undecided",
	"hiprtc":    "18 functions, 0 queue, 0 drain, 2 handles, 3 undecided",
	"rocblas":   "1214 functions, 1150 queue, 8 drain, 2 handles, 35 undecided",
	"rocfft":    "29 functions, 1 queue, 0 drain, 5 handles, 8 undecided",
	"rocrand":   "33 functions, 14 queue, 0 drain, 1 handles, 0 undecided",
	"rocsolver": "913 functions, 890 queue, 4 drain, 1 handles, 0 undecided",
	"rocsparse": "700 functions, 408 queue, 0 drain, 16 handles, 18 undecided",
}

func TestCounts(t *testing.T) {
	for _, l := range all(t) {
		classes := map[Sync]int{}
		for i := range l.Functions {
			classes[l.Functions[i].Value.Sync]++
		}
		got := fmt.Sprintf("%d functions, %d queue, %d drain, %d handles, %d undecided", len(l.Functions), classes[Queue], classes[Drain], len(l.Handles), len(l.Undecided()))
		if got != counts[l.Name] {
			t.Errorf("%s: %s, and was %s", l.Name, got, counts[l.Name])
		}
	}
}

// What stays undecided says why.
func TestUndecidedHasReasons(t *testing.T) {
	for _, l := range all(t) {
		for _, u := range l.Undecided() {
			if !strings.HasSuffix(u, ")") {
				t.Errorf("%s: %s, and nothing says why", l.Name, u)
			}
		}
	}
}

// Everything that has a life has a beginning and an end.
func TestLifetimes(t *testing.T) {
	for _, l := range all(t) {
		for i := range l.Handles {
			name, h := l.Handles[i].Key, &l.Handles[i].Value
			if h.Undecided {
				t.Errorf("%s: nobody knows who makes and ends a %s", l.Name, name)
			}
			if len(h.Create)+len(h.Get)+len(h.Fixed) == 0 && h.Why == "" {
				t.Errorf("%s: nothing gives a %s, and nothing says why", l.Name, name)
			}
			if len(h.Destroy) == 0 && h.Owner == "" && !h.Lasting && h.Why == "" {
				t.Errorf("%s: nothing ends a %s, and nothing says why", l.Name, name)
			}
			for _, f := range h.Destroy {
				if slices.Contains(h.Create, f) || slices.Contains(h.Get, f) {
					t.Errorf("%s: %s makes and ends a %s", l.Name, f, name)
				}
			}
		}
	}
}

// Whatever gives an address of memory is named among those that do, with who takes
// it back.
func TestMemoryComesFromSomewhere(t *testing.T) {
	// These give an address that is there already.
	known := []string{
		"hipMemGetAddressRange", "hipTexRefGetAddress", // where something else has allocated
		"miopenGetDropoutDescriptor", // what the caller has given before
	}
	for _, l := range all(t) {
		from := known
		for i := range l.Memory {
			from = append(from, l.Memory[i].Value.Create...)
		}
		for i := range l.Functions {
			name, f := l.Functions[i].Key, &l.Functions[i].Value
			for j := range f.Params {
				p := &f.Params[j]
				if (p.Of == Device || p.Of == Host) && p.Dir == Out && !slices.Contains(from, name) && !getter.MatchString(name) {
					t.Errorf("%s: %s gives memory by %s, and is not named in memory", l.Name, name, p.Name)
				}
			}
		}
	}
}

// What rocSPARSE's descriptors were given is given back.
var getter = regexp.MustCompile(`^rocsparse_.*_get(_values)?$`)

// A call has a class; what queues says where, and a status has a value that says
// that nothing could be done.
func TestEveryFunctionHasAClass(t *testing.T) {
	for _, l := range all(t) {
		if l.Status.Unavailable == "" || l.Status.Invalid == "" {
			t.Errorf("%s: the status lacks a value", l.Name)
		}
		for i := range l.Functions {
			name, f := l.Functions[i].Key, &l.Functions[i].Value
			if f.Sync == "" || f.Sync == Unsorted {
				t.Errorf("%s: %s has no class", l.Name, name)
			}
			if f.Sync == Queue && f.Stream == "" {
				t.Errorf("%s: %s queues, and nothing says where", l.Name, name)
			}
			if returns := f.Returns.String(); returns != "void" && returns != l.Status.Type && f.Fails == "" && f.Answer == nil {
				t.Errorf("%s: nothing says what %s returns that cannot be done", l.Name, name)
			}
		}
	}
}

// Of everything that is written, and of everything that is read, somebody knows
// how much it is.
func TestEverythingHasASize(t *testing.T) {
	for _, l := range all(t) {
		s := newScope(l)
		check := func(owner, name string, declared Type, m *Meaning) {
			u := &undecided{scope: s, lib: l}
			bad := ""
			switch t := s.resolve(declared); {
			case m.As == Either && !u.measured(t, m):
				bad = "lies on either side and has no size"
			case m.As == Array && m.Count.IsZero() && m.Bytes.IsZero():
				bad = "is an array without a length"
			case m.Of == Array && m.Each == "":
				bad = "points to arrays without lengths"
			case m.As == One && m.Of == "" && m.Dir != In && strings.HasPrefix(declared.String(), "void"):
				bad = "is one of what has no size"
			}
			if bad != "" {
				t.Errorf("%s: %s of %s %s", l.Name, name, owner, bad)
			}
		}
		for i := range l.Functions {
			for j := range l.Functions[i].Value.Params {
				p := &l.Functions[i].Value.Params[j]
				check(l.Functions[i].Key, p.Name, p.Type, &p.Meaning)
			}
		}
		for i := range l.Records {
			for j := range l.Records[i].Value.Fields {
				f := &l.Records[i].Value.Fields[j]
				check(l.Records[i].Key, f.Name, f.Type, &f.Meaning)
			}
		}
	}
}

// A list was once taken for its first element, because a rule said so of all
// pointers to its type. Where a call takes a number of something and a pointer
// that is read, the pointer is that something, or is known here as one.
func TestListsAreNoSingles(t *testing.T) {
	count := regexp.MustCompile(`^(num.*|n[A-Z].*|.*[cC]ount|len|cuMaskSize)$`)
	number := func(l *Library, p *Param) bool {
		return !p.Type.IsPointer() && count.MatchString(p.Name) && newScope(l).number(p.Type)
	}
	// The number counts another parameter, or calls themselves.
	single := regexp.MustCompile(`:(p?[nN]odeParams|pMemsetParams|memsetParams|p?[cC]opyParams|desc|pMipmappedArrayDesc|info|descr|.*_?descr|options|location)$|` +
		`^amdhip64:hip(LaunchParams|Graph(Exec)?(Add)?Memcpy)`)
	for _, l := range all(t) {
		if l.Name != "amdhip64" && l.Name != "hiprtc" && l.Name != "MIOpen" && l.Name != "amd_smi" {
			continue // of the BLAS libraries numbers count rows and columns
		}
		for i := range l.Functions {
			name, f := l.Functions[i].Key, &l.Functions[i].Value
			if !slices.ContainsFunc(f.Params, func(p Param) bool { return number(l, &p) }) {
				continue
			}
			for j := range f.Params {
				if p := &f.Params[j]; p.As == One && p.Dir == In && !single.MatchString(l.Name+":"+name+":"+p.Name) {
					t.Errorf("%s: %s takes one %s by %s, and a number", l.Name, name, p.Type, p.Name)
				}
			}
		}
	}
}

// What HIP has twice: once for the default stream of the process, once for that of
// the thread.
func TestPerThreadNames(t *testing.T) {
	l := hip(t)
	n := 0
	for _, item := range l.Functions {
		name, f := item.Key, item.Value
		of, ok := strings.CutSuffix(name, "_spt")
		if !ok {
			continue
		}
		n++
		plain, there := l.Functions.Get(of)
		switch {
		case !there || f.Instead == nil || *f.Instead != (Instead{Of: of, Thread: true}):
			t.Errorf("%s is not found as %s", name, of)
		case f.Sync != plain.Sync || len(f.Params) != len(plain.Params):
			t.Errorf("%s does not do what %s does", name, of)
		case f.Lookup == "" && f.Default != StreamThread && f.Stream != StreamThread:
			t.Errorf("%s does not say that it works in the thread's stream", name)
		case plain.Default == StreamThread || plain.Stream == StreamThread:
			t.Errorf("%s works in the thread's stream", of)
		}
		for i := range f.Params {
			if p, q := f.Params[i], plain.Params[i]; p.Dir != q.Dir || p.As != q.As || p.Of != q.Of || p.Count.String() != q.Count.String() || p.Bytes.String() != q.Bytes.String() && p.Name == q.Name {
				t.Errorf("%s means %s otherwise than %s does", name, p.Name, of)
			}
		}
	}
	if n != 38 {
		t.Errorf("%d names for the thread's stream, not 38", n)
	}
	for _, c := range []struct {
		name    string
		version int
		thread  bool
		want    string
	}{
		{"hipMemcpy", 702, false, "hipMemcpy"}, {"hipMemcpy", 702, true, "hipMemcpy_spt"}, {"hipMalloc", 702, true, "hipMalloc"},
		{"hipGetDeviceProperties", 599, false, "hipGetDeviceProperties"}, {"hipGetDeviceProperties", 600, false, "hipGetDevicePropertiesR0600"},
		{"hipChooseDevice", 702, true, "hipChooseDeviceR0600"}, {"cudaMalloc", 702, false, ""},
	} {
		if got := l.Lookup(c.name, c.version, c.thread); got != c.want {
			t.Errorf("%s for %d, %v is %q, not %q", c.name, c.version, c.thread, got, c.want)
		}
	}
}

// HIP's comments call what is copied to an input, here and there.
func TestCopiesGoTheirWay(t *testing.T) {
	to, from := regexp.MustCompile(`^(dst|dest)([DH].*)?$`), regexp.MustCompile(`^src([DH].*)?$`)
	for _, f := range hip(t).Functions {
		for _, p := range f.Value.Params {
			if to.MatchString(p.Name) && p.Dir != "" && p.Dir != Out || from.MatchString(p.Name) && p.Dir != "" && p.Dir != In {
				t.Errorf("%s: %s is %s", f.Key, p.Name, p.Dir)
			}
		}
	}
}

// Every stream and event among the parameters of a call that queues has its part in
// the order.
func TestEventsHaveTheirPart(t *testing.T) {
	for _, l := range all(t) {
		s := newScope(l)
		for i := range l.Functions {
			name, f := l.Functions[i].Key, &l.Functions[i].Value
			if f.Sync != Queue {
				continue
			}
			for j := range f.Params {
				p := &f.Params[j]
				h := s.handles[s.resolve(p.Type).Base]
				if h == nil || h.Order == "" {
					continue
				}
				if f.Stream != p.Name && !slices.Contains(f.After, p.Name) && !slices.Contains(f.Marks, p.Name) {
					t.Errorf("%s: %s takes %s, and nothing says what for", l.Name, name, p.Name)
				}
			}
		}
	}
}

// Every state that decides something is set by somebody, or inside.
func TestStatesAreSet(t *testing.T) {
	// The attribute of a descriptor, which a call sets by its number.
	byAttribute := []string{"hipblasLtMatmulDesc_t.pointer_mode", "hipblasLtMatrixTransformDesc_t.pointer_mode"}
	// What the library decides when it makes a plan or a solution.
	inside := []string{"rocfft_plan.inputs", "rocfft_plan.outputs", "miopenSolution_t.size"}
	for _, l := range all(t) {
		s := newScope(l)
		set := map[string]bool{}
		for _, item := range l.Functions {
			f := item.Value
			for _, state := range f.Sets {
				name, rest := splitPath(state.Key)
				if p := f.param(name); p != nil {
					name = s.resolve(p.Type).Base
				}
				set[name+"."+rest] = true
			}
		}
		states := func(owner string, names []string) {
			for _, n := range names {
				if path := owner + "." + n; !set[path] && path != l.Status.Remembered && !slices.Contains(byAttribute, path) && !slices.Contains(inside, path) {
					t.Errorf("%s: nothing sets %s", l.Name, path)
				}
			}
		}
		states("thread", l.Thread.Keys())
		for i := range l.Handles {
			states(l.Handles[i].Key, l.Handles[i].Value.States.Keys())
		}
	}
}

// What is bound to the caller's machine is what the names say.
func TestBound(t *testing.T) {
	l := hip(t)
	words := regexp.MustCompile(`GL|Graphics|External|Shareable|HandleForAddressRange|Managed|HostRegister|HostGetDevicePointer|AttachMem|ModuleLoad$|FromFile|AddFile|DotPrint`)
	bound := slices.DeleteFunc(slices.Clone(l.Functions), func(f yamlx.Item[Function]) bool { return f.Value.Bound == "" })
	for _, f := range l.Functions {
		if words.MatchString(f.Key) != (f.Value.Bound != "") {
			t.Errorf("%s is bound to %q", f.Key, f.Value.Bound)
		}
	}
	if len(bound) != 37 {
		t.Errorf("%d calls are bound to the caller's machine, and 37 were", len(bound))
	}
}

// What is read through a pointer that C lets write is known here: comments call
// many an output an input, and its contents would never come back.
func TestWhatIsReadAndCouldBeWritten(t *testing.T) {
	known := regexp.MustCompile(`^(` + strings.Join([]string{
		`MIOpen:miopenGetRNN(Hidden|Input)TensorSize:xDesc`,
		`amd_smi:.*:(cper_buffer|r_mask|processor_handles|processor_count|dfc_ctrl)`,
		`amdhip64:.*:(launchParamsList|resources|libraryOptions|libraryOptionValues|options|optionValues|mapInfoList|opList|paramArray|device_arr)`,
		`amdhip64:hip(Drv)?(Graph.*SetParams:p?[nN]odeParams|PointerGetAttributes:(attributes|data)|MemRangeGetAttributes:(data|data_sizes|attributes))`,
		`amdhip64:(__hipRegisterManagedVar:init_value|hipLinkAddData:data|hipMemPoolGetAccess:location|hipMemPoolImportPointer:export_data|hipMemPoolSetAttribute:value)`,
		`amdhip64:hip(Memcpy3DPeer(Async)?:p|MemcpyBatchAsync:(dsts|srcs|sizes)|MipmappedArrayCreate:pMipmappedArrayDesc|StreamUpdateCaptureDependencies:dependencies|TexRefSetBorderColor:pBorderColor)`,
		`hipfft:hipfft.*(Many|Many64|SetGPUs):(n|inembed|onembed|gpus)`,
		`hiprtc:hiprtcLink.*:(image|options_ptr|option_values|option_ptr|option_vals_pptr)`,
		`rocblas:rocblas_pointer_to_mode:ptr`,
		`rocfft:rocfft_execute:(in|out)_buffer`,
	}, "|") + `)$`)
	for _, l := range all(t) {
		s := newScope(l)
		for _, f := range l.Functions {
			for _, p := range f.Value.Params {
				at := l.Name + ":" + f.Key + ":" + p.Name
				if (p.As == One || p.As == Array || p.As == Either) && p.Dir == In && !s.resolve(p.Type).Pointee().IsConst() && !known.MatchString(at) {
					t.Errorf("%s of type %s is only read", at, p.Type)
				}
			}
		}
	}
}
