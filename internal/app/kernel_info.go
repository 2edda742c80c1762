package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/interrupt"
	"github.com/stonemason-hip/stonemason/internal/ui"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// KernelInfoOptions are the options of kernel:info.
type KernelInfoOptions struct {
	KernelOptions
	// Kernel names one of several, as a launch file does.
	Kernel string
	// Block is the work-items of a work-group, and LDS its dynamic local memory,
	// for which the occupancy is said; 0 is the most that the kernel allows.
	Block, LDS int
	// Disassemble prints the instructions of the kernels, and of the functions that
	// stand beside them.
	Disassemble bool
}

// codeInfo is one code object, as kernel:info prints it as JSON.
type codeInfo struct {
	File    string       `json:"file"`
	Entry   string       `json:"entry,omitempty"` // of the bundle
	Target  string       `json:"target"`
	Version int          `json:"code_object_version"`
	Bytes   int          `json:"bytes"`
	Kernels []kernelInfo `json:"kernels"`
}

type kernelInfo struct {
	Name      string              `json:"name"`   // as in the source
	Symbol    string              `json:"symbol"` // mangled
	Args      []argInfo           `json:"args"`
	VGPRs     uint64              `json:"vgprs"` // AGPRs included where they are unified
	AGPRs     uint64              `json:"agprs"`
	SGPRs     uint64              `json:"sgprs"`
	Spilled   uint64              `json:"spilled_registers"`
	LDS       uint64              `json:"lds_bytes"`     // static
	Scratch   uint64              `json:"scratch_bytes"` // of a work-item
	Stack     bool                `json:"dynamic_stack"`
	Kernarg   uint64              `json:"kernarg_bytes"`
	Wave      uint64              `json:"wave"`
	Items     uint64              `json:"max_work_group"`
	CodeBytes uint64              `json:"code_bytes"`
	Occupancy []codeobj.Occupancy `json:"occupancy"`

	loaded *codeobj.LoadedKernel
}

type argInfo struct {
	Name   string `json:"name,omitempty"`
	Type   string `json:"type,omitempty"`
	Offset uint64 `json:"offset"`
	Size   uint64 `json:"size"`
	Kind   string `json:"kind"`
	Space  string `json:"address_space,omitempty"`
	Hidden bool   `json:"hidden"`
}

// KernelInfo prints what is known of the kernels of a source or of a file with code
// objects.
func (a *App) KernelInfo(ctx context.Context, o KernelInfoOptions) error {
	ctx, listening := interrupt.Context(ctx)
	defer listening()
	if err := checkFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	if o.Block < 0 || o.Block > 1024 || o.LDS < 0 {
		return exit.Withf(exit.Usage, "-block is 1 to 1024 work-items, -lds a number of bytes")
	}
	if o.Disassemble && o.Format == "json" {
		return exit.Withf(exit.Usage, "-disassemble is text: leave -format=json out")
	}
	if err := a.checkFile("kernel:info", o.KernelOptions); err != nil {
		return err
	}
	gpus, err := a.gpusOf(o.KernelOptions)
	if err != nil {
		return err
	}
	if len(gpus) == 0 {
		gpus = []string{""}
	}
	var infos []codeInfo
	for _, name := range gpus {
		o.GPU = name
		more, err := a.infoOn(ctx, o, len(gpus) > 1)
		if err != nil {
			return err
		}
		infos = append(infos, more...)
	}
	if o.Format == "json" {
		return a.json(infos)
	}
	if len(infos) > 1 {
		return a.tellResources(infos)
	}
	return nil
}

// infoOn prints what there is for one GPU, or all that there is where none is said.
func (a *App) infoOn(ctx context.Context, o KernelInfoOptions, many bool) ([]codeInfo, error) {
	table, err := gpu.Load()
	if err != nil {
		return nil, err
	}
	data, target, err := a.kernelCode(ctx, o.KernelOptions, false)
	if err != nil {
		return nil, stopped(ctx, err)
	}
	list, err := codeobj.Slices(data, codeobj.Limits{})
	if err != nil {
		return nil, exit.Withf(exit.Config, "%s: %w", o.File, err)
	}
	var infos []codeInfo
	for _, s := range list {
		obj, err := codeobj.Parse(s.Data)
		if err != nil {
			return nil, exit.Withf(exit.Config, "%s: %s: %w", o.File, s.ID, err)
		}
		t, err := obj.Target(table)
		if err != nil {
			return nil, exit.Withf(exit.Config, "%s: %s: %w", o.File, s.ID, err)
		}
		if o.GPU != "" && !table.Runs(t.ID, target.ID) {
			continue
		}
		info, err := o.describe(obj, t, table)
		if err != nil {
			return nil, exit.Withf(exit.Usage, "%s: %w", o.File, err)
		}
		info.File, info.Entry, info.Bytes = o.File, s.ID, len(s.Data)
		infos = append(infos, info)
		if o.Format == "json" {
			continue
		}
		if err := a.tellCode(info); err != nil {
			return nil, err
		}
		if o.Disassemble {
			if err := a.disassemble(obj, t, info.Kernels); err != nil {
				return nil, err
			}
		}
		if many || len(list) > 1 {
			fmt.Fprintln(a.Out)
		}
	}
	if infos == nil {
		return nil, exit.Withf(exit.Config, "%s: none of its %s runs on %s", o.File, plural(len(list), "code object", "code objects"), target)
	}
	return infos, nil
}

// tellResources prints what the kernels of several code objects need, beside each other.
func (a *App) tellResources(infos []codeInfo) error {
	var rows [][]string
	for _, c := range infos {
		for _, k := range c.Kernels {
			for _, occ := range k.Occupancy {
				rows = append(rows, []string{codeobj.SignatureOf(k.Symbol).Name, occ.GPU, fmt.Sprint(k.Wave), fmt.Sprint(k.VGPRs), fmt.Sprint(k.AGPRs), fmt.Sprint(k.SGPRs), fmt.Sprint(k.Spilled),
					fmt.Sprint(k.LDS), fmt.Sprint(k.Scratch), fmt.Sprint(k.CodeBytes), fmt.Sprintf("%d of %d", occ.Waves, occ.Most), occ.Limit})
			}
		}
	}
	r := ui.Right
	return ui.Table(a.Out, a.look(), []string{"kernel", "GPU", "wave", "VGPRs", "AGPRs", "SGPRs", "spilled", "local", "private", "code", "waves a SIMD", "for want of"}, rows,
		ui.TableOptions{Align: []ui.Align{ui.Left, ui.Left, r, r, r, r, r, r, r, r, r, ui.Left}, Flex: 1})
}

func (o KernelInfoOptions) describe(obj *codeobj.Object, t gpu.Target, table *gpu.Table) (codeInfo, error) {
	info := codeInfo{Target: t.String(), Version: obj.Version, Kernels: []kernelInfo{}}
	kernels := obj.Kernels
	if o.Kernel != "" {
		k, err := obj.FindKernel(o.Kernel)
		if err != nil {
			return info, err
		}
		kernels = []codeobj.LoadedKernel{*k}
	}
	gpus := []gpu.Processor{t.Processor}
	if t.Generic() {
		gpus = nil
		for _, name := range t.Covers {
			p, _ := table.Processor(name)
			gpus = append(gpus, p)
		}
	}
	for i := range kernels {
		k := &kernels[i]
		sig := codeobj.SignatureOf(k.Name)
		one := kernelInfo{Name: sig.Full, Symbol: k.Name, VGPRs: k.VGPRCount, AGPRs: k.AGPRCount, SGPRs: k.SGPRCount, Spilled: k.SGPRSpillCount + k.VGPRSpillCount,
			LDS: k.GroupSegmentFixedSize, Scratch: k.PrivateSegmentFixedSize, Stack: k.UsesDynamicStack, Kernarg: k.KernargSegmentSize,
			Wave: k.WavefrontSize, Items: k.MaxFlatWorkgroupSize, CodeBytes: k.CodeSize, loaded: k, Args: []argInfo{}}
		explicit := 0
		for _, arg := range k.Args {
			x := argInfo{Name: arg.Name, Offset: arg.Offset, Size: arg.Size, Kind: arg.ValueKind, Space: arg.AddressSpace, Hidden: arg.Hidden()}
			if !arg.Hidden() {
				if explicit < len(sig.Params) {
					x.Type = sig.Params[explicit]
				}
				explicit++
			}
			one.Args = append(one.Args, x)
		}
		items := o.Block
		if items == 0 {
			items = int(min(k.MaxFlatWorkgroupSize, 1024))
		}
		for _, p := range gpus {
			one.Occupancy = append(one.Occupancy, k.Occupancy(p, items, o.LDS))
		}
		info.Kernels = append(info.Kernels, one)
	}
	return info, nil
}

func (a *App) tellCode(c codeInfo) error {
	name := c.File
	if c.Entry != "" {
		name += ": " + c.Entry
	}
	fmt.Fprintf(a.Out, "%s: code object version %d for %s, %d bytes, %s\n", name, c.Version, c.Target, c.Bytes, plural(len(c.Kernels), "kernel", "kernels"))
	for _, k := range c.Kernels {
		fmt.Fprintf(a.Out, "\n%s\n", k.Name)
		if k.Symbol != k.Name {
			fmt.Fprintf(a.Out, "  symbol     %s\n", k.Symbol)
		}
		fmt.Fprintf(a.Out, "  registers  %d VGPRs", k.VGPRs)
		if k.AGPRs > 0 {
			fmt.Fprintf(a.Out, ", %d AGPRs", k.AGPRs)
		}
		fmt.Fprintf(a.Out, ", %d SGPRs", k.SGPRs)
		if k.Spilled > 0 {
			fmt.Fprintf(a.Out, ", %d spilled", k.Spilled)
		}
		fmt.Fprintf(a.Out, "\n  memory     %d bytes local, %d private", k.LDS, k.Scratch)
		if k.Stack {
			fmt.Fprintf(a.Out, " and a stack")
		}
		fmt.Fprintf(a.Out, ", %d of arguments, %d of code\n", k.Kernarg, k.CodeBytes)
		fmt.Fprintf(a.Out, "  size       waves of %d, work-groups of at most %d\n", k.Wave, k.Items)
		for i, occ := range k.Occupancy {
			label := ""
			if i == 0 {
				label = "occupancy"
			}
			fmt.Fprintf(a.Out, "  %-9s  %s: %d of %d waves a SIMD", label, occ.GPU, occ.Waves, occ.Most)
			if occ.Limit != "" {
				fmt.Fprintf(a.Out, ", for want of %s", occ.Limit)
			}
			fmt.Fprintln(a.Out)
		}
		var rows [][]string
		for _, arg := range k.Args {
			rows = append(rows, []string{fmt.Sprint(arg.Offset), fmt.Sprint(arg.Size), arg.Kind, arg.Space, arg.Type, arg.Name})
		}
		if len(rows) == 0 {
			continue
		}
		err := ui.Table(a.Out, a.look(), []string{"offset", "size", "kind", "space", "type", "name"}, rows,
			ui.TableOptions{Align: []ui.Align{ui.Right, ui.Right, ui.Left, ui.Left, ui.Left, ui.Left}, Flex: 5})
		if err != nil {
			return err
		}
	}
	return nil
}

// disassemble prints the code of the kernels, and of the functions that are none.
func (a *App) disassemble(obj *codeobj.Object, t gpu.Target, kernels []kernelInfo) error {
	decoder := isa.NewDecoder
	for _, k := range kernels { // a compilation has waves of one size, its functions too
		if k.Wave == 64 {
			decoder = isa.NewWave64Decoder
		}
	}
	dec, err := decoder(t.Name)
	if err != nil && t.Generic() {
		for _, name := range t.Covers {
			if dec, err = decoder(name); err == nil {
				break
			}
		}
	}
	if err != nil {
		return exit.With(exit.Unsupported, err)
	}
	all := map[uint64]bool{}
	for i := range obj.Kernels {
		all[obj.Kernels[i].Entry] = true
	}
	source := a.sourceLines(obj)
	wanted := map[uint64]bool{}
	for _, k := range kernels {
		wanted[k.loaded.Entry] = true
	}
	for _, s := range obj.Symbols {
		if s.Type != codeobj.SymbolFunc || !s.Defined() || s.Size == 0 || all[s.Value] && !wanted[s.Value] {
			continue
		}
		code, err := obj.At(s.Value, s.Size)
		if err != nil {
			return exit.Withf(exit.Config, "%s: %w", s.Name, err)
		}
		fmt.Fprintf(a.Out, "\n%s:\n", codeobj.SignatureOf(s.Name).Full)
		a.instructions(dec, s.Value, code, source)
	}
	return nil
}

// instructions prints code: the line of the source where it changes, and of a branch
// where it goes.
func (a *App) instructions(dec *isa.Decoder, at uint64, code []byte, source *sourceLines) {
	var b strings.Builder
	last := ""
	for len(code) >= 4 {
		if now := source.at(at); now != "" && now != last {
			last = now
			fmt.Fprintf(a.Out, "  ; %s\n", last)
		}
		size := 4
		text := ""
		inst, err := dec.Decode(code)
		if err != nil {
			text = "; " + err.Error()
		} else {
			size, text = int(inst.Size), inst.String()
			for _, o := range inst.Args() {
				if o.Form == isa.FormBranch {
					text += fmt.Sprintf("  ; to %x", at+uint64(size)+uint64(4*int64(o.Signed())))
				}
			}
		}
		b.Reset()
		for i := size; i > 0; i -= 4 {
			word := code[size-i : size-i+4]
			fmt.Fprintf(&b, " %02x%02x%02x%02x", word[3], word[2], word[1], word[0])
		}
		fmt.Fprintf(a.Out, "  %6x: %-18s %s\n", at, b.String()[1:], text)
		at, code = at+uint64(size), code[size:]
	}
}
