package emulator

import (
	"os"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// What HIP can compile and no emulator of ours runs ends the launch with a fault that says
// what it is: rays and textures by builtin, the rest in assembly.
func TestInstructionsOfGraphics(t *testing.T) {
	const rays = `typedef float f4 __attribute__((ext_vector_type(4))); typedef u32 u4 __attribute__((ext_vector_type(4)));
KERNEL run(u32 *out, u4 d) { f4 o = {1, 2, 3, 0}; u4 r = __builtin_amdgcn_image_bvh_intersect_ray(out[1], 5.0f, o, o, o, d); out[0] = r.x; }`
	asm := func(text string) string {
		return `KERNEL run(u32 *out) { asm volatile("` + text + `" ::: "memory", "v10", "v11", "v12", "v13", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11"); out[0] = 1; }`
	}
	for _, c := range []struct{ arch, source, want string }{
		{"gfx1030", rays, ofImages}, {"gfx1100", rays, ofImages}, {"gfx1201", rays, ofImages},
		{"gfx900", asm("image_load v[10:13], v10, s[4:11] dmask:0xf unorm"), ofImages},
		{"gfx1100", asm("image_load v[10:13], v10, s[4:11] dmask:0xf dim:SQ_RSRC_IMG_1D"), ofImages},
		{"gfx1201", asm("image_sample v[10:13], [v10, v11], s[4:11], s[4:7] dmask:0xf dim:SQ_RSRC_IMG_2D"), ofImages},
		{"gfx942", asm("tbuffer_load_format_x v10, off, s[4:7], 0"), ofTyped},
		{"gfx1030", asm("tbuffer_load_format_x v10, off, s[4:7], 0 format:22"), ofTyped},
		{"gfx1201", asm("tbuffer_store_format_xyzw v[10:13], off, s[4:7], s4 format:22"), ofTyped},
		{"gfx900", asm("exp mrt0 v10, v11, v12, v13"), ofExports},
		{"gfx1030", asm("exp mrt0 v10, v11, v12, v13"), ofExports},
		{"gfx1201", asm("export mrt0 v10, v11, v12, v13"), ofExports},
		{"gfx900", asm("v_interp_p1_f32 v10, v11, attr0.x"), ofPixels},
		{"gfx1030", asm("v_interp_p1_f32 v10, v11, attr0.x"), ofPixels},
		{"gfx1100", asm("v_interp_p10_f32 v10, v11, v12, v13"), ofPixels},
		{"gfx1201", asm("ds_direct_load v10"), ofPixels},
		{"gfx1100", asm(".long 0xd7ff0000"), "no instruction: 0xd7ff0000"},
	} {
		d, err := NewDevice(c.arch)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(llvmtest.HIP(t, prelude+c.source, c.arch, "-O2"))
		if err != nil {
			t.Fatal(err)
		}
		m, err := d.Load(data)
		if err != nil {
			t.Fatal(err)
		}
		po, _ := alloc(t, m, 64)
		args := [][]byte{u64arg(uint64(po))}
		if c.source == rays {
			args = append(args, make([]byte, 16))
		}
		_, err = m.Launch(t.Context(), "run", Dim3{1, 1, 1}, Dim3{32, 1, 1}, args, Options{Budget: 1000})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.arch, err, c.want)
		}
	}
}
