package launchfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// TemplateElements is how many elements a buffer of a template has; its grid has as
// many work-items.
const TemplateElements = 1024

// Template writes a launch file to start from: one launch of each kernel of a code
// object, or of the one that is named, with its arguments by what metadata and mangled
// name say of them. It can be run as it is where kernels stay within buffers of
// TemplateElements; what they compute is shown, not checked. An error says that there is
// no such kernel, or none at all.
func Template(obj *codeobj.Object, kernel, device string) ([]byte, error) {
	kernels := obj.Kernels
	if kernel != "" {
		k, err := obj.FindKernel(kernel)
		if err != nil {
			return nil, err
		}
		kernels = []codeobj.LoadedKernel{*k}
	}
	if len(kernels) == 0 {
		return nil, errors.New("there is no kernel in the code object")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "schema: 1\ndevice: %s\nlaunches:\n", device)
	for i := range kernels {
		k := &kernels[i]
		sig := codeobj.SignatureOf(k.Name)
		if sig.Full != k.Name {
			fmt.Fprintf(&b, "  # %s\n", oneLine(sig.Full))
		}
		block, items := templateBlock(k)
		fmt.Fprintf(&b, "  - kernel: %s\n    grid: %d\n    block: %s\n", quoted(k.Name), max(1, (TemplateElements+items-1)/items), block)
		explicit := k.Explicit()
		if len(explicit) == 0 {
			continue
		}
		b.WriteString("    args:\n")
		for n, a := range explicit {
			cpp := ""
			if len(sig.Params) == len(explicit) {
				cpp = sig.Params[n]
			}
			fmt.Fprintf(&b, "      - %s\n", templateArg(a, cpp, n))
		}
	}
	return []byte(b.String()), nil
}

// templateBlock is the size of a work-group that the kernel was compiled for, or 256.
func templateBlock(k *codeobj.LoadedKernel) (text string, items uint64) {
	if d := k.ReqdWorkgroupSize; len(d) == 3 {
		return fmt.Sprintf("[%d, %d, %d]", d[0], d[1], d[2]), max(1, d[0]*d[1]*d[2])
	}
	items = 256
	if k.MaxFlatWorkgroupSize > 0 {
		items = min(items, k.MaxFlatWorkgroupSize)
	}
	return fmt.Sprint(items), items
}

func templateArg(a codeobj.Arg, cpp string, n int) string {
	name := a.Name
	if name == "" || !isName(name) {
		name = fmt.Sprintf("arg%d", n)
	}
	note := ""
	if cpp != "" {
		note = " # " + oneLine(cpp)
	}
	if a.ValueKind == "global_buffer" {
		to, _ := pointee(cpp)
		fill, more := "expr: i", ""
		t := typeOf(to)
		if t == "" { // void, a structure, or a kernel whose name does not say it
			more, note = ", type: u32", note+" # say what its elements are"
		}
		if !strings.HasSuffix(strings.TrimSpace(to), "const") {
			note += " # add expect: for what it holds afterwards"
		}
		return fmt.Sprintf("{name: %s%s, count: %d, %s}%s", name, more, TemplateElements, fill, note)
	}
	switch t := typeOf(cpp); {
	case t != "":
		value := "1"
		if !t.Float() && t.Size() >= 4 {
			value = fmt.Sprint(TemplateElements) // most often how many there are
		}
		return fmt.Sprintf("{name: %s, value: %s}%s", name, value, note)
	case cpp == "" && (a.Size == 4 || a.Size == 8):
		return fmt.Sprintf("{name: %s, type: i%d, value: %d} # or f%d", name, 8*a.Size, TemplateElements, 8*a.Size)
	default:
		return fmt.Sprintf("{name: %s, bytes: \"%s\"}%s", name, strings.Repeat("00", int(a.Size)), note)
	}
}

// isName reports what the key name takes.
func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// oneLine keeps a text of the code object within a comment.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0xfeff || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// quoted writes a kernel's name, which may hold anything, as YAML.
func quoted(s string) string {
	if isName(s) {
		return s
	}
	return "'" + strings.ReplaceAll(oneLine(s), "'", "''") + "'"
}
