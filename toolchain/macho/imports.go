package macho

// Import is one symbol that dyld has to find for an image.
type Import struct {
	Name string
	// Ordinal n > 0 is Dylibs[n-1]; others are OrdinalSelf and the like.
	Ordinal int
	// Weak imports may be missing.
	Weak bool
	// Addend is that of the chained import itself; 0 elsewhere.
	Addend int64
}

// Bind is a place that dyld writes an import's address to.
type Bind struct {
	// Addr is where, as a virtual address of the image.
	Addr uint64
	// Import is an index of what Imports returns.
	Import int
	Addend int64
	// Source says which table it is from: "bind", "weak", "lazy" or "chained".
	Source string
}

// Fixups are what dyld changes in an image as it loads it.
type Fixups struct {
	// Imports are the table of chained fixups in its order, or what the bind
	// opcodes name, in order of appearance and each once.
	Imports []Import
	Binds   []Bind
	// Rebases are places whose value moves with the image. They are read from
	// chained fixups only.
	Rebases []Rebase
}

// Rebase is a pointer into the image itself.
type Rebase struct {
	Addr, Target uint64
}

// Imports are the symbols that dyld looks up for this image, by chained fixups
// or bind opcodes; none for an image without either (an object file: its
// undefined symbols are in Symbols).
func (i *Image) Imports() ([]Import, error) {
	if i.data.chained.size > 0 {
		c, err := i.chainedHeader()
		if err != nil {
			return nil, err
		}
		return c.imports()
	}
	f, err := i.opcodes()
	if err != nil {
		return nil, err
	}
	return f.Imports, nil
}

// Fixups reads the imports and each place that they are bound to.
func (i *Image) Fixups() (*Fixups, error) {
	if i.data.chained.size > 0 {
		return i.chainedFixups()
	}
	return i.opcodes()
}

// Opcodes of dyld info (mach-o/loader.h, BIND_OPCODE_*): the high half of a
// byte, with an immediate in the low one.
const (
	opDone             = 0x00
	opOrdinalImm       = 0x10
	opOrdinalULEB      = 0x20
	opOrdinalSpecial   = 0x30
	opSymbol           = 0x40
	opType             = 0x50
	opAddend           = 0x60
	opSegment          = 0x70
	opAddAddr          = 0x80
	opDoBind           = 0x90
	opDoBindAddAddr    = 0xa0
	opDoBindAddImm     = 0xb0
	opDoBindTimesSkip  = 0xc0
	opThreaded         = 0xd0
	symbolFlagWeak     = 0x1
	symbolFlagNonWeak  = 0x8
	pointerSize        = 8
	sourceBind         = "bind"
	sourceWeak         = "weak"
	sourceLazy         = "lazy"
	sourceChained      = "chained"
	weakLookupByOpcode = OrdinalWeakLookup
)

// opcodes runs the three bind programs of LC_DYLD_INFO.
func (i *Image) opcodes() (*Fixups, error) {
	f := &Fixups{}
	index := map[Import]int{}
	// Each bind writes a pointer, and no two the same, so that an honest image
	// has fewer than it has bytes; one instruction can ask for 2^64 of them.
	budget := i.Size
	for _, t := range []struct {
		r      fileRange
		source string
	}{{i.data.bind, sourceBind}, {i.data.weak, sourceWeak}, {i.data.lazy, sourceLazy}} {
		b, err := i.bytes(t.source+" opcodes", t.r.off, t.r.size)
		if err != nil {
			return nil, err
		}
		m := bindMachine{image: i, source: t.source, d: decoder{b: b}, budget: &budget}
		m.bind = func(imp Import, addr uint64, addend int64) {
			k, ok := index[imp]
			if !ok {
				k = len(f.Imports)
				index[imp] = k
				f.Imports = append(f.Imports, imp)
			}
			f.Binds = append(f.Binds, Bind{addr, k, addend, t.source})
		}
		if m.run(); m.d.err != nil {
			return nil, damaged("%s opcodes: %w", t.source, m.d.err)
		}
	}
	return f, nil
}

// bindMachine is the state that bind opcodes change.
type bindMachine struct {
	image  *Image
	source string
	d      decoder
	budget *int64
	bind   func(Import, uint64, int64)

	imp     Import
	addend  int64
	segment *Segment
	offset  uint64
}

func (m *bindMachine) run() {
	m.start()
	for m.d.more() {
		c := m.d.byte()
		imm := int(c & 0x0f)
		switch op := c & 0xf0; op {
		case opDone:
			// Lazy programs end after each symbol, and go on.
			if m.source != sourceLazy {
				return
			}
			m.start()
		case opOrdinalImm:
			m.imp.Ordinal = imm
		case opOrdinalULEB:
			n := m.d.uleb()
			if n > 1<<30 {
				m.d.fail("ordinal %d", n)
			}
			m.imp.Ordinal = int(n)
		case opOrdinalSpecial:
			m.imp.Ordinal = 0
			if imm != 0 {
				m.imp.Ordinal = int(int8(0xf0 | c&0x0f))
			}
		case opSymbol:
			m.imp.Name, m.imp.Weak = string(m.d.string()), imm&symbolFlagWeak != 0
			if m.source == sourceWeak && imm&symbolFlagNonWeak != 0 {
				m.imp.Name = "" // A strong definition of this image: nothing to look up.
			}
		case opType:
		case opAddend:
			m.addend = m.d.sleb()
		case opSegment:
			m.offset = m.d.uleb()
			if imm >= len(m.image.Segments) {
				m.d.fail("segment %d of %d", imm, len(m.image.Segments))
				return
			}
			m.segment = &m.image.Segments[imm]
		case opAddAddr:
			m.offset += m.d.uleb()
		case opDoBind:
			m.do(0)
		case opDoBindAddAddr:
			// The order matters: the bind comes before the number it precedes.
			m.do(m.d.uleb())
		case opDoBindAddImm:
			m.do(uint64(imm) * pointerSize)
		case opDoBindTimesSkip:
			times, skip := m.d.uleb(), m.d.uleb()
			for ; times > 0 && m.d.err == nil; times-- {
				m.do(skip)
			}
		default:
			m.d.fail("opcode %#x, which is not read", op)
		}
	}
}

func (m *bindMachine) start() {
	m.imp = Import{}
	if m.source == sourceWeak {
		m.imp.Ordinal = weakLookupByOpcode
	}
	m.addend = 0
}

// do binds one pointer and goes on behind it.
func (m *bindMachine) do(skip uint64) {
	switch {
	case m.d.err != nil:
		return
	case m.segment == nil:
		m.d.fail("a bind before any segment")
		return
	case m.offset > m.segment.Size || m.segment.Size-m.offset < pointerSize:
		m.d.fail("a bind at %#x, outside segment %s (%d bytes)", m.offset, m.segment.Name, m.segment.Size)
		return
	case m.imp.Name == "":
		m.d.fail("a bind without a symbol")
		return
	}
	if *m.budget--; *m.budget < 0 {
		m.d.fail("more binds than the image has bytes")
		return
	}
	m.bind(m.imp, m.segment.Addr+m.offset, m.addend)
	m.offset += pointerSize + skip
}
