package main

import (
	"context"
	"fmt"
	"math/bits"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa/internal/layout"
	"github.com/stonemason-hip/stonemason/emulator/isa/internal/oracle"
)

// row is what was learned of one opcode (with its variant bits) on one target.
type row struct {
	index    uint32
	mnemonic string
	format
}

// format is the part of a row that many share.
type format struct {
	size          int
	mods, ignored uint64 // bits that change the text, bits that do not matter
	operands      string
}

// probe is one assignment of values to the fields of a row.
type probe struct {
	row    uint32
	word   uint64
	values []value // one a field
}

type value struct {
	raw   uint32
	shown string // "v40", "s12", "a40"; how the operand begins when it is shown
}

const literal = 0x12345678 // also a harmless instruction of 4 bytes

// learn sweeps an encoding.
func learn(ctx context.Context, d *oracle.Disassembler, all []layout.Encoding, e *layout.Encoding) ([]row, error) {
	var probes []probe
	for r := range uint32(e.Rows()) {
		if w := e.Word(r); e.RowOf(w) == r && layout.Find(all, uint32(w)) == e {
			probes = append(probes, candidates(e, r)...)
		}
	}
	answers, err := d.Ask(ctx, words(e, probes))
	if err != nil {
		return nil, err
	}
	best := map[uint32]*found{}
	var order []uint32
	classes := map[uint32]map[int]string{}
	for i, a := range answers {
		p := probes[i]
		f := match(e, p, a)
		if f == nil {
			continue
		}
		if classes[p.row] == nil {
			classes[p.row] = map[int]string{}
			order = append(order, p.row)
		}
		if !f.comment {
			for _, t := range f.tokens {
				if c := classes[p.row][t.field]; t.field >= 0 && !strings.Contains(c, t.class) {
					classes[p.row][t.field] = c + t.class
				}
			}
		}
		if b := best[p.row]; b == nil || f.better(b) {
			best[p.row] = f
		}
	}
	var found []*found
	for _, r := range order {
		if f := best[r]; !overlapped(e, f) && !strings.HasPrefix(f.mnemonic, "v_interp_") {
			named(e, f)
			found = append(found, f)
		}
	}
	rows := make([]row, len(found))
	for i, f := range found {
		rows[i] = row{index: f.row, mnemonic: f.mnemonic, format: format{size: f.size}}
	}
	if err := learnBits(ctx, d, e, found, rows); err != nil {
		return nil, err
	}
	types, err := learnTypes(ctx, d, e, found, classes)
	if err != nil {
		return nil, err
	}
	for i, f := range found {
		rows[i].operands = operands(e, f, classes[f.row], types[i])
	}
	return rows, nil
}

// overlapped reports rows that only exist because this encoding's bits are a
// special case of the next one's: 0xf9 where no SDWA is, shown as an operand.
func overlapped(e *layout.Encoding, f *found) bool {
	switch e.Name {
	case "sdwa1", "sdwa2", "sdwac":
		return !strings.HasSuffix(f.mnemonic, "_sdwa")
	case "dpp1", "dpp2", "dppc":
		return !strings.HasSuffix(f.mnemonic, "_dpp")
	}
	return false
}

// named corrects what one probe cannot show: numbers that have names.
func named(e *layout.Encoding, f *found) {
	for i := range f.tokens {
		t := &f.tokens[i]
		switch m := f.mnemonic; {
		case t.text == "gpr_idx()":
			*t = token{t.text, e.Field("ssrc1"), "i", 0, "g"}
		case t.class != "i":
		case m == "s_set_gpr_idx_mode":
			t.format = "g"
		case strings.HasPrefix(m, "s_sendmsg"):
			t.format = "m"
		case m == "s_endpgm":
			t.format = "e"
		case e.Name == "sopp" && t.format == "x" && m != "s_set_gpr_idx_mode", m == "s_setreg_imm32_b32" && t.format == "x", e.Name == "smem" && t.format == "d":
			t.format = "i"
		case m == "s_branch", strings.HasPrefix(m, "s_cbranch"), m == "s_call_b64":
			t.format = "j"
		}
	}
}

// candidates lists the assignments to try for one row.
func candidates(e *layout.Encoding, r uint32) []probe {
	base := e.Word(r)
	list := []probe{}
	for _, extra := range extras(e) {
		list = append(list, probe{row: r, word: base | extra})
	}
	for i, f := range e.Fields {
		var next []probe
		for _, p := range list {
			for _, v := range values(e, f, i, base) {
				q := p
				q.values = append(append([]value(nil), p.values...), v)
				q.word |= f.Put(v.raw)
				if e.RowOf(q.word) == r {
					next = append(next, q)
				}
			}
		}
		list = next
	}
	return list
}

// extras are the modifiers that a row may need to be valid at all.
func extras(e *layout.Encoding) []uint64 {
	switch e.Name {
	case "dpp1", "dpp2", "dppc":
		return []uint64{0xff00e4 << 40, 0xff0151 << 40}
	case "ds":
		return []uint64{0, 1 << 16} // GDS
	}
	return []uint64{0}
}

func values(e *layout.Encoding, f layout.Field, i int, base uint64) []value {
	zero := value{raw: 0}
	vector := value{uint32(40 * (i + 1)), fmt.Sprintf("v%d", 40*(i+1))}
	scalar := value{uint32(12 + 8*i), fmt.Sprintf("s%d", 12+8*i)}
	switch f.Kind {
	case layout.VGPR:
		return []value{vector, zero}
	case layout.SDWA:
		if bit := map[string]uint{"src0": 55, "src1": 63}[f.Name]; base>>bit&1 != 0 {
			return []value{scalar, {raw: 0x88, shown: "8"}, zero}
		}
		return []value{vector, zero}
	case layout.Source:
		return []value{{vector.raw | 256, vector.shown}, scalar, {raw: uint32(0x88 + i), shown: fmt.Sprint(8 + i)}, zero}
	case layout.Scalar:
		switch {
		case e.Name == "smem" && f.Name == "soffset" && base>>14&1 == 0,
			e.Name == "smem" && f.Name == "sgpr" && base>>17&1 != 0:
			return []value{zero}
		case f.Name == "saddr" && e.RowOf(base|layout.NoAddress<<48) == e.RowOf(base):
			return []value{{raw: layout.NoAddress, shown: "off"}}
		case f.Width == 8:
			return []value{scalar, {raw: uint32(0x88 + i), shown: fmt.Sprint(8 + i)}, zero}
		}
		return []value{scalar, zero}
	case layout.Pair:
		return []value{{raw: 12, shown: "s24"}, zero}
	case layout.Quad:
		return []value{{raw: 12, shown: "s48"}, zero}
	case layout.K:
		return []value{{raw: literal, shown: "0x12345678"}}
	}
	switch {
	case e.Name == "smem" && base>>17&1 == 0:
		return []value{zero}
	case f.Name == "offset" && e.Name == "smem":
		return []value{{raw: 0x1234, shown: "0x1234"}, zero}
	case f.Name == "simm16":
		return []value{{raw: 0x1235, shown: "0x1235"}, zero}
	}
	return []value{zero} // offsets are modifiers
}

func words(e *layout.Encoding, probes []probe) [][]uint32 {
	list := make([][]uint32, len(probes))
	for i, p := range probes {
		list[i] = wordsOf(e, p.word)
	}
	return list
}

func wordsOf(e *layout.Encoding, word uint64) []uint32 {
	if e.Size == 4 && e.Field("k") < 0 {
		return []uint32{uint32(word)}
	}
	return []uint32{uint32(word), uint32(word >> 32)}
}

// learnBits flips every bit that is neither opcode nor operand.
func learnBits(ctx context.Context, d *oracle.Disassembler, e *layout.Encoding, list []*found, rows []row) error {
	var probes [][]uint32
	type flip struct{ row, bit int }
	var flips []flip
	for i, f := range list {
		fixed := uint64(e.Mask)
		for _, p := range e.Index {
			if !p.AllOnes {
				fixed |= (1<<p.Width - 1) << p.Lo
			}
		}
		for _, t := range f.tokens {
			if t.field >= 0 {
				fixed |= e.Fields[t.field].Put(^uint32(0))
			}
		}
		for bit := range int(e.Size) * 8 {
			if flipped := f.word ^ 1<<bit; fixed>>bit&1 == 0 && e.RowOf(flipped) == f.row {
				probes = append(probes, wordsOf(e, flipped))
				flips = append(flips, flip{i, bit})
			}
		}
	}
	answers, err := d.Ask(ctx, probes)
	if err != nil {
		return err
	}
	for i, a := range answers {
		r, bit := &rows[flips[i].row], uint64(1)<<flips[i].bit
		switch {
		case a.Text == "" && list[flips[i].row].word&bit != 0:
			r.mods |= bit // must be set
		case a.Text == "" || a.Size != list[flips[i].row].size:
		case a.Text == list[flips[i].row].text:
			r.ignored |= bit
		default:
			r.mods |= bit
		}
	}
	return nil
}

// learnTypes asks how the constants of each source are shown. It returns a
// letter for each field of each row.
func learnTypes(ctx context.Context, d *oracle.Disassembler, e *layout.Encoding, list []*found, classes map[uint32]map[int]string) ([]map[int]string, error) {
	literals := []uint32{5, 0x3c00, 0x3f80, 0x3f800000, 0x3ff00000, literal}
	var probes [][]uint32
	type asked struct{ row, field, first int }
	var asks []asked
	for i, f := range list {
		for n, field := range e.Fields {
			if !strings.Contains(classes[f.row][n], "c") || field.Kind != layout.Source && field.Kind != layout.Scalar && field.Kind != layout.SDWA {
				continue
			}
			word := f.word &^ field.Put(^uint32(0))
			asks = append(asks, asked{i, n, len(probes)})
			probes = append(probes, wordsOf(e, word|field.Put(248)))
			if e.Size == 4 && f.size == 4 {
				for _, lit := range literals {
					probes = append(probes, []uint32{uint32(word | field.Put(layout.SrcLiteral)), lit})
				}
			}
		}
	}
	answers, err := d.Ask(ctx, probes)
	if err != nil {
		return nil, err
	}
	types := make([]map[int]string, len(list))
	for i := range types {
		types[i] = map[int]string{}
	}
	for i, a := range asks {
		end := len(answers)
		if i+1 < len(asks) {
			end = asks[i+1].first
		}
		f := list[a.row]
		at := -1
		for n, t := range f.tokens {
			if t.field == a.field {
				at = n
			}
		}
		var shown []string
		for _, ans := range answers[a.first:end] {
			_, tokens := split(ans.Text)
			if at < len(tokens) {
				shown = append(shown, tokens[at])
			} else {
				shown = append(shown, "-")
			}
		}
		letter, err := typeOf(shown)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", f.mnemonic, e.Fields[a.field].Name, err)
		}
		types[a.row][a.field] = letter
	}
	return types, nil
}

// typeOf names how the constants of an operand are shown, by what is shown for
// 1/(2π) and, where literals are possible, for those that learnTypes tries.
//
//	d 32 bits    h f16    w 16 bits    b bf16    q f64    l 64 bits
//	p a pair of f16    r a pair of bf16    n never shown
func typeOf(shown []string) (string, error) {
	if len(shown) == 0 || shown[0] == "-" {
		return "n", nil
	}
	letter, ok := map[string]string{
		"0.15915494":          "d",
		"0.15915494309189532": "q",
		"0x3118":              "w",
		"0.15915494 lit(0x5) 0x3c00 0x3f80 lit(0x3f800000) 0x3ff00000 0x12345678":           "d",
		"0.15915494 lit(0x5) lit(0x3c00) 0x3f80 lit(0x3f800000) lit(0x3ff00000) 0x5678":     "h",
		"0x3118 lit(0x5) 0x3c00 0x3f80 lit(0x3f800000) 0x0 0x5678":                          "w",
		"0.15915494309189532 lit(0x5) 0x3c00 0x3f80 0x3f800000 0x3ff00000 0x12345678":       "l",
		"0.15915494309189532 0x5 0x3c00 0x3f80 0x3f800000 1.0 0x12345678":                   "q",
		"0.15915494 lit(0x5) lit(0x3c00) 0x3f80 0x3f800000 0x3ff00000 0x12345678":           "p",
		"0.15915494 lit(0x5) 0x3c00 lit(0x3f80) 0x3f800000 0x3ff00000 0x12345678":           "r",
		"0.15915494 lit(0x5) 0x3c00 lit(0x3f80) lit(0x3f800000) lit(0x3ff00000) 0x12345678": "b",
	}[strings.Join(shown, " ")]
	if !ok {
		return "", fmt.Errorf("constants are shown in a new way: %q", shown)
	}
	return letter, nil
}

func operands(e *layout.Encoding, f *found, classes map[int]string, types map[int]string) string {
	var list []string
	for _, t := range f.tokens {
		if t.field < 0 {
			list = append(list, "="+t.text)
			continue
		}
		class := classes[t.field]
		if class == "" {
			class = t.class
		}
		kind := types[t.field]
		if kind == "" {
			kind = t.format
		}
		if kind == "d" && e.Size == 4 && f.size == 8 && strings.HasSuffix(f.mnemonic, "_f16") {
			kind = "h" // its literal cannot be tried: there is one already
		}
		list = append(list, fmt.Sprintf("%s:%s%d%s", e.Fields[t.field].Name, class, t.width, kind))
	}
	return strings.Join(list, ",")
}

func popcount(p probe) int { return bits.OnesCount64(p.word) }
