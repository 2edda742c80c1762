package stub

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/remote/api"
)

// everyCall is a program that calls each function of a library with zeros, and
// prints of each what it returned, when that is a number.
func everyCall(l *api.Library) string {
	var b strings.Builder
	var calls []string
	for i := range l.Functions {
		name, f := l.Functions[i].Key, &l.Functions[i].Value
		if f.Link != "" { // it is not declared yet
			fmt.Fprintf(&b, "%s%s(%s) __asm__(%q);\n", spaced(f.Returns), name, parameters(f.Params, false, f.Variadic), f.Link)
		}
		fmt.Fprintf(&b, "static void call_%d(void) {\n", i)
		var args []string
		for j := range f.Params {
			arg := "a" + strconv.Itoa(j)
			fmt.Fprintf(&b, "    %s; memset((void *)&%s, 0, sizeof %s);\n", f.Params[j].Type.Declare(arg, cName), arg, arg)
			args = append(args, arg)
		}
		call := name + "(" + strings.Join(args, ", ") + ")"
		if f.Returns.String() == "void" || isRecord(l, f.Returns) {
			fmt.Fprintf(&b, "    %s; puts(%q);\n}\n", call, name+" -")
		} else {
			fmt.Fprintf(&b, "    printf(%q, (long long)%s);\n}\n", name+" %lld\n", call)
		}
		calls = append(calls, fmt.Sprintf("    call_%d();\n", i))
	}
	return b.String() + "int main(void) {\n" + strings.Join(calls, "") + "}\n"
}

func isRecord(l *api.Library, typ api.Type) bool {
	t := l.Resolve(typ)
	return !t.IsPointer() && l.Kind(t.Base) == api.KindRecord
}

// answered is what a function answers to zeros by its description, "" for what
// has its own code, or a text.
func answered(t *testing.T, l *api.Library, name string, f *api.Function) string {
	t.Helper()
	value := string(f.Fails)
	switch a := f.Answer; {
	case f.Returns.String() == "void" || isRecord(l, f.Returns):
		return "-"
	case a != nil && a.Set == nil:
		return ""
	case a != nil:
		value = string(a.Returns)
		status := f.Returns.String() == l.Status.Type
		if value == "" && status {
			value = l.Status.Success
		}
		for _, s := range a.Set {
			for i := range f.Params {
				if p := &f.Params[i]; p.Name == s.Key && status && !p.Optional && l.Status.Invalid != "" {
					value = l.Status.Invalid
				}
			}
		}
	case value == "":
		value = l.Status.Unavailable
	}
	if value == "zero" || value == "" {
		return "0"
	}
	if _, err := strconv.ParseInt(value, 0, 64); err == nil {
		return value
	}
	e, ok := l.Enum(l.Resolve(f.Returns).Base)
	if !ok {
		t.Fatalf("%s: %s is no number", name, value)
	}
	n, ok := e.Values.Get(value)
	if !ok {
		t.Fatalf("%s: there is no %s", name, value)
	}
	return strconv.FormatInt(n, 10)
}

// Each function of each library is called, with null pointers and zeros: it answers
// what its description says, ends nothing, says once that there is no device, and is
// seen in a trace.
func TestEveryCall(t *testing.T) {
	for _, name := range api.Libraries() {
		t.Run(name, func(t *testing.T) {
			l := load(t, name)
			bin := compile(t, l, everyCall(l))
			out, errs := run(t, bin)
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if len(lines) != len(l.Functions) {
				t.Fatalf("%d calls of %d functions", len(lines), len(l.Functions))
			}
			own := 0
			for i := range l.Functions {
				f := &l.Functions[i]
				want := answered(t, l, f.Key, &f.Value)
				if want == "" {
					own++
				} else if lines[i] != f.Key+" "+want {
					t.Errorf("%s, want %s", lines[i], want)
				}
			}
			if own > 30 {
				t.Errorf("%d functions answer what nobody knows", own)
			}
			if !strings.HasPrefix(errs, "lib"+name+": this is a link stub, no device can be reached: ") || strings.Count(errs, "\n") != 1 {
				t.Errorf("it says\n%s", errs)
			}
			traced, errs := run(t, bin, "STONEMASON_STUB_TRACE=1")
			if !strings.HasPrefix(traced, lines[0]) || strings.Count(traced, "\n") != len(lines) {
				t.Error("traced it prints something else")
			}
			calls := 0
			for line := range strings.Lines(errs) {
				if calls < len(l.Functions) && strings.HasPrefix(line, "lib"+name+": "+l.Functions[calls].Key+"(") {
					calls++
				} else if !strings.Contains(line, "this is a link stub") {
					t.Errorf("the trace has %q", line)
				}
			}
			if calls != len(l.Functions) {
				t.Errorf("the trace has no call of %s", l.Functions[calls].Key)
			}
		})
	}
}

// What AMD SMI says of each status, the stub says too; what it answers where no
// driver is, the library itself was asked on such a machine.
func TestStatusesOfAMDSMI(t *testing.T) {
	l := load(t, "amd_smi")
	f, err := os.Open("testdata/errors-amd_smi.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var asked, want strings.Builder
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if n, _, ok := strings.Cut(lines.Text(), " "); ok && n != "#" {
			fmt.Fprintf(&asked, "    say(%sU);\n", n)
			want.WriteString(lines.Text() + "\n")
		}
	}
	want.WriteString("init 34\nsockets 32 77\nversion 0 27 1 0 27.1.0\nshut down 0\nnull 1 1\n")
	out, errs := run(t, compile(t, l, `
static void say(unsigned n) {
    const char *text = 0;
    unsigned status = amdsmi_status_code_to_string((amdsmi_status_t)n, &text);
    printf("%u %u %s\n", n, status, text);
}
int main(void) {
`+asked.String()+`
    amdsmi_version_t v;
    uint32_t n = 77;
    printf("init %d\n", amdsmi_init(2));
    printf("sockets %d", amdsmi_get_socket_handles(&n, 0)); printf(" %u\n", n);
    printf("version %d", amdsmi_get_lib_version(&v)); printf(" %u %u %u %s\n", v.major, v.minor, v.release, v.build);
    printf("shut down %d\n", amdsmi_shut_down());
    printf("null %d %d\n", amdsmi_get_lib_version(0), amdsmi_status_code_to_string(0, 0));
}`))
	if out != want.String() {
		t.Errorf("the stub says\n%s\nand the library\n%s", out, want.String())
	}
	if !strings.Contains(errs, "amdsmi_init answers AMDSMI_STATUS_DRIVER_NOT_LOADED") {
		t.Errorf("it says %q", errs)
	}
}
