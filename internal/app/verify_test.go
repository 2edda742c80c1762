package app

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// An archive for a Mac is told by its images, unpacked, audited and removed.
func TestVerifyMacArchive(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	stub := filepath.Join(dir, "libSystem.tbd")
	if err := os.WriteFile(stub, []byte("--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\ninstall-name: /usr/lib/libSystem.B.dylib\nexports:\n  - targets: [ arm64-macos ]\n    symbols: [ _puts ]\n...\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(dir, "libx.1.dylib")
	cmd := exec.Command(llvmtest.Tool(t, "clang"), "--target=arm64-apple-macos14.0", "-ffreestanding", "-nostdlib", "-fuse-ld=lld", "--ld-path="+llvmtest.Tool(t, "ld64.lld"),
		"-dynamiclib", "-install_name", "@rpath/libx.1.dylib", "-Wl,-headerpad,0x800", "-x", "c", "-", "-x", "none", stub, "-o", lib)
	cmd.Stdin = strings.NewReader("int puts(const char *); int x(void) { return puts(\"x\"); }")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	image, err := os.ReadFile(lib)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(names map[string][]byte, host string) (map[string]any, error) {
		t.Helper()
		var packed bytes.Buffer
		z := zip.NewWriter(&packed)
		for name, content := range names {
			w, err := z.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(content); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "theirs.zip")
		if err := os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := os.Create(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		a := &App{Dir: dir, Out: out, Err: os.Stderr}
		failed := a.Verify(t.Context(), VerifyOptions{Bundle: file, Host: host, Format: "json"})
		said, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		var report map[string]any
		if err := json.Unmarshal(said, &report); err != nil {
			t.Fatalf("%v, %v\n%s", failed, err, said)
		}
		if report["root"] != file {
			t.Errorf("the report is about %v", report["root"])
		}
		return report, failed
	}
	good := map[string][]byte{"x-1.0/lib/libx.1.dylib": image, "x-1.0/README": []byte("x\n")}
	r, err := verify(good, "")
	if err != nil || r["platform"] != "darwin-arm64" || r["images"] != 1. || len(r["findings"].([]any)) != 0 {
		t.Errorf("%v %v", err, r)
	}
	r, err = verify(good, "linux-arm64")
	if exit.Of(err) != exit.Verify || r["platform"] != "linux-arm64" || len(r["findings"].([]any)) != 1 {
		t.Errorf("%v %v", err, r)
	}
	image[0x3000] ^= 1
	r, err = verify(map[string][]byte{"lib/libx.1.dylib": image, "share/x": nil, "libX": nil, "libx": nil}, "")
	if findings := r["findings"].([]any); exit.Of(err) != exit.Verify || len(findings) != 2 ||
		findings[0].(map[string]any)["file"] != "lib/libx.1.dylib" || findings[0].(map[string]any)["rule"] != "macho-signature-pages" ||
		findings[1].(map[string]any)["rule"] != "case-collision" {
		t.Errorf("%v %v", err, findings)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
