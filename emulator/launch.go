package emulator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/stonemason-hip/stonemason/emulator/isa"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// Dim3 is a size or a place in three dimensions.
type Dim3 struct{ X, Y, Z uint32 }

func (d Dim3) count() uint64 { return uint64(d.X) * uint64(d.Y) * uint64(d.Z) }

// Options of a launch. The zero value runs on all cores without a budget.
type Options struct {
	DynamicLDS    uint32 // bytes of local memory beyond what the kernel declares
	Budget        int64  // wave instructions in all; 0: no bound
	Workers       int    // cores; 0: all
	Deterministic bool   // one worker; work-groups and waves take turns by Seed
	Seed          uint64
	Check         Check  // what to look for beside
	Findings      int    // how many findings of CheckRace and CheckInit are listed; 0: the first ends the launch
	Count         bool   // fill all Counters
	Trace         *Trace // the wave that is followed; nil: none
	Shared        bool   // others change memory meanwhile: that all waves wait does not end the launch
	StackSize     uint32 // private bytes of a work-item where the kernel does not say how many; 0: 16 KiB
	Items         Dim3   // work-items of the grid where the last work-groups are not full; 0: all are

	// What kernels print goes to Output, what they print of failed assertions to
	// ErrorOutput; where that is nil to Output as well. Nil drops it. One write
	// is one call of printf, and no two happen at a time.
	Output, ErrorOutput io.Writer
}

// launch is one kernel over one grid.
type launch struct {
	module  *Module
	program *program
	kernel  *codeobj.LoadedKernel
	grid    Dim3 // in work-groups
	block   Dim3 // of a full work-group
	items   Dim3 // of the grid
	opts    Options
	kernarg *region
	packet  *region // the dispatch packet
	printf  *region // the buffer of printf, where the kernel has one
	grids   *region // what a barrier of the whole grid counts in, where the kernel has one
	host    *host   // nil where the kernel has no hostcalls
	clock   clock
	watch   *watcher // of a launch that is checked
	gws     globalSync
	still   *standstill

	resident uint64 // work-groups that run beside each other, where they wait for each other
	lds      uint32
	private  uint32 // bytes of a work-item
	entry    int32

	registers int // vector registers that may be used, of each kind

	mu     sync.Mutex
	next   uint64 // work-group
	budget int64
	err    error
	total  Counters
}

// ErrBudget says that a launch has used up its instructions.
var ErrBudget = errors.New("the budget of instructions is used up")

// Launch runs a kernel: grid in work-groups, block in work-items, the values of
// the explicit arguments in order, each as the bytes of its type. It returns
// when all work-items have ended; the error is a *Fault, *Findings, ErrBudget, that of the
// context, or says what is wrong with the arguments.
func (m *Module) Launch(ctx context.Context, kernel string, grid, block Dim3, args [][]byte, opts Options) (Counters, error) {
	k, ok := m.obj.Kernel(kernel)
	if !ok {
		return Counters{}, fmt.Errorf("no kernel %q in the code object", kernel)
	}
	l := &launch{module: m, kernel: k, grid: grid, block: block, opts: opts, budget: opts.Budget}
	defer l.release()
	if err := l.prepare(args); err != nil {
		return Counters{}, fmt.Errorf("kernel %s: %w", kernel, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.still = newStandstill(l.workers())
	var wg sync.WaitGroup
	for n := range l.workers() {
		wg.Go(func() {
			wk := &worker{launch: l, number: n, watched: opts.Check != 0 || opts.Count, rng: rand.New(rand.NewPCG(opts.Seed, uint64(n)))}
			if err := wk.work(ctx); err != nil {
				l.fail(err)
				cancel()
			}
			l.mu.Lock()
			l.total.add(&wk.counters)
			l.mu.Unlock()
		})
	}
	wg.Wait()
	if err := l.watch.doubtful(opts.Findings); err != nil {
		l.fail(err)
	}
	if l.printf != nil {
		if err := l.host.printBuffered(l.printf, m.obj.Metadata.Printf); err != nil {
			l.fail(fmt.Errorf("kernel %s: %w", kernel, err))
		}
	}
	if k := l.watch; k != nil && len(k.findings.List) > 0 {
		l.err = errors.Join(l.err, &k.findings)
	}
	return l.total, l.err
}

func (l *launch) workers() int {
	n := l.opts.Workers
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	if l.opts.Deterministic {
		n = 1
	}
	return int(min(uint64(n), l.grid.count()))
}

// fail keeps the first error; that others were cancelled says nothing.
func (l *launch) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

func (l *launch) prepare(args [][]byte) error {
	d := l.kernel.Descriptor
	work := l.block.count()
	limit := l.kernel.MaxFlatWorkgroupSize
	switch {
	case l.grid.X == 0 || l.grid.Y == 0 || l.grid.Z == 0 || l.block.X == 0 || l.block.Y == 0 || l.block.Z == 0:
		return errors.New("an empty grid or work-group")
	case limit > 0 && work > limit:
		return fmt.Errorf("%d work-items in a work-group: the kernel allows %d", work, limit)
	case work > 1024:
		return fmt.Errorf("%d work-items in a work-group: at most 1024", work)
	}
	if err := l.allowed(); err != nil {
		return err
	}
	if l.program = l.module.programs[programOf(d)]; l.program == nil {
		return fmt.Errorf("waves of %d lanes: %s has none", d.Properties.WavefrontSize(), l.module.dev.target)
	}
	l.lds = (d.GroupSegmentFixedSize + l.opts.DynamicLDS + 3) &^ 3
	table, _ := l.module.dev.table.Processor(l.module.dev.target.Processor)
	if int64(l.lds) > int64(table.LDS) {
		return fmt.Errorf("%d bytes of local memory: %s has %d", l.lds, table.Name, table.LDS)
	}
	l.private = d.PrivateSegmentFixedSize
	if l.kernel.UsesDynamicStack || d.Properties.Has(codeobj.PropDynamicStack) {
		extra := l.opts.StackSize
		if extra == 0 {
			extra = 16 << 10
		}
		l.private += extra
	}
	l.private = (l.private + 3) &^ 3
	if l.private > maxPrivate {
		return fmt.Errorf("%d private bytes of a work-item: at most %d", l.private, maxPrivate)
	}
	l.registers = int(min(max(l.kernel.VGPRCount, 4), firstAGPR))
	if l.opts.Check != 0 {
		l.watch = newWatcher(l)
	}
	if l.opts.Check&CheckInit == 0 { // nobody will know what this launch writes
		for _, r := range l.module.dev.mem.regions() {
			r.known.Store(true)
		}
	}
	p := l.program
	if l.kernel.Entry < p.base || (l.kernel.Entry-p.base)/4 >= uint64(len(p.code)) {
		return errors.New("its code is not in the code that was loaded")
	}
	l.findResident()
	l.entry = int32((l.kernel.Entry - p.base) / 4)
	return l.arguments(args)
}

// maxArguments is what a kernel may have of them, in bytes: far more than compilers allow.
const maxArguments = 1 << 20

// arguments lays out the kernarg segment and the dispatch packet.
func (l *launch) arguments(args [][]byte) error {
	mem := &l.module.dev.mem
	size := max(l.kernel.KernargSegmentSize, uint64(l.kernel.Descriptor.KernargSize))
	if size > maxArguments {
		return fmt.Errorf("%d bytes of arguments: at most %d", size, maxArguments)
	}
	var err error
	// In whole lines: LLVM loads eight words where a kernel has seven.
	if l.kernarg, err = mem.alloc((size+63)&^63, "kernel arguments", false); err != nil {
		return err
	}
	if l.packet, err = mem.alloc(64, "dispatch packet", false); err != nil {
		return err
	}
	explicit := 0
	for _, a := range l.kernel.Args {
		at := l.kernarg.data[a.Offset : a.Offset+a.Size]
		if a.Hidden() {
			if err := l.hidden(a.ValueKind, at); err != nil {
				return err
			}
			continue
		}
		if explicit >= len(args) {
			return fmt.Errorf("argument %d (%s) is missing", explicit, a.Name)
		}
		if len(args[explicit]) != len(at) {
			return fmt.Errorf("argument %d (%s): %d bytes, want %d", explicit, a.Name, len(args[explicit]), len(at))
		}
		copy(at, args[explicit])
		explicit++
	}
	if explicit != len(args) {
		return fmt.Errorf("%d arguments, want %d", len(args), explicit)
	}
	// hsa_kernel_dispatch_packet_t (HSA runtime specification, 2.9).
	le, p := binary.LittleEndian, l.packet.data
	le.PutUint16(p[2:], uint16(l.dimensions()))
	for n, v := range []uint32{l.block.X, l.block.Y, l.block.Z} {
		le.PutUint16(p[4+2*n:], uint16(v))
	}
	for n, v := range []uint32{l.items.X, l.items.Y, l.items.Z} {
		le.PutUint32(p[12+4*n:], v)
	}
	le.PutUint32(p[24:], l.private)
	le.PutUint32(p[28:], l.lds)
	le.PutUint64(p[32:], l.module.image.base-l.module.low+l.kernel.DescriptorAddr)
	le.PutUint64(p[40:], l.kernarg.base)
	return nil
}

// hidden fills in an argument that the compiler added (AMDGPUUsage, "Code Object
// V5 Kernel Argument Metadata").
func (l *launch) hidden(kind string, at []byte) (err error) {
	put := func(v uint64) {
		for i := range at {
			at[i] = byte(v >> (8 * i))
		}
	}
	switch kind {
	case "hidden_block_count_x":
		put(uint64(l.items.X / l.block.X)) // those that are full
	case "hidden_block_count_y":
		put(uint64(l.items.Y / l.block.Y))
	case "hidden_block_count_z":
		put(uint64(l.items.Z / l.block.Z))
	case "hidden_group_size_x":
		put(uint64(l.block.X))
	case "hidden_group_size_y":
		put(uint64(l.block.Y))
	case "hidden_group_size_z":
		put(uint64(l.block.Z))
	case "hidden_remainder_x":
		put(uint64(l.items.X % l.block.X))
	case "hidden_remainder_y":
		put(uint64(l.items.Y % l.block.Y))
	case "hidden_remainder_z":
		put(uint64(l.items.Z % l.block.Z))
	case "hidden_grid_dims":
		put(l.dimensions())
	case "hidden_private_base":
		put(privateAperture >> 32)
	case "hidden_shared_base":
		put(sharedAperture >> 32)
	case "hidden_dynamic_lds_size":
		put(uint64(l.opts.DynamicLDS))
	case "hidden_hostcall_buffer":
		if err = l.needHost(); err == nil {
			put(l.host.buffer.base)
		}
	case "hidden_printf_buffer":
		if err = l.needHost(); err != nil {
			return err
		}
		if l.printf, err = l.module.dev.mem.alloc(printfBufferSize, "printf buffer", true); err == nil {
			l.printf.quiet = true
			binary.LittleEndian.PutUint32(l.printf.data[4:], printfBufferSize)
			put(l.printf.base)
		}
	case "hidden_multigrid_sync_arg":
		if l.grids, err = l.module.dev.mem.alloc(gridInfoSize, "state of the grid's barrier", true); err == nil {
			l.grids.quiet = true
			binary.LittleEndian.PutUint32(l.grids.data[gridInfoGroups:], uint32(l.grid.count()))
			put(l.grids.base)
		}
	case "hidden_heap_v1":
		var heap *region
		if heap, err = l.module.dev.heapState(); err == nil {
			put(heap.base)
		}
	default:
		err = zeroArgument(kind)
	}
	return err
}

// needHost sets hostcalls up: a packet for each wave that the workers may have
// running at a time.
func (l *launch) needHost() (err error) {
	if l.host == nil {
		groups := min(max(uint64(l.workers())*maxActive, l.resident), l.grid.count())
		l.host, err = newHost(l, groups*l.waves())
	}
	return err
}

func (l *launch) release() {
	list := []*region{l.kernarg, l.packet, l.printf, l.grids}
	if l.host != nil {
		list = append(list, l.host.buffer)
	}
	for _, r := range list {
		if r != nil {
			_ = l.module.dev.mem.free(Pointer(r.base)) // it was allocated here
		}
	}
}

// take hands out the next work-group.
func (l *launch) take() (uint64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next >= l.grid.count() {
		return 0, false
	}
	l.next++
	return l.next - 1, true
}

// more reports whether there are work-groups that have not begun, begun how many have,
// of how many.
func (l *launch) more() bool {
	begun, all := l.begun()
	return begun < all
}

func (l *launch) begun() (begun, all uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next, l.grid.count()
}

// spend takes instructions from the budget.
func (l *launch) spend(n int64) error {
	if l.opts.Budget <= 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.budget -= n; l.budget < 0 {
		return fmt.Errorf("kernel %s: %w (%d)", l.kernel.Name, ErrBudget, l.opts.Budget)
	}
	return nil
}

// start gives a wave the registers that a kernel finds (AMDGPUUsage, "Initial
// Kernel Execution State").
func (l *launch) start(w *wave, g *group) {
	d, gen := l.kernel.Descriptor, l.module.dev.gen
	w.pc = l.entry
	w.size = uint32(l.program.decoder.WaveSize())
	w.small = w.size < lanes
	w.mode = modeAtStart(d.Rsrc1, gen)
	w.chooseCode()
	at := uint16(0)
	put := func(v uint32) {
		if at < isa.FlatScratch {
			w.s[at] = v
		}
		at++
	}
	put64 := func(v uint64) { put(uint32(v)); put(uint32(v >> 32)) }
	props := d.Properties
	if props.Has(codeobj.PropPrivateSegmentBuffer) {
		// A descriptor that says what mubuf.go takes for scratch: swizzled, with
		// the lane added.
		put64(0)
		put(l.private * lanes)
		put(scratchDescriptor)
	}
	if props.Has(codeobj.PropDispatchPtr) {
		put64(l.packet.base)
	}
	if props.Has(codeobj.PropQueuePtr) {
		put64(0)
	}
	if props.Has(codeobj.PropKernargSegmentPtr) {
		put64(l.kernarg.base)
	}
	if props.Has(codeobj.PropDispatchID) {
		put64(0)
	}
	if props.Has(codeobj.PropFlatScratchInit) {
		put64(0)
	}
	if props.Has(codeobj.PropPrivateSegmentSize) {
		put(l.private)
	}
	for n := range d.KernargPreloadLength() {
		off := uint64(d.KernargPreloadOffset()+n) * 4
		if off+4 <= l.kernarg.size {
			put(load32(l.kernarg.data, off))
		}
	}
	at = uint16(d.Rsrc2.UserSGPRs())
	if gen.archIDs {
		w.s[isa.TTMP0+9], w.s[isa.TTMP0+7] = g.id.X, g.id.Y&0xffff|g.id.Z<<16
		w.s[isa.TTMP0+8] = uint32(w.number) << 25
	} else {
		if d.Rsrc2.WorkgroupIDX() {
			put(g.id.X)
		}
		if d.Rsrc2.WorkgroupIDY() {
			put(g.id.Y)
		}
		if d.Rsrc2.WorkgroupIDZ() {
			put(g.id.Z)
		}
		if d.Rsrc2.WorkgroupInfo() {
			put(0)
		}
	}
	if d.Rsrc2.PrivateSegment() && !gen.archScratch {
		put(0) // where the wave's scratch begins: each has its own
	}
	exec := uint64(0)
	for lane := range w.size {
		item := uint32(w.number)*w.size + lane
		if uint64(item) >= g.block.count() {
			break
		}
		exec |= 1 << lane
		x, y, z := item%g.block.X, item/g.block.X%g.block.Y, item/g.block.X/g.block.Y
		if gen.packedIDs {
			w.v[0][lane] = x | y<<10 | z<<20
			continue
		}
		w.v[0][lane] = x
		if d.Rsrc2.WorkitemID() > 0 {
			w.v[1][lane] = y
		}
		if d.Rsrc2.WorkitemID() > 1 {
			w.v[2][lane] = z
		}
	}
	w.setPair(isa.Exec, exec)
}
