package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa/internal/layout"
)

// learnTypes asks how the constants of each source are shown. It returns a
// letter for each field of each row.
func (l *learner) learnTypes(ctx context.Context, e *layout.Encoding, list []*found, classes map[uint32]map[int]string) ([]map[int]string, error) {
	literals := []uint32{5, 0x3c00, 0x3f80, 0x3f800000, 0x3ff00000, literal}
	var probes [][]uint32
	type asked struct{ row, field, first int }
	var asks []asked
	for i, f := range list {
		for n, field := range e.Fields {
			if !strings.Contains(classes[f.row][n], "c") || field.Kind != layout.Source && field.Kind != layout.Scalar && field.Kind != layout.SDWA {
				continue
			}
			word := f.word.Without(field.Put(^uint32(0)))
			asks = append(asks, asked{i, n, len(probes)})
			probes = append(probes, wordsOf(e, word.Or(field.Put(248))))
			if e.HasLiteral() && f.size == int(e.Size) && !strings.Contains(f.mnemonic, "_barrier") { // of barriers, LLVM crashes
				for _, lit := range literals {
					probe := wordsOf(e, word.Or(field.Put(layout.SrcLiteral)))[:e.Size/4]
					probes = append(probes, append(probe, lit))
				}
			}
		}
	}
	answers, err := l.narrow.Ask(ctx, probes)
	if err != nil {
		return nil, err
	}
	types := make([]map[int]string, len(list))
	for i := range types {
		types[i] = map[int]string{}
	}
	var strange []error
	for i, a := range asks {
		end := len(answers)
		if i+1 < len(asks) {
			end = asks[i+1].first
		}
		f := list[a.row]
		at := -1
		for n, t := range f.shown() {
			if t.field == a.field {
				at = n
			}
		}
		var shown []string
		for _, ans := range answers[a.first:end] {
			_, tokens := split(half(e, ans.Text))
			if at >= 0 && at < len(tokens) {
				shown = append(shown, tokens[at])
			} else {
				shown = append(shown, "-")
			}
		}
		letter, err := typeOf(shown)
		if err != nil {
			strange = append(strange, fmt.Errorf("%s: %s: %w", f.mnemonic, e.Fields[a.field].Name, err))
		}
		types[a.row][a.field] = letter
	}
	return types, errors.Join(strange...)
}

// typeOf names how the constants of an operand are shown, by what is shown for
// 1/(2π) and, where literals are possible, for those that learnTypes tries.
//
//	d 32 bits    h f16    w 16 bits    b bf16    q f64    l 64 bits
//	p a pair of f16    r a pair of bf16    s twice the same f16    o bits alone    n never shown
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
		"0.15915494 lit(0x5) 0x3c00 0x3f80 0x3f800000 0x3ff00000 0x12345678":                "s",
		"0.15915494 lit(0x5) 0x3c00 lit(0x3f80) 0x3f800000 0x3ff00000 0x12345678":           "r",
		"0.15915494 lit(0x5) 0x3c00 lit(0x3f80) lit(0x3f800000) lit(0x3ff00000) 0x12345678": "b",
		"0x3e22f983 5 0x3c00 0x3f80 0x3f800000 0x3ff00000 0x12345678":                       "o",
	}[strings.Join(shown, " ")]
	if !ok {
		return "", fmt.Errorf("constants are shown in a new way: %q", shown)
	}
	return letter, nil
}

// operands writes the operands of a row as the table has them. Where the twin
// differs, the widths of both are written: of waves of 32 lanes, then of 64.
func operands(e *layout.Encoding, f, twin *found, classes map[int]string, types map[int]string) string {
	var list []string
	for i, t := range f.tokens {
		if t.field < 0 {
			text := strings.TrimSuffix(t.text, "_lo") // vcc and exec, as wide as the wave
			if !strings.HasPrefix(text, "~") {
				text = "=" + text
			}
			list = append(list, text)
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
		width := fmt.Sprint(t.width)
		if twin != nil && twin.tokens[i].width != t.width {
			width += fmt.Sprintf("/%d", twin.tokens[i].width)
		}
		list = append(list, e.Fields[t.field].Name+":"+class+width+kind)
	}
	return strings.Join(list, ",")
}
