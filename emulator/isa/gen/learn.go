package main

import (
	"context"
	"crypto/sha256"
	"fmt"
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
	mods, ignored layout.Code // bits that change the text, bits that do not matter
	operands      string
}

// probe is one assignment of values to the fields of a row.
type probe struct {
	row    uint32
	word   layout.Code
	values []value // one a field
}

type value struct {
	raw   uint32
	shown string // "v40", "s12", "a40"; how the operand begins when it is shown
}

const literal = 0x12345678 // also a harmless instruction of 4 bytes

// learner learns the encodings of one processor. Where its waves have 32 or 64
// lanes, narrow asks for the former and wide for the latter; else wide is nil.
type learner struct {
	family       layout.Family
	narrow, wide *oracle.Disassembler
}

// learned is what is known of an encoding: of waves of 32 lanes (or of all, where
// there is but one size) and of 64.
type learned struct {
	rows, wide []row
}

// learn sweeps an encoding.
func (l *learner) learn(ctx context.Context, e *layout.Encoding) (*learned, error) {
	probes, err := l.probes(ctx, e)
	if err != nil {
		return nil, err
	}
	answers, err := l.narrow.Ask(ctx, words(e, probes))
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
	var list []*found
	for _, r := range order {
		if f := best[r]; !l.overlapped(e, f) && !strings.HasPrefix(f.mnemonic, "v_interp_") && f.mnemonic != "v_illegal" && !strings.HasPrefix(f.mnemonic, "tbuffer_") {
			l.named(e, f)
			list = append(list, f)
		}
	}
	rows := make([]row, len(list))
	for i, f := range list {
		rows[i] = row{index: f.row, mnemonic: f.mnemonic, format: format{size: f.size}}
	}
	if err := learnBits(ctx, l.narrow, e, list, rows); err != nil {
		return nil, err
	}
	if err := l.learnLow(ctx, e, list, classes); err != nil {
		return nil, err
	}
	types, err := l.learnTypes(ctx, e, list, classes)
	if err != nil {
		return nil, err
	}
	if err := l.learnNumbers(ctx, e, list); err != nil {
		return nil, err
	}
	twins, err := l.twins(ctx, e, list)
	if err != nil {
		return nil, err
	}
	wide := make([]row, len(list))
	var asked []*found
	var there []row
	for _, t := range twins {
		if t != nil {
			asked = append(asked, t)
			there = append(there, row{index: t.row, mnemonic: t.mnemonic, format: format{size: t.size}})
		}
	}
	if err := learnBits(ctx, l.wide, e, asked, there); err != nil { // index_key of SWMMAC has more there
		return nil, err
	}
	for i, t := range twins {
		if t != nil {
			wide[i], there = there[0], there[1:]
		}
	}
	out := &learned{}
	for i, f := range list {
		rows[i].operands = operands(e, f, twins[i], classes[f.row], types[i])
		out.rows = append(out.rows, rows[i])
		if twins[i] != nil {
			wide[i].operands = rows[i].operands
			out.wide = append(out.wide, wide[i])
		}
	}
	return out, nil
}

// fingerprint is a digest of what LLVM says of a few assignments to every row of
// every encoding, in waves of either size. LLVM describes each instruction once and
// says which processors have it, so that two with one fingerprint have the same
// rows; the tests compare each of them with LLVM nevertheless.
func (l *learner) fingerprint(ctx context.Context) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, l.family.Name)
	for i := range l.family.Encodings {
		e := &l.family.Encodings[i]
		var samples []probe
		for _, r := range l.rows(e) {
			samples = append(samples, sample(l.candidates(e, r))...)
		}
		for _, llvm := range []*oracle.Disassembler{l.narrow, l.wide} {
			if llvm == nil {
				continue
			}
			answers, err := llvm.Ask(ctx, words(e, samples))
			if err != nil {
				return "", err
			}
			for _, a := range answers {
				fmt.Fprintln(sum, a.Size, a.Text)
			}
		}
	}
	return string(sum.Sum(nil)), nil
}

// rows lists the rows of an encoding whose bits are not those of another.
func (l *learner) rows(e *layout.Encoding) []uint32 {
	var list []uint32
	for r := range uint32(e.Rows()) {
		w := e.Word(r)
		if at := layout.Find(l.family.Encodings, w); e.RowOf(w) == r && (e.Second || at >= 0 && &l.family.Encodings[at] == e) {
			list = append(list, r)
		}
	}
	return list
}

// probes lists what to try. Rows that show nothing for a few assignments that
// are most likely to be valid are left out.
func (l *learner) probes(ctx context.Context, e *layout.Encoding) ([]probe, error) {
	var list, samples []probe
	for _, r := range l.rows(e) {
		all := l.candidates(e, r)
		list = append(list, all...)
		samples = append(samples, sample(all)...)
	}
	if l.family.Generation == 9 {
		return list, nil
	}
	answers, err := l.narrow.Ask(ctx, words(e, samples))
	if err != nil {
		return nil, err
	}
	alive := map[uint32]bool{}
	for i, a := range answers {
		if a.Text != "" {
			alive[samples[i].row] = true
		}
	}
	var out []probe
	for _, p := range list {
		if alive[p.row] {
			out = append(out, p)
		}
	}
	return out, nil
}

// sample takes from the candidates of a row those whose fields are all of one
// kind: vector registers, scalar ones, constants, zeros.
func sample(all []probe) []probe {
	var list []probe
	for _, p := range all {
		kinds := map[byte]bool{}
		for _, v := range p.values {
			if v.shown == "" {
				kinds[0] = true
			} else {
				kinds[v.shown[0]] = true
			}
		}
		delete(kinds, '0') // a literal
		delete(kinds, 'o') // no address
		if len(kinds) <= 1 || len(kinds) == 2 && kinds['v'] {
			list = append(list, p)
		}
	}
	return list
}

// overlapped reports rows that only exist because this encoding's bits are a
// special case of the next one's: 0xf9 where no SDWA is, shown as an operand.
func (l *learner) overlapped(e *layout.Encoding, f *found) bool {
	switch {
	case f.mnemonic == "v_nop" && l.family.Generation > 9:
		return false
	case strings.HasPrefix(e.Name, "sdwa"):
		return !strings.HasSuffix(f.mnemonic, "_sdwa")
	case strings.Contains(e.Name, "dpp"):
		return !strings.HasSuffix(f.mnemonic, "_dpp") && !shuffled(f.text)
	}
	return false
}

// shuffled reports a text that says which lane each lane reads. Comparisons of four
// bytes and GFX9's v_nop are not called _dpp where they have DPP: that is all there is
// to tell them by.
func shuffled(text string) bool {
	return strings.Contains(text, " dpp8:[") || strings.Contains(text, " row_mask:")
}

// named corrects what one probe cannot show: numbers that have names, and results
// that are not written.
func (l *learner) named(e *layout.Encoding, f *found) {
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
		case m == "s_branch", strings.HasPrefix(m, "s_cbranch"), m == "s_call_b64", strings.HasPrefix(m, "s_subvector_loop"):
			t.format = "j"
		case m == "s_waitcnt_depctr", m == "s_wait_alu":
			t.format = "c"
		case m == "s_setreg_imm32_b32" && t.format == "x", e.Name == "smem" && t.format == "d",
			e.Name == "sopp" && t.format == "x" && m != "s_set_gpr_idx_mode" && l.family.Generation == 9:
			t.format = "i"
		}
	}
	if l.family.Generation == 9 {
		return
	}
	switch m := f.mnemonic; {
	case strings.HasPrefix(m, "v_cmpx_"):
		f.tokens = append([]token{{text: "~exec", field: -1}}, f.tokens...)
	case m == "s_delay_alu":
		f.tokens = []token{{f.text, e.Field("simm16"), "i", 0, "y"}}
	case strings.HasPrefix(m, "s_sendmsg_rtn"):
		f.tokens[1] = token{f.tokens[1].text, e.Field("ssrc0"), "i", 0, "m"}
	case m == "v_dual_cndmask_b32" && !strings.HasPrefix(e.Name, "vopd3"):
		f.tokens = append(f.tokens, token{text: "~vcc", field: -1})
	}
}

// candidates lists the assignments to try for one row.
func (l *learner) candidates(e *layout.Encoding, r uint32) []probe {
	base := e.Word(r)
	list := []probe{}
	for _, extra := range l.extras(e) {
		list = append(list, probe{row: r, word: base.Or(extra)})
	}
	for i, f := range e.Fields {
		var next []probe
		for _, p := range list {
			for _, v := range l.values(e, f, i, base) {
				q := p
				q.values = append(append([]value(nil), p.values...), v)
				q.word = q.word.Or(f.Put(v.raw))
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
func (l *learner) extras(e *layout.Encoding) []layout.Code {
	switch e.Name {
	case "dpp1", "dpp2", "dppc":
		return []layout.Code{{Lo: 0xff00e4 << 40}, {Lo: 0xff0151 << 40}}
	case "vop3dpp", "vop3pdpp":
		return []layout.Code{{Hi: 0xff00e4 << 8}, {Hi: 0xff0151 << 8}}
	case "sdwa1":
		if l.family.Generation == 9 { // what has no part of the result to select must say so
			return []layout.Code{{}, {Lo: 6 << 40}}
		}
	case "vop3p":
		list := []layout.Code{{}, {Lo: 3<<59 | 1<<14}} // OP_SEL_HI of matrix instructions
		if l.family.Name == "gfx125" {
			return append(list, layout.Code{Lo: 1 << 58}) // what loads scales has v0 for a third source
		}
		if l.family.Generation == 12 {
			return list
		}
	case "wmmascale", "wmmascale16":
		return []layout.Code{{Lo: 1 << 58}, {Lo: 1 << 58, Hi: 3<<59 | 1<<14}} // as in vop3p
	case "ds":
		gds := map[int]uint64{9: 1 << 16, 10: 1 << 17, 11: 1 << 17}[l.family.Generation]
		if gds != 0 {
			return []layout.Code{{}, {Lo: gds}}
		}
	}
	return []layout.Code{{}}
}

func (l *learner) values(e *layout.Encoding, f layout.Field, i int, base layout.Code) []value {
	zero := value{raw: 0}
	vector := value{uint32(40 * (i + 1)), fmt.Sprintf("v%d", 40*(i+1))}
	scalar := value{uint32(12 + 8*i), fmt.Sprintf("s%d", 12+8*i)}
	gfx9 := l.family.Generation == 9
	for _, p := range e.Index {
		if p.Lo == f.Lo && p.Values != nil && e.RowOf(base) != e.RowOf(base.Without(f.Put(^uint32(0)))) {
			if f.Name == "saddr" {
				return []value{{raw: f.Get(base), shown: "off"}}
			}
			return []value{{raw: f.Get(base)}}
		}
	}
	switch f.Kind {
	case layout.VGPR:
		if strings.HasPrefix(e.Name, "vopd3") && f.Name == "src2" { // the mask of v_dual_cndmask_b32
			return []value{vector, {24, "v24"}, zero}
		}
		return []value{vector, zero}
	case layout.DstY:
		return []value{{vector.raw / 2, fmt.Sprintf("v%d", vector.raw+1)}, zero} // the other half's register is even
	case layout.SDWA:
		if bit := map[string]uint8{"src0": 55, "src1": 63}[f.Name]; base.Has(bit) {
			return []value{scalar, {raw: 0x88, shown: "8"}, zero}
		}
		return []value{vector, zero}
	case layout.Source:
		return []value{{vector.raw | 256, vector.shown}, scalar, {raw: uint32(0x88 + i), shown: fmt.Sprint(8 + i)}, zero}
	case layout.Scalar:
		switch {
		case gfx9 && e.Name == "smem" && f.Name == "soffset" && !base.Has(14),
			gfx9 && e.Name == "smem" && f.Name == "sgpr" && base.Has(17):
			return []value{zero}
		case f.Width == 8:
			return []value{scalar, {raw: uint32(0x88 + i), shown: fmt.Sprint(8 + i)}, zero}
		}
		return []value{scalar, zero}
	case layout.Pair:
		return []value{{raw: 12, shown: "s24"}, zero}
	case layout.Quad:
		return []value{{raw: 12, shown: "s48"}, zero}
	case layout.K:
		if f.Name == "k64" {
			return []value{{raw: literal, shown: "0xbf80000012345678"}} // with what follows each probe
		}
		return []value{{raw: literal, shown: "0x12345678"}}
	}
	switch {
	case gfx9 && e.Name == "smem" && !base.Has(17):
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

func wordsOf(e *layout.Encoding, c layout.Code) []uint32 {
	n := int(e.Size) / 4
	if e.Field("k") >= 0 || e.Field("k64") >= 0 {
		n++
	}
	return []uint32{uint32(c.Lo), uint32(c.Lo >> 32), uint32(c.Hi), uint32(c.Hi >> 32)}[:n]
}

// twins asks the best probe of each row of waves of 64 lanes. The list has nil
// where there is no such instruction, or all waves are of one size.
func (l *learner) twins(ctx context.Context, e *layout.Encoding, list []*found) ([]*found, error) {
	twins := make([]*found, len(list))
	if l.wide == nil {
		return twins, nil
	}
	probes := make([]probe, len(list))
	for i, f := range list {
		probes[i] = f.probe
	}
	answers, err := l.wide.Ask(ctx, words(e, probes))
	if err != nil {
		return nil, err
	}
	for i, a := range answers {
		t := match(e, probes[i], a)
		if t == nil {
			continue
		}
		l.named(e, t)
		if len(t.tokens) != len(list[i].tokens) {
			return nil, fmt.Errorf("%q has other operands than %q", t.text, list[i].text)
		}
		twins[i] = t
	}
	return twins, nil
}

// learnBits flips every bit that is neither opcode nor operand, and asks about the
// instructions in waves of one size.
func learnBits(ctx context.Context, llvm *oracle.Disassembler, e *layout.Encoding, list []*found, rows []row) error {
	if len(list) == 0 {
		return nil
	}
	var probes [][]uint32
	type flip struct {
		row int
		bit uint8
	}
	var flips []flip
	for i, f := range list {
		fixed := e.Fixed(f.word)
		for _, t := range f.tokens {
			if t.field >= 0 {
				fixed = fixed.Or(e.Fields[t.field].Put(^uint32(0)))
			}
		}
		for bit := range e.Size * 8 {
			if flipped := f.word.Flip(bit); !fixed.Has(bit) && e.RowOf(flipped) == f.row {
				probes = append(probes, wordsOf(e, flipped))
				flips = append(flips, flip{i, bit})
			}
		}
	}
	answers, err := llvm.Ask(ctx, probes)
	if err != nil {
		return err
	}
	for i, a := range answers {
		f, r, bit := list[flips[i].row], &rows[flips[i].row], layout.At(flips[i].bit, 1, 1)
		switch {
		case a.Text == "" && f.word.Has(flips[i].bit):
			r.mods = r.mods.Or(bit) // must be set
		case a.Text == "" || a.Size != f.size:
		case halves(a.Text) != halves(f.text): // decoded by another table, in vain
		case a.Text == f.text:
			r.ignored = r.ignored.Or(bit)
		default:
			r.mods = r.mods.Or(bit)
		}
	}
	return nil
}

// learnLow finds the operands that are one of the first 128 vector registers: the
// bit above says which half in a format of 4 bytes, where the processor has halves.
func (l *learner) learnLow(ctx context.Context, e *layout.Encoding, list []*found, classes map[uint32]map[int]string) error {
	if l.family.Generation < 11 || !strings.HasPrefix(e.Name, "vop") && !strings.HasPrefix(e.Name, "dpp") || e.Match>>31 != 0 {
		return nil
	}
	var probes [][]uint32
	type asked struct {
		row   uint32
		field int
	}
	var asks []asked
	for _, f := range list {
		for _, t := range f.tokens {
			if t.field >= 0 && t.class == "v" {
				probes = append(probes, wordsOf(e, f.word.Flip(e.Fields[t.field].Lo+7)))
				asks = append(asks, asked{f.row, t.field})
			}
		}
	}
	answers, err := l.narrow.Ask(ctx, probes)
	if err != nil {
		return err
	}
	for i, a := range answers {
		if a.Text == "" {
			row := classes[asks[i].row]
			row[asks[i].field] = strings.Replace(row[asks[i].field], "v", "l", 1)
		}
	}
	return nil
}

// halves counts the halves of registers in a text.
func halves(text string) int { return strings.Count(text, ".l") + strings.Count(text, ".h") }

// learnNumbers tells numbers that are always written in hexadecimal from those
// that are written as constants are: 5 is 0x5 or 5.
func (l *learner) learnNumbers(ctx context.Context, e *layout.Encoding, list []*found) error {
	if l.family.Generation == 9 {
		return nil // see named
	}
	var probes [][]uint32
	var asked []*token
	for _, f := range list {
		for i := range f.tokens {
			t := &f.tokens[i]
			if t.field < 0 || t.class != "i" || t.format != "x" && t.format != "d" {
				continue
			}
			if field := e.Fields[t.field]; field.Kind != layout.K {
				probes = append(probes, wordsOf(e, f.word.Without(field.Put(^uint32(0))).Or(field.Put(0x40))))
				asked = append(asked, t)
			}
		}
	}
	answers, err := l.narrow.Ask(ctx, probes)
	if err != nil {
		return err
	}
	for i, a := range answers {
		if asked[i].format == "x" && !strings.Contains(a.Text, "0x40") && strings.Contains(a.Text, "64") {
			asked[i].format = "i"
		}
	}
	return nil
}
