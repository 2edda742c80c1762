package macho

// Flags of an export (mach-o/loader.h, EXPORT_SYMBOL_FLAGS_*).
const (
	ExportKindMask       = 0x03
	ExportThreadLocal    = 0x01
	ExportAbsolute       = 0x02
	ExportWeakDefinition = 0x04
	ExportReexport       = 0x08
	ExportStubResolver   = 0x10
)

// Export is one symbol that an image offers to others, by its export trie.
type Export struct {
	Name  string
	Flags uint64
	// Address counts from the beginning of the image in memory; for a
	// re-export it is 0, for ExportAbsolute the value itself.
	Address uint64
	// Resolver is the resolver's address with ExportStubResolver.
	Resolver uint64
	// Ordinal is the library of a re-export, and ImportName its name there,
	// "" where it is the same.
	Ordinal    int
	ImportName string
}

// Reexport reports whether the symbol lies in another library.
func (e *Export) Reexport() bool { return e.Flags&ExportReexport != 0 }

// Exports reads the export trie (LC_DYLD_EXPORTS_TRIE, else that of
// LC_DYLD_INFO) in the trie's order. A node is: size of its information in
// ULEB128 and that many bytes (flags, then address or ordinal and name), the
// number of children, and for each the rest of its name and its offset.
func (i *Image) Exports() ([]Export, error) {
	r := i.data.exports
	if r.size == 0 {
		r = i.data.oldExports
	}
	b, err := i.bytes("exports trie", r.off, r.size)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	type node struct {
		off  int
		name string
	}
	// Every byte of a trie belongs to one node, so that a node seen twice means
	// a loop or a trap; the names, which grow along the way, have a budget.
	seen := map[int]bool{0: true}
	budget := 64<<20 + 64*len(b)
	var out []Export
	for todo := []node{{}}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		d := decoder{b: b, off: n.off}
		if size := d.uleb(); size > 0 && d.err == nil {
			if size > uint64(len(b)-d.off) {
				return nil, damaged("exports trie: the node at %#x claims %d bytes", n.off, size)
			}
			info := decoder{b: b[:d.off+int(size)], off: d.off}
			e := export(&info, n.name)
			if info.err != nil {
				return nil, damaged("exports trie: the node at %#x: %w", n.off, info.err)
			}
			out = append(out, e)
			d.off += int(size)
		}
		children := make([]node, 0, 4)
		for range d.byte() {
			edge := d.string()
			to := d.uleb()
			if d.err != nil {
				break
			}
			if to >= uint64(len(b)) || seen[int(to)] {
				return nil, damaged("exports trie: a child of the node at %#x lies at %#x, outside or there twice", n.off, to)
			}
			seen[int(to)] = true
			if budget -= len(n.name) + len(edge); budget < 0 {
				return nil, damaged("exports trie: the names are longer than real ones are")
			}
			children = append(children, node{int(to), n.name + string(edge)})
		}
		if d.err != nil {
			return nil, damaged("exports trie: the node at %#x: %w", n.off, d.err)
		}
		for k := len(children) - 1; k >= 0; k-- {
			todo = append(todo, children[k])
		}
	}
	return out, nil
}

func export(d *decoder, name string) Export {
	e := Export{Name: name, Flags: d.uleb()}
	if e.Flags&ExportReexport != 0 {
		ordinal := d.uleb()
		if ordinal > 1<<30 {
			d.fail("ordinal %d", ordinal)
		}
		e.Ordinal, e.ImportName = int(ordinal), string(d.string())
		return e
	}
	e.Address = d.uleb()
	if e.Flags&ExportStubResolver != 0 {
		e.Resolver = d.uleb()
	}
	return e
}
