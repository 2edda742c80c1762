package launchfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Type is that of a value or of the elements of a buffer: f16, bf16, f32, f64, i8 to
// i64 and u8 to u64. The empty type is not known.
type Type string

// The types.
const (
	F16  Type = "f16"
	BF16 Type = "bf16"
	F32  Type = "f32"
	F64  Type = "f64"
	I8   Type = "i8"
	I16  Type = "i16"
	I32  Type = "i32"
	I64  Type = "i64"
	U8   Type = "u8"
	U16  Type = "u16"
	U32  Type = "u32"
	U64  Type = "u64"
)

func types() []Type { return []Type{F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64} }

// Values lists the types, for the decoder.
func (t Type) Values() []string {
	var names []string
	for _, x := range types() {
		names = append(names, string(x))
	}
	return names
}

// Size returns the bytes of a value; 0 when the type is not known.
func (t Type) Size() int {
	switch t {
	case I8, U8:
		return 1
	case F16, BF16, I16, U16:
		return 2
	case F32, I32, U32:
		return 4
	case F64, I64, U64:
		return 8
	}
	return 0
}

// Float reports a type with fractions.
func (t Type) Float() bool { return t == F16 || t == BF16 || t == F32 || t == F64 }

func (t Type) signed() bool { return t != "" && t[0] == 'i' }

// format of a floating-point type: bits of the fraction, smallest exponent of a
// normal number.
func (t Type) format() (fraction, low int) {
	switch t {
	case F16:
		return 10, -14
	case BF16:
		return 7, -126
	case F32:
		return 23, -126
	}
	return 52, -1022
}

// typeOf reads a type as C++ names it, such as "float" or "unsigned long"; the
// empty type when it is none of these.
func typeOf(c string) Type {
	words := strings.Fields(c)
	words = slices.DeleteFunc(words, func(w string) bool {
		return w == "const" || w == "volatile" || w == "restrict" || w == "__restrict" || w == "__restrict__"
	})
	switch strings.Join(words, " ") {
	case "float":
		return F32
	case "double":
		return F64
	case "_Float16", "__fp16", "half":
		return F16
	case "__bf16", "std::bfloat16_t":
		return BF16
	case "signed char", "char":
		return I8
	case "unsigned char", "bool", "char8_t", "std::byte":
		return U8
	case "short":
		return I16
	case "unsigned short", "char16_t":
		return U16
	case "int", "wchar_t":
		return I32
	case "unsigned int", "char32_t":
		return U32
	case "long", "long long":
		return I64
	case "unsigned long", "unsigned long long":
		return U64
	}
	return ""
}

// pointee returns what a pointer as C++ names it points to; false for another type.
func pointee(c string) (string, bool) {
	c = strings.TrimSpace(c)
	for _, q := range []string{" const", " volatile", " restrict", " __restrict", " __restrict__"} {
		c = strings.TrimSuffix(c, q)
	}
	to, ok := strings.CutSuffix(c, "*")
	return strings.TrimSpace(to), ok
}

// parse reads a number as people write it: decimal, hexadecimal, for floating
// point also inf and nan. The bytes are those of the type.
func (t Type) parse(text string) ([]byte, error) {
	if t.Float() {
		f, err := parseFloat(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", text)
		}
		b := t.encode(nil, floating(f))
		if got := t.decode(b).float(); math.IsInf(got, 0) && !math.IsInf(f, 0) {
			return nil, fmt.Errorf("%s does not fit %s", text, t)
		}
		return b, nil
	}
	n, neg, err := parseWhole(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a whole number, as %s is", text, t)
	}
	bits := 8 * t.Size()
	most := uint64(math.MaxUint64) >> (64 - bits)
	hex := strings.Contains(text, "x") || strings.Contains(text, "X")
	switch {
	case neg && (!t.signed() || n > most/2+1), !neg && t.signed() && !hex && n > most/2, n > most:
		low, high := "0", strconv.FormatUint(most, 10)
		if t.signed() {
			low, high = "-"+strconv.FormatUint(most/2+1, 10), strconv.FormatUint(most/2, 10)
		}
		return nil, fmt.Errorf("%s does not fit %s: from %s to %s", text, t, low, high)
	}
	if neg {
		n = -n
	}
	return t.encode(nil, number{kind: unsigned, bits: n}), nil
}

func parseFloat(text string) (float64, error) {
	lower := strings.ToLower(text)
	switch strings.TrimPrefix(strings.TrimLeft(lower, "+-"), ".") {
	case "inf", "infinity", "nan":
		lower = strings.Replace(lower, ".", "", 1)
	}
	if strings.Contains(lower, "_") {
		return 0, strconv.ErrSyntax
	}
	if strings.HasPrefix(strings.TrimLeft(lower, "+-"), "0x") && !strings.Contains(lower, "p") {
		lower += "p0"
	}
	f, err := strconv.ParseFloat(lower, 64)
	if lower == "-nan" {
		return math.NaN(), nil
	}
	return f, err
}

func parseWhole(text string) (n uint64, neg bool, err error) {
	digits := text
	if strings.HasPrefix(digits, "-") {
		neg, digits = true, digits[1:]
	} else {
		digits = strings.TrimPrefix(digits, "+")
	}
	base := 10
	if len(digits) > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') {
		base, digits = 16, digits[2:]
	}
	n, err = strconv.ParseUint(digits, base, 64)
	return n, neg, err
}

// encode appends the bytes of a number. Fractions are rounded to the nearest even,
// or cut off where the type has none; what is too large for a whole type keeps its
// low bits.
func (t Type) encode(b []byte, v number) []byte {
	if !t.Float() {
		u := v.whole()
		for range t.Size() {
			b = append(b, byte(u))
			u >>= 8
		}
		return b
	}
	le := binary.LittleEndian
	switch f := v.float(); t {
	case F64:
		return le.AppendUint64(b, math.Float64bits(f))
	case F32:
		return le.AppendUint32(b, math.Float32bits(float32(f)))
	default:
		return le.AppendUint16(b, t.small(f))
	}
}

// small rounds to a type of 16 bits.
func (t Type) small(f float64) uint16 {
	fraction, low := t.format()
	sign := uint16(0)
	if math.Signbit(f) {
		sign, f = 1<<15, -f
	}
	infinity := uint16(1<<(15-fraction)-1) << fraction
	switch {
	case math.IsNaN(f):
		return sign | infinity | 1<<(fraction-1)
	case math.IsInf(f, 0):
		return sign | infinity
	case f == 0:
		return sign
	}
	_, e := math.Frexp(f)
	e = max(e-1, low)
	units := uint64(math.RoundToEven(math.Ldexp(f, fraction-e))) // at most 2^(fraction+1)
	// The fraction's carry goes into the exponent by itself.
	field := uint64(e-low)<<fraction + units
	return sign | uint16(min(field, uint64(infinity)))
}

// decode reads a number of the type from the beginning of the bytes.
func (t Type) decode(b []byte) number {
	le := binary.LittleEndian
	switch t {
	case F64:
		return floating(math.Float64frombits(le.Uint64(b)))
	case F32:
		return floating(float64(math.Float32frombits(le.Uint32(b))))
	case F16, BF16:
		return floating(t.large(le.Uint16(b)))
	case I8:
		return integer(int64(int8(b[0])))
	case U8:
		return integer(int64(b[0]))
	case I16:
		return integer(int64(int16(le.Uint16(b))))
	case U16:
		return integer(int64(le.Uint16(b)))
	case I32:
		return integer(int64(int32(le.Uint32(b))))
	case U32:
		return integer(int64(le.Uint32(b)))
	case I64:
		return integer(int64(le.Uint64(b)))
	}
	return number{kind: unsigned, bits: le.Uint64(b)}
}

func (t Type) large(h uint16) float64 {
	fraction, low := t.format()
	field, units := int(h&0x7fff)>>fraction, float64(h&(1<<fraction-1))
	var f float64
	switch {
	case field == 1<<(15-fraction)-1 && units == 0:
		f = math.Inf(1)
	case field == 1<<(15-fraction)-1:
		return math.NaN()
	case field == 0:
		f = math.Ldexp(units, low-fraction)
	default:
		f = math.Ldexp(units+float64(uint(1)<<fraction), low+field-1-fraction)
	}
	if h>>15 != 0 {
		return -f
	}
	return f
}

// distance returns how far a value is from the one that was expected, both of the
// type: in units of the last place of the expected one, and absolutely. Two NaN are
// the same, and so are both zeros.
func (t Type) distance(got, want []byte) (ulp, abs float64) {
	g, w := t.decode(got), t.decode(want)
	if !t.Float() {
		if g.bits == w.bits {
			return 0, 0
		}
		a, b := g.bits, w.bits
		if t == U64 && a < b || t != U64 && int64(a) < int64(b) {
			a, b = b, a
		}
		return float64(a - b), float64(a - b)
	}
	x, y := g.float(), w.float()
	switch {
	case x == y, math.IsNaN(x) && math.IsNaN(y):
		return 0, 0
	case math.IsNaN(x), math.IsNaN(y), math.IsInf(x, 0), math.IsInf(y, 0):
		return math.Inf(1), math.Inf(1)
	}
	fraction, low := t.format()
	e := low
	if y != 0 {
		_, e = math.Frexp(y)
		e = max(e-1, low)
	}
	if abs = math.Abs(x - y); math.IsInf(abs, 0) { // two ends of f64
		return math.Ldexp(math.Abs(x/2-y/2), fraction-e+1), abs
	}
	return math.Ldexp(abs, fraction-e), abs
}

// text writes a value as parse reads it.
func (t Type) text(b []byte) string {
	v := t.decode(b)
	if !t.Float() {
		if v.kind == unsigned {
			return strconv.FormatUint(v.bits, 10)
		}
		return strconv.FormatInt(int64(v.bits), 10)
	}
	switch f := v.float(); t {
	case F16, BF16:
		return strconv.FormatFloat(f, 'g', 5, 64)
	case F32:
		return strconv.FormatFloat(f, 'g', -1, 32)
	default:
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
}

// Bytes returns the value of the type that is nearest to a number.
func (t Type) Bytes(f float64) []byte { return t.encode(nil, floating(f)) }

// Float64 reads a value of the type.
func (t Type) Float64(b []byte) float64 { return t.decode(b).float() }
