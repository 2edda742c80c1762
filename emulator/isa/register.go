package isa

// Register writes a register, or a run of width of them, as llvm-objdump does. The
// kind is SGPR, VGPR or AGPR, and the numbers of scalar ones are those of operands.
func (d *Decoder) Register(kind Kind, first uint32, width uint8) string {
	i := Inst{family: d.column.family}
	return i.text(Operand{Kind: kind, Value: first, Width: max(width, 1)})
}
