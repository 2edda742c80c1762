package yamlx

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Errors of quantities: of another form than theirs, or of the right form with
// a value that cannot be held.
var (
	errNotQuantity   = errors.New("not a quantity")
	errQuantityRange = errors.New("not a whole number of 63 bits")
)

// Size is a number of bytes, written "20GB", "1.5GiB" or as a plain whole
// number. Units: B, kB (KB), MB, GB, TB by 1000, KiB, MiB, GiB, TiB by 1024.
type Size int64

// sizeOrBytesPattern and durationPattern are also what the schema says.
const (
	// A quoted "1024" is a string to an editor and is accepted like 1024.
	sizeOrBytesPattern = `^[0-9]{1,19}((\.[0-9]{1,9})? ?([kKMGT]?B|[KMGT]iB))?$`
	durationPattern    = `^([0-9]{1,19}(\.[0-9]{1,9})?(ns|us|ms|s|m|h))+$`
)

var (
	sizeForm     = regexp.MustCompile(`^([0-9]{1,19}(?:\.[0-9]{1,9})?) ?([kKMGT]?B|[KMGT]iB)$`)
	durationForm = regexp.MustCompile(durationPattern)
	bytesForm    = regexp.MustCompile(`^[0-9]{1,19}$`)
)

// ParseSize reads a size.
func ParseSize(s string) (Size, error) {
	if size, ok := wholeSize(s); ok {
		return size, nil
	}
	return exactSize(s)
}

func exactSize(s string) (Size, error) {
	number, unit := s, "B"
	if !bytesForm.MatchString(s) {
		m := sizeForm.FindStringSubmatch(s)
		if m == nil {
			return 0, fmt.Errorf("size %s is no number with a unit B, kB, MB, GB, TB, KiB, MiB, GiB or TiB", quote(s))
		}
		number, unit = m[1], m[2]
	}
	base, power := int64(1000), 0
	if strings.HasSuffix(unit, "iB") {
		base = 1024
	}
	if len(unit) > 1 {
		power = 1 + strings.IndexByte("KMGT", strings.ToUpper(unit)[0])
	}
	value, ok := new(big.Rat).SetString(number)
	if !ok {
		return 0, fmt.Errorf("size %s is no number", quote(s))
	}
	value.Mul(value, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(power)), nil)))
	if !value.IsInt() {
		return 0, fmt.Errorf("size %s is no whole number of bytes: %w", quote(s), errQuantityRange)
	}
	if !value.Num().IsInt64() {
		return 0, fmt.Errorf("size %s is too large: %w", quote(s), errQuantityRange)
	}
	return Size(value.Num().Int64()), nil
}

// wholeSize reads a size that is a whole number of a unit, as nearly all are.
// It leaves what is no such size, or too large, to the way that tells why.
func wholeSize(s string) (Size, bool) {
	unit := strings.TrimLeft(s, "0123456789")
	digits := s[:len(s)-len(unit)]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || len(digits) > 19 {
		return 0, false
	}
	factor := int64(1)
	switch strings.TrimPrefix(unit, " ") {
	case "":
		return Size(n), unit == ""
	case "B":
	case "kB", "KB":
		factor = 1e3
	case "MB":
		factor = 1e6
	case "GB":
		factor = 1e9
	case "TB":
		factor = 1e12
	case "KiB":
		factor = 1 << 10
	case "MiB":
		factor = 1 << 20
	case "GiB":
		factor = 1 << 30
	case "TiB":
		factor = 1 << 40
	default:
		return 0, false
	}
	return Size(n * factor), n <= math.MaxInt64/factor
}

// String returns the size in the largest unit that gives a whole number,
// which [ParseSize] reads back.
func (s Size) String() string {
	if s == 0 {
		return "0B"
	}
	best, unit := int64(s), "B"
	for _, u := range []struct {
		base  int64
		units []string
	}{{1024, []string{"KiB", "MiB", "GiB", "TiB"}}, {1000, []string{"kB", "MB", "GB", "TB"}}} {
		n := int64(s)
		for _, name := range u.units {
			if n%u.base != 0 {
				break
			}
			n /= u.base
			if abs(n) < abs(best) {
				best, unit = n, name
			}
		}
	}
	return strconv.FormatInt(best, 10) + unit
}

func abs(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// ParseDuration reads a duration as [time.ParseDuration] does, but none that
// is negative or without a unit.
func ParseDuration(s string) (time.Duration, error) {
	if !durationForm.MatchString(s) {
		return 0, fmt.Errorf("duration %s is no number with a unit h, m, s, ms, us or ns", quote(s))
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("duration %s is longer than %v: %w", quote(s), time.Duration(math.MaxInt64).Truncate(time.Hour), errQuantityRange)
	}
	return d, nil
}

// Scalar is any string, number or boolean as it is written in the file, such
// as the value of a CMake option.
type Scalar string

// Strings is a list of strings, for which a single string may stand.
type Strings []string

func (s *Strings) rulesApply() reflect.Type { return reflect.TypeFor[[]string]() }

func (s *Strings) decodeRuled(d *decoder, n *Node, r *rules) {
	v := reflect.ValueOf((*[]string)(s)).Elem()
	if n.Kind() == List {
		d.list(n, v, r)
		return
	}
	if n.Kind() != String {
		d.add(n.Want("a string or a list of strings"))
		return
	}
	if !d.within(n, v.Type(), 1, "entries", r) {
		return
	}
	one := make([]string, 1)
	d.value(n, reflect.ValueOf(one).Index(0), &rules{enum: r.enum, pattern: r.pattern})
	*s = one
}

// Ordered is a mapping that keeps the order of the file.
type Ordered[T any] []Item[T]

// Item is an entry of an [Ordered].
type Item[T any] struct {
	Key   string
	Value T
	Pos   Pos // of the key
}

// Get returns the value of a key.
func (o Ordered[T]) Get(key string) (T, bool) {
	for _, item := range o {
		if item.Key == key {
			return item.Value, true
		}
	}
	var zero T
	return zero, false
}

// Keys returns the keys in the order of the file.
func (o Ordered[T]) Keys() []string {
	keys := make([]string, len(o))
	for i, item := range o {
		keys[i] = item.Key
	}
	return keys
}

func (o *Ordered[T]) rulesApply() reflect.Type { return reflect.TypeFor[map[string]T]() }

func (o *Ordered[T]) decodeRuled(d *decoder, n *Node, r *rules) {
	if n.Kind() != Map {
		d.add(n.Want("a mapping"))
		return
	}
	entries := n.Entries()
	if !d.within(n, o.rulesApply(), float64(len(entries)), "entries", r) {
		return
	}
	elem := &rules{enum: r.enum, pattern: r.pattern}
	out := make(Ordered[T], len(entries))
	for i, entry := range entries {
		d.mapKey(entry, reflect.TypeFor[string](), r)
		out[i].Key, out[i].Pos = entry.Key(), entry.KeyPos()
		d.value(entry, reflect.ValueOf(&out[i].Value).Elem(), elem)
	}
	*o = out
}
