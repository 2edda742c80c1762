package emulator

import (
	"math/bits"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// Counters tell what a launch did. The first three are always counted, the others
// where Options.Count says so.
type Counters struct {
	Instructions int64 // of waves
	Groups       int64
	Waves        int64

	// Instructions by class; their sum is Instructions.
	Scalar       int64 // SOP1, SOP2, SOPC, SOPK
	Vector       int64 // VOP1, VOP2, VOP3, VOP3P, VOPC
	Matrix       int64 // MFMA, SMFMAC, WMMA, SWMMAC
	ScalarMemory int64 // SMEM
	VectorMemory int64 // FLAT, GLOBAL, SCRATCH, MUBUF
	LocalMemory  int64 // DS
	Control      int64 // SOPP: branches, waits, barriers

	Lanes         int64 // of all waves, summed up over Vector, VectorMemory and LocalMemory
	ActiveLanes   int64 // those that took part
	BytesLoaded   int64 // of global memory; atomic operations count on both sides
	BytesStored   int64
	LocalBytes    int64 // moved by loads, stores and atomics of local memory
	PrivateBytes  int64
	BankConflicts int64 // additional cycles of local memory; see there
}

func (c *Counters) add(o *Counters) {
	c.Instructions += o.Instructions
	c.Groups += o.Groups
	c.Waves += o.Waves
	for k, v := range o.classes() {
		*c.classes()[k] += *v
	}
	c.Lanes += o.Lanes
	c.ActiveLanes += o.ActiveLanes
	c.BytesLoaded += o.BytesLoaded
	c.BytesStored += o.BytesStored
	c.LocalBytes += o.LocalBytes
	c.PrivateBytes += o.PrivateBytes
	c.BankConflicts += o.BankConflicts
}

// Active returns the share of lanes that took part in vector instructions, 0 to
// 1: what is missing went to divergence and to work-groups that do not fill their
// waves. It is 1 when there were none.
func (c *Counters) Active() float64 {
	if c.Lanes > 0 {
		return float64(c.ActiveLanes) / float64(c.Lanes)
	}
	return 1
}

// category is one of the counters by class.
type category uint8

const (
	classControl category = iota
	classScalar
	classVector
	classMatrix
	classScalarMemory
	classVectorMemory
	classLocal
)

func (c *Counters) classes() [7]*int64 {
	return [...]*int64{&c.Control, &c.Scalar, &c.Vector, &c.Matrix, &c.ScalarMemory, &c.VectorMemory, &c.LocalMemory}
}

func classOf(i *instr) category {
	switch name, enc := i.inst.Name(), i.inst.Enc; {
	case enc == isa.SOPP:
		return classControl
	case enc <= isa.SOP2:
		return classScalar
	case strings.HasPrefix(name, "v_mfma"), strings.HasPrefix(name, "v_smfmac"), strings.HasPrefix(name, "v_wmma"), strings.HasPrefix(name, "v_swmmac"):
		return classMatrix
	case enc == isa.SMEM:
		return classScalarMemory
	case enc == isa.DS:
		return classLocal
	case enc == isa.FLAT, enc == isa.MUBUF:
		return classVectorMemory
	}
	return classVector
}

// tally counts one instruction.
func (w *wave) tally(i *instr, n *notes, list []touch) {
	c := w.count
	*c.classes()[n.class]++
	if n.class == classVector || n.class == classVectorMemory || n.class == classLocal {
		c.Lanes += int64(w.size)
		c.ActiveLanes += int64(bits.OnesCount64(w.exec()))
	}
	for k := range list {
		t, size := &list[k], int64(list[k].bytes)
		switch t.space {
		case inLocal:
			c.LocalBytes += size
		case inPrivate:
			c.PrivateBytes += size
		default:
			if n.kind != stores {
				c.BytesLoaded += size
			}
			if n.kind != loads {
				c.BytesStored += size
			}
		}
	}
	if len(list) > 0 && list[0].space == inLocal { // flat instructions go there as well
		c.BankConflicts += conflicts(list)
	}
}

// conflicts counts the cycles that an instruction needs of local memory beyond
// those without conflicts. There are 32 banks of 4 bytes ("Vega" ISA, "Local Data
// Share"); as many lanes as they have words for are served at a time, and lanes
// that want the same word share it.
func conflicts(list []touch) (extra int64) {
	for len(list) > 0 {
		words := int(max(list[0].bytes/4, 1))
		n := min(max(32/words, 1), len(list))
		var banks [32][]uint64
		most := 0
		for k := range list[:n] {
			for at := range uint64(words) {
				word := list[k].addr/4 + at
				b := &banks[word%32]
				known := false
				for _, o := range *b {
					known = known || o == word
				}
				if !known {
					*b = append(*b, word)
					most = max(most, len(*b))
				}
			}
		}
		extra += int64(max(most-1, 0))
		list = list[n:]
	}
	return extra
}
