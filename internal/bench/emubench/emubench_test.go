package emubench

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// What is measured is right: all of saxpy, and the kernels that loop run the same
// on one core and on all.
func TestJobs(t *testing.T) {
	for _, target := range []Target{{Processor: "gfx942", Apart: true}, {Processor: "gfx1100", Apart: true}, {Processor: "gfx1201", Apart: true, Wide: true}} {
		t.Run(target.String(), func(t *testing.T) { jobs(t, target) })
	}
}

func jobs(t *testing.T, target Target) {
	code, err := Compile(t.Context(), llvmtest.Tool(t, "clang++"), t.TempDir(), target)
	if err != nil {
		t.Fatal(err)
	}
	saxpy := Saxpy(code, 4*block)
	want := make([]byte, 0, 16*block)
	for k := range uint32(4 * block) {
		want = binary.LittleEndian.AppendUint32(want, math.Float32bits(float32(k%7)+2.5*float32(k%1000)))
	}
	wants := map[string]string{"saxpy": digest(want), "integer": digest(each(4*block, integer)), "f32": digest(each(4*block, f32))}
	for _, j := range []Job{saxpy, Loop(code, "integer", 4, 50), Loop(code, "f32", 4, 50), Loop(code, "f64", 4, 50), Reduce(code, 4, 10)} {
		one, _, err := j.Run(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		all, whole, err := j.Run(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if one.Result != all.Result || one.Instructions != all.Instructions || one.Instructions == 0 || whole.Seconds() < all.Seconds[0] {
			t.Errorf("%s: %+v on one core, %+v on all in %v", j.Kernel, one, all, whole)
		}
		if want, ok := wants[j.Kernel]; ok && one.Result != want {
			t.Errorf("%s has another result than the same on this CPU", j.Kernel)
		}
	}
}

// each is what a kernel that loops 50 times gives for all work-items.
func each(items uint32, f func(i, n uint32) uint32) (out []byte) {
	for i := range items {
		out = binary.LittleEndian.AppendUint32(out, f(i, 50))
	}
	return out
}

func integer(i, n uint32) uint32 {
	x, y := i, i%block
	for k := range n {
		x = (x^y<<5)&0x7fffffff + x>>3*9
		y = (y + x) ^ x<<11
		if y < x {
			y += k
		} else {
			y = x - y
		}
		x += y & 0xff00ff
	}
	return x + y
}

// f32 rounds after each step; without the conversions Go may fuse them.
func f32(i, n uint32) uint32 {
	x, y := float32(i), float32(i%block)
	for k := range n {
		x = float32(x*0.99) + y
		y = float32(y*0.5) - float32(x*0.25)
		if x > 1e6 {
			x -= 1e6
		} else {
			x++
		}
		y += float32(k)
	}
	return math.Float32bits(x + y)
}

// The protocol with the other program: what it says when it fails, and what it
// gives when it does not.
func TestPeer(t *testing.T) {
	dir := t.TempDir()
	peer := func(script string) *Peer {
		file := filepath.Join(dir, "peer")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		return &Peer{program: file, dir: dir}
	}
	j := Loop(Code{Path: "x.co"}, "f32", 1, 2)
	r, err := peer(`cat > job; echo '{"Seconds":[0.5],"Instructions":7,"Result":"ab"}'`).Run(t.Context(), j)
	if err != nil || r.Seconds[0] != 0.5 || r.Instructions != 7 || r.Result != "ab" {
		t.Error(r, err)
	}
	var got Job
	if text, err := os.ReadFile(filepath.Join(dir, "job")); err != nil || json.Unmarshal(text, &got) != nil || got.Kernel != "f32" || !bytes.Equal(got.Args, j.Args) || len(got.Pointers) != 1 {
		t.Errorf("%s, %v", text, err)
	}
	for script, want := range map[string]string{
		"echo 'opcode 4 of VOP2 is unknown' >&2; echo more >&2; exit 2": "kernel f32: exit status 2: opcode 4 of VOP2 is unknown",
		"echo '{}'": "0 times of 1 runs", "echo no": "invalid character",
	} {
		if _, err := peer(script).Run(t.Context(), j); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", script, err)
		}
	}
	if _, err := BuildPeer(context.Background(), dir, dir); err == nil || !strings.Contains(err.Error(), "MGPUSim cannot be built in "+filepath.Join(dir, "bench")) {
		t.Error(err)
	}
}
