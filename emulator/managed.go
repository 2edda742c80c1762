package emulator

import (
	"encoding/binary"
	"fmt"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// managedSuffix is what clang adds to the name of a __managed__ variable's memory;
// the name itself is a pointer to it that the runtime fills in (clang's
// lib/CodeGen/CGCUDANV.cpp, replaceManagedVar; __hipRegisterManagedVar).
const managedSuffix = ".managed"

// variable finds a variable of the code object.
func (m *Module) variable(name string) (codeobj.Symbol, bool) {
	for _, s := range m.obj.Symbols {
		if s.Name == name && s.Defined() && s.Type == codeobj.SymbolObject {
			return s, true
		}
	}
	return codeobj.Symbol{}, false
}

// pointManaged lets the pointers of managed variables point to their memory, which
// lies in the image: host and device are one machine here.
func (m *Module) pointManaged() error {
	memory := map[string]codeobj.Symbol{}
	for _, s := range m.obj.Symbols {
		if s.Defined() && s.Type == codeobj.SymbolObject {
			memory[s.Name] = s
		}
	}
	for _, s := range memory {
		to, ok := memory[s.Name+managedSuffix]
		if !ok || s.Size != 8 {
			continue
		}
		if s.Value < m.low || s.Value-m.low > m.image.size-min(8, m.image.size) {
			return fmt.Errorf("the managed variable %s at 0x%x is outside of the image", s.Name, s.Value)
		}
		binary.LittleEndian.PutUint64(m.image.data[s.Value-m.low:], m.image.base-m.low+to.Value)
	}
	return nil
}
