package emulator

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// There is a device of every GPU from GFX9 on, except those of gfx1250's kind; and a
// device for every generic target.
func TestDevicesOfAllProcessors(t *testing.T) {
	table, err := gpu.Load()
	if err != nil {
		t.Fatal(err)
	}
	list, err := Processors()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range table.Processors() {
		name, ok := DeviceFor(gpu.Target{Processor: p, ID: gpu.TargetID{Processor: p.Name}})
		old := strings.HasPrefix(p.Name, "gfx7") || strings.HasPrefix(p.Name, "gfx8")
		if want := !old && !strings.HasPrefix(p.Name, "gfx125"); ok != want {
			t.Errorf("%s: a device: %v, want %v", p.Name, ok, want)
		}
		if p.Generic() {
			if name != p.Covers[0] {
				t.Errorf("%s runs on %q, want %q", p.Name, name, p.Covers[0])
			}
			if _, err := NewDevice(p.Name); err == nil || !strings.Contains(err.Error(), "code for several processors") {
				t.Errorf("%s as a device: %v", p.Name, err)
			}
			continue
		}
		if slices.Contains(list, p.Name) != ok || ok && name != p.Name {
			t.Errorf("%s: %q, %v; listed: %v", p.Name, name, ok, slices.Contains(list, p.Name))
		}
		dev, err := NewDevice(p.Name)
		switch {
		case !ok && (err == nil || !strings.Contains(err.Error(), p.Name+" is not emulated: what is are gfx900, gfx902,")):
			t.Errorf("%s: %v", p.Name, err)
		case ok && err != nil:
			t.Errorf("%s: %v", p.Name, err)
		case ok && (dev.decoder.Processor() != p.Name || (dev.narrow != nil) != strings.HasPrefix(p.Name, "gfx1")):
			t.Errorf("%s: decodes as %s", p.Name, dev.decoder.Processor())
		}
	}
}

// Which code a device takes is what its target id says: of a generic target that
// covers it, and with the settings that it has.
func TestDevicesTakeTheirCode(t *testing.T) {
	const src = "__global__ void k(int *p) { *p = 1; }"
	for code, devices := range map[string]map[string]bool{
		"gfx9-generic":    {"gfx900": true, "gfx902": true, "gfx904": true, "gfx906": true, "gfx909:xnack+": true, "gfx90c": true, "gfx908": false, "gfx90a": false, "gfx942": false},
		"gfx9-4-generic":  {"gfx942": true, "gfx950": true, "gfx90a": false},
		"gfx10-1-generic": {"gfx1010": true, "gfx1011": true, "gfx1012": true, "gfx1013": true, "gfx1030": false},
		"gfx10-3-generic": {"gfx1030": true, "gfx1033": true, "gfx1036": true, "gfx1013": false},
		"gfx11-generic":   {"gfx1103": true, "gfx1150": true, "gfx1153": true, "gfx1200": false},
		"gfx12-generic":   {"gfx1200": true, "gfx1201": true, "gfx1153": false},
		"gfx902":          {"gfx902": true, "gfx902:xnack-": true, "gfx900": false},
		"gfx90c:xnack-":   {"gfx90c": false, "gfx90c:xnack+": false, "gfx90c:xnack-": true},
		"gfx1012:xnack+":  {"gfx1012:xnack+": true, "gfx1012:xnack-": false, "gfx1011:xnack+": false},
		"gfx1103":         {"gfx1103": true, "gfx1102": false},
	} {
		data, err := os.ReadFile(llvmtest.HIP(t, src, code, "-mcode-object-version=6", "-O1"))
		if err != nil {
			t.Fatal(err)
		}
		for device, runs := range devices {
			dev, err := NewDevice(device)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := dev.Load(data); (err == nil) != runs {
				t.Errorf("code for %s on %s: %v", code, device, err)
			}
		}
	}
	for _, target := range []string{"gfx1030:xnack+", "gfx1010:sramecc+", "gfx1151:xnack-"} {
		if _, err := NewDevice(target); err == nil || !strings.Contains(err.Error(), "leave the feature out") {
			t.Errorf("%s: %v", target, err)
		}
	}
}
