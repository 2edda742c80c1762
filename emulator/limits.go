package emulator

import (
	"fmt"
	"math"
	"math/bits"
)

// Limits of what is launched. A grid has no more work-items in a dimension than the
// dispatch packet can say, and on gfx12 a work-group is named by 16 bits in y and z.
const (
	maxItems   = math.MaxUint32
	maxBlock   = 1024
	maxPrivate = 1 << 22 // bytes of a work-item
	maxGroups  = 1 << 62
)

// allowed checks what a launch is asked for against the kernel and the device, in
// numbers that do not overflow, and says how many work-items there are.
func (l *launch) allowed() error {
	k, d := l.kernel, l.kernel.Descriptor
	axes := [3]struct {
		name               byte
		grid, block, items uint32
		to                 *uint32
	}{{'x', l.grid.X, l.block.X, l.opts.Items.X, &l.items.X}, {'y', l.grid.Y, l.block.Y, l.opts.Items.Y, &l.items.Y}, {'z', l.grid.Z, l.block.Z, l.opts.Items.Z, &l.items.Z}}
	for n, a := range axes {
		all := uint64(a.grid) * uint64(a.block)
		switch {
		case a.block > maxBlock:
			return fmt.Errorf("%d work-items in a work-group: at most %d", a.block, maxBlock)
		case len(k.ReqdWorkgroupSize) == 3 && k.ReqdWorkgroupSize[n] != uint64(a.block):
			return fmt.Errorf("%d work-items in %c of a work-group: the kernel is made for %d", a.block, a.name, k.ReqdWorkgroupSize[n])
		case all > maxItems:
			return fmt.Errorf("%d work-items in %c: at most %d", all, a.name, uint32(maxItems))
		case l.module.dev.gen.archIDs && n > 0 && a.grid > 1<<16:
			return fmt.Errorf("%d work-groups in %c: %s has at most %d", a.grid, a.name, l.module.dev.target.Processor, 1<<16)
		case a.items == 0:
			a.items = uint32(all)
		case uint64(a.items) > all || all-uint64(a.items) >= uint64(a.block):
			return fmt.Errorf("%d work-items in %c are not those of %d work-groups of %d", a.items, a.name, a.grid, a.block)
		case uint64(a.items) != all && k.UniformWorkGroupSize == 1:
			return fmt.Errorf("%d work-items in %c do not fill %d work-groups of %d: the kernel wants them full (it was compiled with -foffload-uniform-block)", a.items, a.name, a.grid, a.block)
		}
		*a.to = a.items
	}
	if high, low := bits.Mul64(uint64(l.grid.X)*uint64(l.grid.Y), uint64(l.grid.Z)); high != 0 || low > maxGroups {
		return fmt.Errorf("a grid of %d×%d×%d work-groups is too large", l.grid.X, l.grid.Y, l.grid.Z)
	}
	if local := uint64(d.GroupSegmentFixedSize) + uint64(l.opts.DynamicLDS); local > 1<<31 {
		return fmt.Errorf("%d bytes of local memory: no GPU has so much", local)
	}
	if private := uint64(d.PrivateSegmentFixedSize) + uint64(l.opts.StackSize); private > maxPrivate {
		return fmt.Errorf("%d private bytes of a work-item: at most %d", private, maxPrivate)
	}
	if d.Rsrc2.FloatExceptions() != 0 {
		return fmt.Errorf("its descriptor lets floats trap (COMPUTE_PGM_RSRC2 is 0x%x): %s", uint32(d.Rsrc2), exceptionsRefused)
	}
	for n, a := range k.Args {
		switch a.ValueKind {
		case "image", "sampler", "pipe", "queue":
			return fmt.Errorf("argument %d (%s) is of kind %s, which is not supported", n, a.Name, a.ValueKind)
		}
	}
	return nil
}

// dimensions is how many of them the grid has.
func (l *launch) dimensions() uint64 {
	switch {
	case l.items.Z > 1:
		return 3
	case l.items.Y > 1:
		return 2
	}
	return 1
}

// blockOf is the size of a work-group: the last ones of a dimension may have less.
func (l *launch) blockOf(id Dim3) Dim3 {
	rest := func(all, id, block uint32) uint32 {
		return uint32(min(uint64(all)-uint64(id)*uint64(block), uint64(block)))
	}
	return Dim3{rest(l.items.X, id.X, l.block.X), rest(l.items.Y, id.Y, l.block.Y), rest(l.items.Z, id.Z, l.block.Z)}
}

// zeroArgument names the hidden arguments that are zero here: grids begin at zero, a
// queue is not needed, and kernels start no others. What nobody knows is an error: a
// kernel would go by a zero that may mean something else.
func zeroArgument(kind string) error {
	switch kind {
	case "hidden_none", "hidden_global_offset_x", "hidden_global_offset_y", "hidden_global_offset_z",
		"hidden_queue_ptr", "hidden_default_queue", "hidden_completion_action":
		return nil
	}
	return fmt.Errorf("the hidden argument %q is not known", kind)
}
