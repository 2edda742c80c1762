package api

import "fmt"

// Layout computes the sizes, alignments and offsets of all records from their
// fields, by the rules that 64-bit Linux and macOS share: each field at the next
// multiple of its alignment, a bit-field in the first unit of its type that has
// room for it, the whole rounded up to the largest alignment; in a packed record
// each right behind the one before. An Align that is set already is a lower bound. It fails on a field that has no size.
func (l *Library) Layout() error {
	s := newScope(l)
	done, busy := map[string]bool{}, map[string]bool{}
	own := map[string]bool{}
	for i := range l.Records {
		own[l.Records[i].Key] = true
	}
	var one func(name string) error
	one = func(name string) error {
		if done[name] || !own[name] {
			return nil
		}
		if busy[name] {
			return fmt.Errorf("%s holds itself", name)
		}
		busy[name] = true
		r := s.records[name]
		for i := range r.Fields {
			if t := s.resolve(r.Fields[i].Type); len(t.Pointers) == 0 {
				if err := one(t.Base); err != nil {
					return err
				}
			}
		}
		done[name] = true
		return r.layout(name, s)
	}
	for i := range l.Records {
		if err := one(l.Records[i].Key); err != nil {
			return err
		}
	}
	return nil
}

func (r *Record) layout(name string, s *scope) error {
	align, end, largest := max(r.Align, 1), int64(0), int64(0) // end in bits
	for i := range r.Fields {
		f := &r.Fields[i]
		size, a, ok := s.extent(f.Type)
		if !ok {
			return fmt.Errorf("%s.%s: %s has no size", name, f.Name, f.Type)
		}
		if r.Packed {
			a = 1
		}
		align = max(align, a)
		if r.Union {
			end = 0
		}
		if f.Bits > 0 {
			if unit := size * 8; !r.Packed && end/unit != (end+int64(f.Bits)-1)/unit {
				end = (end + unit - 1) / unit * unit
			}
			f.Offset, f.Bit = end/8, int(end%8)
			end += int64(f.Bits)
		} else {
			f.Offset = (end + a*8 - 1) / (a * 8) * a
			end = (f.Offset + size) * 8
		}
		largest = max(largest, end)
	}
	r.Align = align
	r.Size = (largest + align*8 - 1) / (align * 8) * align
	return nil
}
