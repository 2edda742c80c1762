package launchfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// Every number of 16 bits is decoded to what its format says and encoded to itself;
// what lies between two goes to the nearer, and to the even one from the middle.
func TestSmallFloats(t *testing.T) {
	for _, typ := range []Type{F16, BF16} {
		last := math.Inf(-1)
		for u := range 1 << 15 {
			b := binary.LittleEndian.AppendUint16(nil, uint16(u))
			f := typ.decode(b).float()
			if math.IsNaN(f) {
				continue
			}
			if f <= last {
				t.Fatalf("%s: 0x%04x is %g, and the one below %g", typ, u, f, last)
			}
			if got := typ.encode(nil, floating(f)); !bytes.Equal(got, b) {
				t.Fatalf("%s: %g is encoded as %x, want %x", typ, f, got, b)
			}
			if u > 0 && !math.IsInf(f, 0) {
				even := u &^ 1
				if even < u {
					even = u - 1
				}
				if u&1 == 0 {
					even = u
				}
				got := binary.LittleEndian.Uint16(typ.encode(nil, floating(last/2+f/2)))
				if want := uint16(even); got != want {
					t.Fatalf("%s: between 0x%04x and the one below: 0x%04x, want 0x%04x", typ, u, got, want)
				}
			}
			last = f
		}
	}
	for _, c := range []struct {
		t    Type
		f    float64
		want uint16
	}{{F16, 1, 0x3c00}, {F16, -2, 0xc000}, {F16, 65504, 0x7bff}, {F16, 65520, 0x7c00}, {F16, 0x1p-24, 1}, {F16, 0x1p-26, 0}, {F16, math.Inf(-1), 0xfc00}, {F16, math.NaN(), 0x7e00}, {F16, math.Copysign(0, -1), 0x8000},
		{BF16, 1, 0x3f80}, {BF16, 3.3895313892515355e38, 0x7f7f}, {BF16, math.MaxFloat64, 0x7f80}, {BF16, 5e-324, 0}} {
		if got := binary.LittleEndian.Uint16(c.t.encode(nil, floating(c.f))); got != c.want {
			t.Errorf("%s of %g: 0x%04x, want 0x%04x", c.t, c.f, got, c.want)
		}
	}
}

func TestParseNumber(t *testing.T) {
	for _, c := range []struct {
		t          Type
		text, want string
	}{
		{I32, "-1", "ffffffff"}, {I32, "0xffffffff", "ffffffff"}, {U8, "255", "ff"}, {I8, "-128", "80"}, {U64, "18446744073709551615", "ffffffffffffffff"},
		{I64, "-9223372036854775808", "0000000000000080"}, {F32, "2.5", "00002040"}, {F32, ".inf", "0000807f"}, {F32, "-inf", "000080ff"}, {F64, ".nan", "010000000000f87f"},
		{F64, "0x10", "0000000000003040"}, {F64, "0x1.8p1", "0000000000000840"}, {F16, "1e-3", "1914"}, {F32, "3e38", "e6b1617f"},
		{I8, "128", "!128 does not fit i8: from -128 to 127"}, {U8, "-1", "!-1 does not fit u8: from 0 to 255"}, {I32, "0x100000000", "!0x100000000 does not fit i32"},
		{I32, "2.5", "!is not a whole number"}, {F32, "1e39", "!1e39 does not fit f32"}, {F16, "70000", "!does not fit f16"}, {F32, "ten", "!is not a number"}, {F32, "1_000", "!is not a number"}, {U32, "0x", "!is not"}, {I32, "--1", "!is not"}, {U64, "18446744073709551616", "!"},
	} {
		b, err := c.t.parse(c.text)
		switch fails := strings.HasPrefix(c.want, "!"); {
		case fails && (err == nil || !strings.Contains(err.Error(), c.want[1:])):
			t.Errorf("%s %s: %x, %v; want %s", c.t, c.text, b, err, c.want)
		case !fails && (err != nil || hexOf(b) != c.want):
			t.Errorf("%s %s: %s, %v; want %s", c.t, c.text, hexOf(b), err, c.want)
		}
	}
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	for _, x := range b {
		s.WriteByte(digits[x>>4])
		s.WriteByte(digits[x&15])
	}
	return s.String()
}

func TestDistance(t *testing.T) {
	one := func(typ Type, text string) []byte {
		b, err := typ.parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct {
		t         Type
		got, want string
		ulp       float64
	}{
		{F32, "1", "1", 0}, {F32, "1.00000011920929", "1", 1}, {F32, "0.99999994", "1", 0.5}, {F32, "-0", "0", 0}, {F32, "nan", "nan", 0}, {F32, "nan", "1", math.Inf(1)},
		{F32, "inf", "inf", 0}, {F32, "-inf", "inf", math.Inf(1)}, {F32, "1e-45", "0", 1}, {F32, "4e-45", "1e-45", 2}, {F64, "5e-324", "0", 1}, {F64, "1.0000000000000002", "1", 1},
		{F64, "-1.7976931348623157e308", "1.7976931348623157e308", 1<<54 - 2}, {F16, "1.001", "1", 1}, {BF16, "1.0078125", "1", 1},
		{I32, "-5", "7", 12}, {U64, "18446744073709551615", "0", math.MaxUint64}, {I64, "-9223372036854775808", "9223372036854775807", math.MaxUint64}, {U8, "3", "3", 0},
	} {
		if ulp, _ := c.t.distance(one(c.t, c.got), one(c.t, c.want)); ulp != c.ulp {
			t.Errorf("%s: from %s to %s: %g ulp, want %g", c.t, c.got, c.want, ulp, c.ulp)
		}
	}
}

func TestExpressions(t *testing.T) {
	f32s := F32.encode(F32.encode(F32.encode(nil, floating(1.5)), floating(-2)), floating(7))
	bytes8 := []byte{200, 3, 5}
	e := func() *env {
		return &env{ctx: context.Background(), n: 3, steps: maxSteps - 100, args: map[string]*operand{
			"x": {typ: F32, data: f32s}, "b": {typ: U8, data: bytes8}, "a": {value: floating(2.5), typ: F32}, "k": {value: integer(-7), typ: I32},
			"big": {typ: U64, data: U64.encode(nil, number{unsigned, math.MaxUint64})},
		}}
	}
	for _, c := range []struct {
		text string
		i    int64
		want string
	}{
		{"i", 2, "2"}, {"n - i", 2, "1"}, {"2.5*x + b", 1, "-2"}, {"a*x[0]", 1, "3.75"}, {"x[n-1-i]", 0, "7"}, {"k/2", 0, "-3"}, {"k%4", 0, "-3"}, {"k>>1", 0, "-4"}, {"k/2.0", 0, "-3.5"},
		{"u32(k)", 0, "4294967289"}, {"i8(200)", 0, "-56"}, {"u8(300.7)", 0, "44"}, {"i32(-2.9)", 0, "-2"}, {"f32(0.1) == 0.1", 0, "0"}, {"f16(2049)", 0, "2048"}, {"u64(1)<<63 > 5", 0, "1"}, {"1<<63 < 5", 0, "1"},
		{"18446744073709551615 / 2", 0, "9223372036854775807"}, {"0xffffffff ^ 0xff00", 0, "4294902015"}, {"^0", 0, "-1"}, {"5 &^ 4", 0, "1"}, {"1<<70", 0, "0"}, {"!x", 0, "0"}, {"i < 2 && x > 0", 1, "0"}, {"i < 2 || x > 0", 1, "1"},
		{"sum(j, 0, n, b[j])", 0, "208"}, {"sum(j, 0, 3, sum(m, 0, j, m))", 0, "1"}, {"sum(j, 3, 3, 1)", 0, "0"}, {"maximum(j, 0, n, x[j])", 0, "7"}, {"minimum(j, 0, n, x[j])", 0, "-2"}, {"sum(j, 0, n, x[j])", 0, "6.5"},
		{"when(i > 1, 10, 20)", 2, "10"}, {"when(0, 1/0, 3)", 0, "3"}, {"min(k, 3)", 0, "-7"}, {"max(2, 2.5)", 0, "2.5"}, {"abs(k) + abs(-1.5)", 0, "8.5"}, {"fma(2, 3, 4)", 0, "10"}, {"pow(2, 10)", 0, "1024"}, {"sqrt(16)", 0, "4"}, {"popcount(255)", 0, "8"},
		{"1/0.0 == inf", 0, "1"}, {"nan == nan", 0, "0"}, {"nan != 1", 0, "1"}, {"cos(pi)", 0, "-1"}, {"-k", 0, "7"}, {"big[0] > 1", 0, "1"}, {"rint(2.5)", 0, "2"}, {"atan2(0, 1) + hypot(3, 4)", 0, "5"}, {"copysign(1, k)", 0, "-1"}, {"1 + 2 * 3 % 4", 0, "3"},
		{"x[3]", 0, "!x[3] is outside of its 3 elements"}, {"x", 3, "!outside"}, {"x[-1]", 0, "!x[-1] is outside"}, {"x[0.5]", 0, "!an index is a whole number"}, {"a[0]", 0, "!a is a value"}, {"1/0", 5, "!division by zero for i = 5"}, {"k%(i-i)", 0, "!division by zero"}, {"1.5 & 1", 0, "!& of a number with a fraction"},
		{"^1.5", 0, "!^ of a number"}, {"sum(j, 0, 1.5, j)", 0, "!whole numbers"}, {"sum(j, 0, 1<<40, 1)", 0, "!more than"},
	} {
		x, err := compileExpression(c.text)
		var v number
		if err == nil {
			v, err = x.at(e(), c.i)
		}
		got := ""
		switch {
		case err != nil:
			got = "!" + err.Error()
		case v.kind == float:
			got = F64.text(F64.encode(nil, v))
		case v.kind == unsigned:
			got = U64.text(U64.encode(nil, v))
		default:
			got = I64.text(I64.encode(nil, v))
		}
		if fails := c.want[0] == '!'; fails && (got[0] != '!' || !strings.Contains(got, c.want[1:])) || !fails && got != c.want {
			t.Errorf("%s for i = %d: %s, want %s", c.text, c.i, got, c.want)
		}
	}
}

func TestBadExpressions(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "expected operand",
		"1 +":                            "column 4 of the expression: expected operand",
		"x[1:2]":                         "column 1 of the expression: only numbers, names",
		`"text"`:                         "is not a number",
		"1i":                             "is not a number",
		"func() {}":                      "only numbers",
		"f.g(1)":                         "only functions are called",
		"sine(1)":                        "there is no function sine",
		"sqr(4)":                         `did you mean "sqrt"?`,
		"sqrt(1, 2)":                     "sqrt: found 2 arguments, expected 1",
		"when(1, 2)":                     "when: found 2",
		"sum(1, 2, 3, 4)":                "column 5 of the expression: the first argument of sum is a name",
		"sum(k, 2, 3)":                   "sum: expected 4 arguments",
		"<-x":                            "is not understood",
		"*x":                             "only numbers",
		"99999999999999999999":           "does not fit 64 bits",
		"1e999":                          "does not fit f64",
		strings.Repeat("1+", 4000) + "1": "at most 4096",
		strings.Repeat("sum(k,0,1,", 9) + "1" + strings.Repeat(")", 9): "more than 8 sums",
		"sum(k, 0, 3, k[0])": "only a buffer has elements",
	} {
		if _, err := compileExpression(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v; want %s", text, err, want)
		}
	}
}

func FuzzExpression(f *testing.F) {
	for _, s := range []string{"2.5*x + y", "sum(k, 0, n, x[k])", "when(i%2 == 0, -x, ^i)", "f16(1)/u8(3)", "((((1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		x, err := compileExpression(text)
		if err != nil {
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // so that sums end soon
		e := &env{ctx: ctx, n: 1, args: map[string]*operand{}}
		for _, name := range x.uses {
			e.args[name] = &operand{typ: F32, data: make([]byte, 8)}
		}
		_, _ = x.at(e, 0)
	})
}
