package codeobj

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Limits of the MessagePack decoder. Metadata nests five deep; a node costs
// the decoder about 100 bytes, so the count bounds the memory.
const (
	maxMsgpackBytes = 64 << 20
	maxMsgpackDepth = 32
	maxMsgpackNodes = 1 << 20
)

// Kind is the type of a MessagePack value.
type Kind uint8

// The kinds. Integers that fit are Uint unless negative.
const (
	KindNil Kind = iota
	KindBool
	KindInt   // negative only
	KindUint  // zero or positive
	KindFloat // float 32 and float 64
	KindString
	KindBinary
	KindArray
	KindMap
	KindExt // application type, in Value.Int, and its bytes
)

// String names the kind for messages.
func (k Kind) String() string {
	names := [...]string{"nil", "a bool", "a negative number", "a number", "a float", "a string", "binary data", "an array", "a map", "an extension"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Value is a decoded MessagePack value. Only the fields of its kind are set.
type Value struct {
	Kind  Kind
	Bool  bool
	Int   int64
	Uint  uint64
	Float float64
	Bytes []byte // string, binary and extension: shared with the input
	Array []Value
	Map   []Pair // in the order of the input; keys are unique strings
}

// Pair is a key of a map with its value.
type Pair struct {
	Key   string
	Value Value
}

// Get returns the value of a map's key.
func (v *Value) Get(key string) (*Value, bool) {
	for i := range v.Map {
		if v.Map[i].Key == key {
			return &v.Map[i].Value, true
		}
	}
	return nil, false
}

// DecodeMsgpack decodes exactly one MessagePack value (the format's
// specification of 2013 with str, bin and ext). Map keys must be strings and
// unique, which code object metadata guarantees. Bytes after the value are an
// error, as are values deeper than 32, of more than a million nodes, or longer
// than 64 MiB.
func DecodeMsgpack(data []byte) (Value, error) {
	if len(data) > maxMsgpackBytes {
		return Value{}, fmt.Errorf("msgpack: %d bytes: at most %d are read", len(data), maxMsgpackBytes)
	}
	d := decoder{data: data, nodes: maxMsgpackNodes}
	var v Value
	if err := d.value(&v, 0); err != nil {
		return Value{}, fmt.Errorf("msgpack: at byte %d: %w", d.pos, err)
	}
	if d.pos != len(data) {
		return Value{}, fmt.Errorf("msgpack: %d bytes follow the value of %d", len(data)-d.pos, d.pos)
	}
	return v, nil
}

type decoder struct {
	data  []byte
	pos   int
	nodes int
}

func (d *decoder) take(n uint64) ([]byte, error) {
	if n > uint64(len(d.data)-d.pos) {
		return nil, fmt.Errorf("%d bytes are wanted, %d are left", n, len(d.data)-d.pos)
	}
	b := d.data[d.pos : d.pos+int(n) : d.pos+int(n)]
	d.pos += int(n)
	return b, nil
}

// number reads an unsigned big-endian number of 1, 2, 4 or 8 bytes.
func (d *decoder) number(size uint64) (uint64, error) {
	b, err := d.take(size)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[8-size:], b)
	return binary.BigEndian.Uint64(wide[:]), nil
}

func (v *Value) setInt(i int64) {
	if i < 0 {
		v.Kind, v.Int = KindInt, i
		return
	}
	v.Kind, v.Uint = KindUint, uint64(i)
}

func (d *decoder) value(v *Value, depth int) error {
	if depth > maxMsgpackDepth {
		return fmt.Errorf("nested deeper than %d", maxMsgpackDepth)
	}
	if d.nodes--; d.nodes < 0 {
		return fmt.Errorf("more than %d values", maxMsgpackNodes)
	}
	tag, err := d.number(1)
	if err != nil {
		return err
	}
	switch {
	case tag <= 0x7f: // positive fixint
		v.setInt(int64(tag))
	case tag <= 0x8f: // fixmap
		return d.mapping(v, tag&0xf, depth)
	case tag <= 0x9f: // fixarray
		return d.array(v, tag&0xf, depth)
	case tag <= 0xbf: // fixstr
		return d.bytes(v, KindString, tag&0x1f)
	case tag >= 0xe0: // negative fixint
		v.setInt(int64(int8(tag)))
	default:
		return d.long(v, tag, depth)
	}
	return nil
}

// long reads the values whose tag is followed by a size or a number.
func (d *decoder) long(v *Value, tag uint64, depth int) error {
	switch tag {
	case 0xc0:
		v.Kind = KindNil
		return nil
	case 0xc1:
		return errors.New("0xc1 is no value")
	case 0xc2, 0xc3:
		v.Kind, v.Bool = KindBool, tag == 0xc3
		return nil
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8: // fixext 1, 2, 4, 8, 16
		return d.ext(v, 1<<(tag-0xd4))
	}
	// The groups below count up from the tag of their smallest size.
	size := func(first uint64) uint64 { return 1 << (tag - first) }
	var width uint64
	switch {
	case tag <= 0xc6: // bin 8, 16, 32
		width = size(0xc4)
	case tag <= 0xc9: // ext 8, 16, 32
		width = size(0xc7)
	case tag <= 0xcb: // float 32, 64
		width = 4 * size(0xca)
	case tag <= 0xcf: // uint 8, 16, 32, 64
		width = size(0xcc)
	case tag <= 0xd3: // int 8, 16, 32, 64
		width = size(0xd0)
	case tag <= 0xdb: // str 8, 16, 32
		width = size(0xd9)
	case tag <= 0xdd: // array 16, 32
		width = 2 * size(0xdc)
	default: // map 16, 32
		width = 2 * size(0xde)
	}
	n, err := d.number(width)
	if err != nil {
		return err
	}
	switch {
	case tag <= 0xc6:
		return d.bytes(v, KindBinary, n)
	case tag <= 0xc9:
		return d.ext(v, n)
	case tag == 0xca:
		v.Kind, v.Float = KindFloat, float64(math.Float32frombits(uint32(n)))
	case tag == 0xcb:
		v.Kind, v.Float = KindFloat, math.Float64frombits(n)
	case tag <= 0xcf:
		v.Kind, v.Uint = KindUint, n
	case tag <= 0xd3:
		shift := 64 - 8*width
		v.setInt(int64(n<<shift) >> shift) // sign-extends
	case tag <= 0xdb:
		return d.bytes(v, KindString, n)
	case tag <= 0xdd:
		return d.array(v, n, depth)
	default:
		return d.mapping(v, n, depth)
	}
	return nil
}

func (d *decoder) bytes(v *Value, kind Kind, n uint64) (err error) {
	v.Kind = kind
	v.Bytes, err = d.take(n)
	return err
}

func (d *decoder) ext(v *Value, n uint64) error {
	kind, err := d.number(1)
	if err != nil {
		return err
	}
	v.Int = int64(int8(kind))
	return d.bytes(v, KindExt, n)
}

// room refuses a count that the bytes left, or the nodes left, cannot hold, so
// that no allocation follows from a number alone.
func (d *decoder) room(n, each uint64) error {
	if n > uint64(len(d.data)-d.pos)/each {
		return fmt.Errorf("%d members are announced, %d bytes are left", n, len(d.data)-d.pos)
	}
	if n > uint64(d.nodes) {
		return fmt.Errorf("more than %d values", maxMsgpackNodes)
	}
	return nil
}

func (d *decoder) array(v *Value, n uint64, depth int) error {
	v.Kind = KindArray
	if err := d.room(n, 1); err != nil {
		return err
	}
	// Announced counts of nested arrays add up: each level may announce what is
	// left, so the slice grows with what is really there.
	v.Array = make([]Value, 0, min(n, 64))
	for range n {
		var e Value
		if err := d.value(&e, depth+1); err != nil {
			return err
		}
		v.Array = append(v.Array, e)
	}
	return nil
}

func (d *decoder) mapping(v *Value, n uint64, depth int) error {
	v.Kind = KindMap
	if err := d.room(n, 2); err != nil {
		return err
	}
	v.Map = make([]Pair, 0, min(n, 64))
	seen := make(map[string]struct{}, min(n, 64))
	for range n {
		var key, val Value
		if err := d.value(&key, depth+1); err != nil {
			return err
		}
		if key.Kind != KindString {
			return fmt.Errorf("a map has a key that is %s, not a string", key.Kind)
		}
		name := string(key.Bytes)
		if _, dup := seen[name]; dup {
			return fmt.Errorf("a map has the key %q twice", shorten(name))
		}
		seen[name] = struct{}{}
		if err := d.value(&val, depth+1); err != nil {
			return err
		}
		v.Map = append(v.Map, Pair{Key: name, Value: val})
	}
	return nil
}

// shorten keeps text from hostile input short enough for a message.
func shorten(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
