package codeobj

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
)

// show writes a value in a form that a table can hold.
func show(v *Value) string {
	switch v.Kind {
	case KindNil:
		return "nil"
	case KindBool:
		return fmt.Sprint(v.Bool)
	case KindInt:
		return fmt.Sprint(v.Int)
	case KindUint:
		return fmt.Sprintf("+%d", v.Uint)
	case KindFloat:
		return fmt.Sprintf("%gf", v.Float)
	case KindString:
		return fmt.Sprintf("%q", v.Bytes)
	case KindBinary:
		return fmt.Sprintf("bin%x", v.Bytes)
	case KindExt:
		return fmt.Sprintf("ext%d:%x", v.Int, v.Bytes)
	case KindArray:
		var parts []string
		for i := range v.Array {
			parts = append(parts, show(&v.Array[i]))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case KindMap:
		var parts []string
		for i := range v.Map {
			parts = append(parts, v.Map[i].Key+"="+show(&v.Map[i].Value))
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return v.Kind.String()
}

// The encodings are those of the MessagePack specification, one of each format.
var encodings = []struct{ data, want string }{
	{"\x00", "+0"}, {"\x7f", "+127"}, {"\xe0", "-32"}, {"\xff", "-1"},
	{"\xc0", "nil"}, {"\xc2", "false"}, {"\xc3", "true"},
	{"\xcc\xff", "+255"}, {"\xcd\x01\x00", "+256"}, {"\xce\xff\xff\xff\xff", "+4294967295"},
	{"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", fmt.Sprintf("+%d", uint64(math.MaxUint64))},
	{"\xd0\x80", "-128"}, {"\xd0\x05", "+5"}, {"\xd1\xff\x00", "-256"}, {"\xd2\x80\x00\x00\x00", "-2147483648"},
	{"\xd3\x80\x00\x00\x00\x00\x00\x00\x00", fmt.Sprint(math.MinInt64)},
	{"\xca\x3f\xc0\x00\x00", "1.5f"}, {"\xcb\xbf\xf8\x00\x00\x00\x00\x00\x00", "-1.5f"},
	{"\xa0", `""`}, {"\xa2hi", `"hi"`}, {"\xd9\x02hi", `"hi"`}, {"\xda\x00\x02hi", `"hi"`}, {"\xdb\x00\x00\x00\x02hi", `"hi"`},
	{"\xc4\x01\xfe", "binfe"}, {"\xc5\x00\x01\xfe", "binfe"}, {"\xc6\x00\x00\x00\x01\xfe", "binfe"},
	{"\xd4\x07\xaa", "ext7:aa"}, {"\xd5\xff\xaa\xbb", "ext-1:aabb"}, {"\xd6\x01aaaa", "ext1:61616161"},
	{"\xd7\x01aaaaaaaa", "ext1:6161616161616161"}, {"\xd8\x01aaaaaaaaaaaaaaaa", "ext1:61616161616161616161616161616161"},
	{"\xc7\x01\x05\xaa", "ext5:aa"}, {"\xc8\x00\x01\x05\xaa", "ext5:aa"}, {"\xc9\x00\x00\x00\x01\x05\xaa", "ext5:aa"},
	{"\x90", "[]"}, {"\x93\x01\xc0\xa1x", `[+1 nil "x"]`}, {"\xdc\x00\x02\x01\x02", "[+1 +2]"}, {"\xdd\x00\x00\x00\x01\x91\x01", "[[+1]]"},
	{"\x80", "{}"}, {"\x82\xa1a\x01\xa1b\x90", "{a=+1 b=[]}"}, {"\xde\x00\x01\xa1a\x80", "{a={}}"}, {"\xdf\x00\x00\x00\x01\xa0\xc3", "{=true}"},
}

func TestDecodeMsgpack(t *testing.T) {
	for _, c := range encodings {
		v, err := DecodeMsgpack([]byte(c.data))
		if got := show(&v); err != nil || got != c.want {
			t.Errorf("%x: %s, %v; want %s", c.data, got, err, c.want)
		}
		// No prefix of a value is a value.
		for i := range len(c.data) {
			if _, err := DecodeMsgpack([]byte(c.data[:i])); err == nil {
				t.Errorf("%x: its first %d bytes are accepted", c.data, i)
			}
		}
		if _, err := DecodeMsgpack([]byte(c.data + "\x00")); err == nil || !strings.Contains(err.Error(), "follow the value") {
			t.Errorf("%x and a byte more: %v", c.data, err)
		}
	}
}

func TestDecodeMsgpackRefuses(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"reserved", "\xc1", "0xc1"},
		{"deep", strings.Repeat("\x91", 40) + "\x00", "nested deeper"},
		{"huge array", "\xdd\xff\xff\xff\xff\x00", "announced"},
		{"huge map", "\xdf\xff\xff\xff\xff\x00\x00", "announced"},
		{"huge string", "\xdb\xff\xff\xff\xffx", "are wanted"},
		{"number as key", "\x81\x01\x02", "not a string"},
		{"key twice", "\x82\xa1a\x01\xa1a\x02", "twice"},
		{"too many", "\xdd\x00\x20\x00\x00" + strings.Repeat("\x00", 1<<21), "more than"},
	} {
		if _, err := DecodeMsgpack([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one that says %q", c.name, err, c.want)
		}
	}
	if _, err := DecodeMsgpack(make([]byte, maxMsgpackBytes+1)); err == nil {
		t.Error("more bytes than allowed are accepted")
	}
}

// encode writes maps, arrays, strings, numbers and bools as metadata has them.
func encode(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case string:
		fmt.Fprintf(b, "\xd9%c%s", rune(len(v)), v)
	case int:
		fmt.Fprintf(b, "\xce%s", []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
	case bool:
		b.WriteByte(map[bool]byte{false: 0xc2, true: 0xc3}[v])
	case []any:
		b.WriteByte(0x90 | byte(len(v)))
		for _, e := range v {
			encode(b, e)
		}
	case map[string]any:
		b.Write([]byte{0xde, 0, byte(len(v))})
		for k, e := range v {
			encode(b, k)
			encode(b, e)
		}
	}
}

// note makes the metadata of one kernel with one argument, changed as told; a
// nil takes a key away.
func note(kernel, arg map[string]any) []byte {
	merge := func(base, change map[string]any) map[string]any {
		for k, v := range change {
			if base[k] = v; v == nil {
				delete(base, k)
			}
		}
		return base
	}
	a := merge(map[string]any{".offset": 0, ".size": 8, ".value_kind": "global_buffer"}, arg)
	k := merge(map[string]any{
		".name": "k", ".symbol": "k.kd", ".kernarg_segment_size": 8, ".kernarg_segment_align": 8,
		".group_segment_fixed_size": 0, ".private_segment_fixed_size": 0, ".wavefront_size": 64,
		".sgpr_count": 8, ".vgpr_count": 4, ".max_flat_workgroup_size": 1024, ".args": []any{a},
	}, kernel)
	var b bytes.Buffer
	encode(&b, map[string]any{"amdhsa.version": []any{1, 2}, "amdhsa.kernels": []any{k}})
	return b.Bytes()
}

func TestParseMetadata(t *testing.T) {
	if m, err := ParseMetadata(note(nil, nil)); err != nil || len(m.Kernels) != 1 || m.Kernels[0].Args[0].Size != 8 {
		t.Fatalf("%+v, %v", m, err)
	}
	for _, c := range []struct {
		name string
		note []byte
		want string
	}{
		{"no name", note(map[string]any{".name": nil}, nil), ".name is missing"},
		{"empty name", note(map[string]any{".name": ""}, nil), "no name"},
		{"number as name", note(map[string]any{".name": 3}, nil), "amdhsa.kernels: [0]: .name: a number where a string"},
		{"wavefront", note(map[string]any{".wavefront_size": 63}, nil), "neither 32 nor 64"},
		{"alignment", note(map[string]any{".kernarg_segment_align": 12}, nil), "no power of two"},
		{"argument outside", note(nil, map[string]any{".offset": 4}), "argument 0: 8 bytes at 4"},
		{"argument kind", note(nil, map[string]any{".value_kind": nil}), ".value_kind is missing"},
		{"work-group", note(map[string]any{".reqd_workgroup_size": []any{1, 2}}, nil), "want x, y and z"},
		{"flag", note(map[string]any{".uses_dynamic_stack": 1}, nil), "true or false"},
		{"list of kernels", []byte("\x82\xaeamdhsa.version\x92\x01\x02\xaeamdhsa.kernels\x01"), "an array is wanted"},
		{"version", []byte("\x82\xaeamdhsa.version\x92\x02\x00\xaeamdhsa.kernels\x90"), "only 1.x"},
		{"not a map", []byte("\x90"), "a map is wanted"},
	} {
		if _, err := ParseMetadata(c.note); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one that says %q", c.name, err, c.want)
		}
	}
}

func FuzzMsgpack(f *testing.F) {
	for _, c := range encodings {
		f.Add([]byte(c.data))
	}
	f.Add(note(nil, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := DecodeMsgpack(data)
		if err == nil && len(show(&v)) == 0 {
			t.Error("a value shows as nothing")
		}
		if m, err := ParseMetadata(data); err == nil {
			for _, k := range m.Kernels {
				for _, a := range k.Args {
					if a.Offset+a.Size > k.KernargSegmentSize {
						t.Errorf("argument %+v outside of %d bytes", a, k.KernargSegmentSize)
					}
				}
			}
		}
	})
}
