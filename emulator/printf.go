package emulator

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
)

// words are the arguments of a printf: a word of 64 bits for each, text in place
// and padded to whole words.
type words []byte

// next takes a word. Where there is none it is zero.
func (w words) next() (uint64, words) {
	if len(w) < 8 {
		return 0, nil
	}
	return binary.LittleEndian.Uint64(w), w[8:]
}

// text takes text up to its zero, and what pads it.
func (w words) text() (string, words) {
	n := bytes.IndexByte(w, 0)
	if n < 0 {
		return string(w), nil
	}
	return string(w[:n]), w[min(n/8*8+8, len(w)):]
}

// spec is one conversion of a format.
type spec struct {
	flags            string
	width, precision int // precision -1: none was given
	length           string
	verb             byte
}

// maxField bounds width and precision: a kernel that asks for more than a page of
// blanks is wrong.
const maxField = 1 << 12

// formatC formats as C's printf does (ISO C, 7.21.6.1), with arguments widened as
// clang does for a device: integers and pointers to 64 bits, f32 to f64. A
// conversion that has no argument ends the text, and %n stores nothing.
func formatC(format string, args words) []byte {
	var out []byte
	for {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			return append(out, format...)
		}
		out, format = append(out, format[:at]...), format[at+1:]
		if rest, ok := strings.CutPrefix(format, "%"); ok {
			out, format = append(out, '%'), rest
			continue
		}
		var s spec
		if s, format, args = parseSpec(format, args); s.verb == 0 || len(args) == 0 {
			return out
		}
		switch s.verb {
		case 's':
			var text string
			text, args = args.text()
			if s.precision >= 0 {
				text = text[:min(s.precision, len(text))]
			}
			out = s.pad(out, "", text, false)
		default:
			var v uint64
			v, args = args.next()
			out = s.number(out, v)
		}
	}
}

// parseSpec reads what stands behind a percent sign; stars take arguments.
func parseSpec(format string, args words) (s spec, rest string, left words) {
	n := len(format) - len(strings.TrimLeft(format, "-+ #0"))
	s.flags, format = format[:n], format[n:]
	count := func() (v int) {
		if rest, ok := strings.CutPrefix(format, "*"); ok {
			format = rest
			var u uint64
			u, args = args.next()
			return max(min(int(int32(u)), maxField), -maxField)
		}
		n := len(format) - len(strings.TrimLeft(format, "0123456789"))
		v, err := strconv.Atoi("0" + format[:n])
		if format = format[n:]; err != nil {
			return maxField
		}
		return min(v, maxField)
	}
	if s.width = count(); s.width < 0 {
		s.flags, s.width = s.flags+"-", -s.width
	}
	s.precision = -1
	if rest, ok := strings.CutPrefix(format, "."); ok {
		format = rest
		s.precision = max(count(), -1)
	}
	n = len(format) - len(strings.TrimLeft(format, "hlLjzt"))
	s.length, format = format[:n], format[n:]
	if format == "" || !strings.Contains("diouxXfFeEgGaAcspn", format[:1]) {
		return spec{}, "", args
	}
	s.verb = format[0]
	return s, format[1:], args
}

func (s *spec) has(flag string) bool { return strings.Contains(s.flags, flag) }

// pad brings sign and digits to the width, with zeros between them if they may.
func (s *spec) pad(out []byte, sign, text string, zeros bool) []byte {
	fill := s.width - len(sign) - len(text)
	if fill <= 0 {
		return append(append(out, sign...), text...)
	}
	switch {
	case s.has("-"):
		out = append(append(out, sign...), text...)
		return append(out, strings.Repeat(" ", fill)...)
	case zeros && s.has("0"):
		out = append(append(out, sign...), strings.Repeat("0", fill)...)
		return append(out, text...)
	}
	out = append(append(out, strings.Repeat(" ", fill)...), sign...)
	return append(out, text...)
}

func (s *spec) number(out []byte, v uint64) []byte {
	switch s.verb {
	case 'n':
		return out
	case 'c':
		return s.pad(out, "", string([]byte{byte(v)}), false)
	case 'p':
		if v == 0 {
			return s.pad(out, "", "(nil)", false)
		}
		return s.pad(out, "", "0x"+strconv.FormatUint(v, 16), false)
	case 'd', 'i', 'o', 'u', 'x', 'X':
		return s.integer(out, v)
	}
	return s.fraction(out, math.Float64frombits(v))
}

// size is how many bits of an integer the length modifier says.
func (s *spec) size() int {
	switch s.length {
	case "":
		return 32
	case "h":
		return 16
	case "hh":
		return 8
	}
	return 64
}

func (s *spec) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case s.has("+"):
		return "+"
	case s.has(" "):
		return " "
	}
	return ""
}

func (s *spec) integer(out []byte, v uint64) []byte {
	shift := 64 - s.size()
	sign, digits := "", ""
	switch s.verb {
	case 'd', 'i':
		n := int64(v<<shift) >> shift
		sign = s.sign(n < 0)
		digits = strings.TrimPrefix(strconv.FormatInt(n, 10), "-")
	default:
		n := v << shift >> shift
		base := map[byte]int{'u': 10, 'o': 8, 'x': 16, 'X': 16}[s.verb]
		digits = strconv.FormatUint(n, base)
		switch {
		case s.has("#") && s.verb == 'o' && n != 0:
			digits = "0" + digits
		case s.has("#") && base == 16 && n != 0:
			sign = "0x"
		}
		if s.verb == 'X' {
			sign, digits = strings.ToUpper(sign), strings.ToUpper(digits)
		}
	}
	if s.precision == 0 && digits == "0" {
		digits = ""
	}
	if more := s.precision - len(digits); more > 0 {
		digits = strings.Repeat("0", more) + digits
	}
	return s.pad(out, sign, digits, s.precision < 0)
}

func (s *spec) fraction(out []byte, v float64) []byte {
	sign := s.sign(math.Signbit(v))
	v = math.Abs(v)
	upper := s.verb < 'a'
	verb := s.verb | 0x20
	if math.IsInf(v, 0) || v != v {
		text := map[bool]string{true: "nan", false: "inf"}[v != v]
		if upper {
			text = strings.ToUpper(text)
		}
		return s.pad(out, sign, text, false)
	}
	precision := s.precision
	if precision < 0 && verb != 'a' {
		precision = 6
	}
	var text string
	switch {
	case verb == 'a':
		text = hexFraction(v, precision)
		sign, text = sign+text[:2], text[2:]
	case s.has("#"):
		text = fmt.Sprintf("%#.*"+string(verb), precision, v)
	default:
		if verb == 'g' {
			precision = max(precision, 1)
		}
		text = strconv.FormatFloat(v, verb, precision, 64)
	}
	if upper {
		sign, text = strings.ToUpper(sign), strings.ToUpper(text)
	}
	return s.pad(out, sign, text, true)
}

// hexFraction writes as C does: the exponent has no more digits than it needs.
func hexFraction(v float64, precision int) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'x', precision, 64), "p")
	n, err := strconv.Atoi(exponent)
	if err != nil {
		return mantissa + "p" + exponent
	}
	return fmt.Sprintf("%sp%+d", mantissa, n)
}

// The other way to print (clang -mprintf-kind=buffered): kernels append records to
// one buffer, and the host prints them when the launch has ended. The buffer
// begins with how many bytes are used and how many there are, 32 bits each; a
// record with a word of 32 bits: its size, that word included, from bit 2 on, bit
// 1 for a format that the metadata has, bit 0 for standard error. The format
// follows, or 64 bits that name it, and then the arguments.
const printfBufferSize = 1 << 20

// printBuffered prints what lies in a buffer.
func (h *host) printBuffered(buffer *region, formats []string) error {
	known := map[uint64]string{}
	for _, f := range formats {
		// "0:0:<hash>,<format>"
		id, text, ok := strings.Cut(f, ",")
		hash, err := strconv.ParseUint(id[strings.LastIndexByte(id, ':')+1:], 16, 64)
		if ok && err == nil {
			known[hash] = text
		}
	}
	used := min(uint64(atomic.LoadUint32(word32(buffer.data, 0))), buffer.size-8)
	data := buffer.data[8 : 8+used]
	for len(data) >= 4 {
		control := binary.LittleEndian.Uint32(data)
		size := control >> 2
		if size < 4 || int(size) > len(data) {
			return errors.New("the printf buffer is damaged")
		}
		record := words(data[4:size])
		data = data[size:]
		var format string
		if control&2 != 0 {
			var hash uint64
			hash, record = record.next()
			var ok bool
			if format, ok = known[hash]; !ok {
				return fmt.Errorf("the printf buffer names the format 0x%x, which the code object does not have", hash)
			}
		} else {
			format, record = record.text()
		}
		if w := h.out[control&1]; w != nil {
			if _, err := w.Write(formatC(format, record)); err != nil {
				return fmt.Errorf("output: %w", err)
			}
		}
	}
	return nil
}
