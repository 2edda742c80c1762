package emulator

import "strings"

// comparisons are V_CMP and V_CMPX of all types and relations.
func comparisons() map[string]*operation {
	ops := map[string]*operation{}
	add := func(name string, op operation) {
		for _, prefix := range []string{"v_cmp_", "v_cmpx_"} {
			o := op
			o.results, o.exec = 1, prefix == "v_cmpx_"
			ops[prefix+name] = &o
		}
	}
	const (
		less = 1 << iota
		equal
		greater
		unordered
	)
	floats := map[string]int{
		"f": 0, "lt": less, "eq": equal, "le": less | equal, "gt": greater, "lg": less | greater, "ge": greater | equal,
		"o": less | equal | greater, "u": unordered, "nge": unordered | less, "nlg": unordered | equal, "ngt": unordered | less | equal,
		"nle": unordered | greater, "neq": unordered | less | greater, "nlt": unordered | equal | greater, "tru": 15,
	}
	ints := map[string]int{"f": 0, "lt": less, "eq": equal, "le": less | equal, "gt": greater, "ne": less | greater, "ge": greater | equal, "t": 15}
	float := func(f func(uint64) float64, relation int) func(a, b uint64) bool {
		return func(x, y uint64) bool {
			a, b := f(x), f(y)
			switch {
			case a < b:
				return relation&less != 0
			case a > b:
				return relation&greater != 0
			case a == b:
				return relation&equal != 0
			}
			return relation&unordered != 0
		}
	}
	for name, relation := range floats {
		add(name+"_f16", operation{float: 16, relate: float(func(v uint64) float64 { return fromHalf(uint16(v)) }, relation)})
		add(name+"_f32", operation{float: 32, relate: float(func(v uint64) float64 { return float64(f32(uint32(v))) }, relation), compare: floatRelation(name)})
		add(name+"_f64", operation{float: 64, relate: float(f64, relation)})
	}
	for name, relation := range ints {
		order := func(f func(uint64) int64) func(a, b uint64) bool {
			return func(x, y uint64) bool {
				a, b := f(x), f(y)
				switch {
				case a < b:
					return relation&less != 0
				case a > b:
					return relation&greater != 0
				}
				return relation&equal != 0
			}
		}
		add(name+"_i16", operation{relate: order(func(v uint64) int64 { return int64(int16(v)) })})
		add(name+"_u16", operation{relate: order(func(v uint64) int64 { return int64(uint16(v)) })})
		add(name+"_i32", operation{relate: order(func(v uint64) int64 { return int64(int32(v)) }), compare: intRelation(name, 0)})
		add(name+"_u32", operation{relate: order(func(v uint64) int64 { return int64(uint32(v)) }), compare: intRelation(name, 1<<31)})
		add(name+"_i64", operation{relate: order(func(v uint64) int64 { return int64(v) })})
		add(name+"_u64", operation{relate: order(func(v uint64) int64 { return int64(v ^ 1<<63) })})
	}
	add("class_f16", operation{float: 16, relate: func(a, b uint64) bool { return class(format{16, 10, 0, 0}, a)&uint32(b) != 0 }})
	add("class_f32", operation{float: 32, relate: func(a, b uint64) bool { return class(single(), a)&uint32(b) != 0 }})
	add("class_f64", operation{float: 64, relate: func(a, b uint64) bool { return class(double(), a)&uint32(b) != 0 }})
	return ops
}

// intRelation compares i32, or u32 with the sign bit turned by flip.
func intRelation(name string, flip uint32) func(a, b *vec) uint64 {
	lt := func(a, b *vec) (m uint64) {
		for l := range a {
			m |= bit(int32(a[l]^flip) < int32(b[l]^flip)) << l
		}
		return m
	}
	eq := func(a, b *vec) (m uint64) {
		for l := range a {
			m |= bit(a[l] == b[l]) << l
		}
		return m
	}
	switch name {
	case "lt":
		return lt
	case "gt":
		return func(a, b *vec) uint64 { return lt(b, a) }
	case "le":
		return func(a, b *vec) uint64 { return ^lt(b, a) }
	case "ge":
		return func(a, b *vec) uint64 { return ^lt(a, b) }
	case "eq":
		return eq
	case "ne":
		return func(a, b *vec) uint64 { return ^eq(a, b) }
	}
	return nil
}

func floatRelation(name string) func(a, b *vec) uint64 {
	lt := func(a, b *vec) (m uint64) {
		for l := range a {
			m |= bit(f32(a[l]) < f32(b[l])) << l
		}
		return m
	}
	le := func(a, b *vec) (m uint64) {
		for l := range a {
			m |= bit(f32(a[l]) <= f32(b[l])) << l
		}
		return m
	}
	eq := func(a, b *vec) (m uint64) {
		for l := range a {
			m |= bit(f32(a[l]) == f32(b[l])) << l
		}
		return m
	}
	if positive, ok := strings.CutPrefix(name, "n"); ok && len(positive) == 2 {
		f := floatRelation(positive)
		if f == nil {
			return nil
		}
		return func(a, b *vec) uint64 { return ^f(a, b) }
	}
	switch name {
	case "lt":
		return lt
	case "gt":
		return func(a, b *vec) uint64 { return lt(b, a) }
	case "le":
		return le
	case "ge":
		return func(a, b *vec) uint64 { return le(b, a) }
	case "eq":
		return eq
	}
	return nil
}

// class says what kind of number a float is, as the bits of V_CMP_CLASS: 0
// signalling NaN, 1 quiet NaN, 2 -infinity, 3 -normal, 4 -denormal, 5 -0, 6 +0,
// 7 +denormal, 8 +normal, 9 +infinity.
func class(f format, v uint64) uint32 {
	man := v & (1<<f.mantissa - 1)
	top := 1<<(f.bits-1-f.mantissa) - 1
	negative := f.sign(v) != 0
	side := func(n, p uint32) uint32 {
		if negative {
			return 1 << n
		}
		return 1 << p
	}
	switch e := f.exponent(v); {
	case e == top && man != 0:
		return 1 << (man >> (f.mantissa - 1))
	case e == top:
		return side(2, 9)
	case e != 0:
		return side(3, 8)
	case man != 0:
		return side(4, 7)
	}
	return side(5, 6)
}
