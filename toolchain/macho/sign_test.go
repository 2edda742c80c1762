package macho

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// TestSignAsLinkersDo signs what lld has signed: apart from the linker-signed
// flag the signature must be the same, byte for byte.
func TestSignAsLinkersDo(t *testing.T) {
	lib := dylibAt(t, filepath.Join(t.TempDir(), "liba.dylib"), "arm64", "@rpath/liba.1.dylib")
	for name, path := range map[string]string{
		"lld dylib":   lib,
		"lld program": programAt(t, filepath.Join(t.TempDir(), "exe"), "arm64", lib),
	} {
		t.Run(name, func(t *testing.T) {
			was := contents(t, path)
			f := open(t, path)
			sig, err := f.Images[0].Signature()
			if err != nil || !sig.LinkerSigned() || !sig.AdHoc() {
				t.Fatal(sig, err)
			}
			plan, err := f.Plan(Edit{Sign: SignAnew})
			if err != nil {
				t.Fatal(err)
			}
			is, err := plan.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			flags := int(sig.Offset) + int(sig.Blobs[0].Offset) + 12
			if got := binary.BigEndian.Uint32(is[flags:]); got != CSAdHoc {
				t.Errorf("flags %#x", got)
			}
			binary.BigEndian.PutUint32(is[flags:], CSAdHoc|CSLinkerSigned)
			if k := firstDifference(was, is); k >= 0 {
				t.Errorf("byte %#x differs, the signature begins at %#x; %d and %d bytes", k, sig.Offset, len(was), len(is))
			}
		})
	}
}

// TestSignAsGo compares with Go's linker, which lays a signature out otherwise.
func TestSignAsGo(t *testing.T) {
	path := goProgram(t, "arm64")
	before, err := good(t, path).Images[0].Signature()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(path, Edit{Sign: SignAnew}); err != nil {
		t.Fatal(err)
	}
	after, err := good(t, path).Images[0].Signature()
	if err != nil {
		t.Fatal(err)
	}
	was, is := before.Directories[0], after.Directories[0]
	page := sha256.Size // Of the first, which holds the header, only the rest can agree.
	if is.CodeLimit == was.CodeLimit && !bytes.Equal(is.Pages[page:], was.Pages[page:]) {
		t.Error("the page hashes differ")
	}
	if is.CodeLimit-was.CodeLimit > 15 {
		t.Errorf("code limit %d, was %d", is.CodeLimit, was.CodeLimit)
	}
	is.Flags |= CSLinkerSigned
	is.Pages, was.Pages, is.CodeLimit, was.CodeLimit = nil, nil, 0, 0
	if fmt.Sprintf("%+v", is) != fmt.Sprintf("%+v", was) {
		t.Errorf("%+v\n%+v", is, was)
	}
}

func firstDifference(a, b []byte) int {
	for k := range min(len(a), len(b)) {
		if a[k] != b[k] {
			return k
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

// TestStripAndSign takes a signature off and puts it on again.
func TestStripAndSign(t *testing.T) {
	path := dylibAt(t, filepath.Join(t.TempDir(), "libx.dylib"), "arm64", "@rpath/liba.1.dylib")
	if _, err := Apply(path, Edit{Sign: SignAnew, Identifier: "libx.dylib"}); err != nil {
		t.Fatal(err)
	}
	was := contents(t, path)
	if _, err := Apply(path, Edit{Sign: SignStrip}); err != nil {
		t.Fatal(err)
	}
	f := open(t, path)
	problems, err := f.Verify()
	if err != nil || len(problems) != 1 || problems[0].Rule != RuleUnsigned {
		t.Fatal(problems, err)
	}
	if le := f.Images[0].Segment("__LINKEDIT"); le.Offset+le.FileSize != uint64(f.Size) {
		t.Fatalf("__LINKEDIT ends at %#x, the file at %#x", le.Offset+le.FileSize, f.Size)
	}
	if done, err := Apply(path, Edit{Sign: SignAsBefore, SetRpaths: true}); err != nil || done.Changed {
		t.Fatal(done, err)
	}
	if _, err := Apply(path, Edit{Sign: SignAlways}); err != nil {
		t.Fatal(err)
	}
	sig, err := good(t, path).Images[0].Signature()
	if err != nil || sig.Directories[0].Identifier != "libx.dylib" {
		t.Fatal(sig, err)
	}
	if k := firstDifference(was, contents(t, path)); k >= 0 {
		t.Errorf("byte %#x differs", k)
	}
}

// blob makes a blob of a signature.
func blob(slot, magic uint32, content string) Blob {
	b := binary.BigEndian.AppendUint32(nil, magic)
	b = binary.BigEndian.AppendUint32(b, uint32(8+len(content)))
	return Blob{Slot: slot, Magic: magic, Data: append(b, content...)}
}

// signWith signs a file with what codesign would put there, and returns where
// the code directory lies.
func signWith(t testing.TB, path string, s signer, blobs ...Blob) int64 {
	t.Helper()
	f := open(t, path)
	plan, err := f.Plan(Edit{Sign: SignAnew})
	if err != nil {
		t.Fatal(err)
	}
	own := plan.Slices[0].sign
	own.flags, own.runtime = own.flags|s.flags, s.runtime
	for slot, hash := range s.special {
		own.setSpecial(slot+1, hash)
	}
	for _, b := range blobs {
		own.blobs = append(own.blobs, b)
		if b.Slot < slotAlternate {
			sum := sha256.Sum256(b.Data)
			own.setSpecial(int(b.Slot), sum[:])
		}
	}
	b, err := plan.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(b))
	sig, err := open(t, path).Images[0].Signature()
	if err != nil {
		t.Fatal(err)
	}
	return sig.Offset + int64(sig.Blobs[0].Offset)
}

func TestKeepsEntitlements(t *testing.T) {
	path := goProgram(t, "arm64")
	plist := bytes.Repeat([]byte{7}, 32)
	const xml = `<plist><dict><key>com.apple.security.cs.allow-jit</key><true/></dict></plist>`
	signWith(t, path, signer{flags: CSRuntime, runtime: 0xe0200, special: [][]byte{plist}},
		blob(SlotRequirements, blobRequirements, "\x00\x00\x00\x00"),
		blob(SlotEntitlements, blobEntitlements, xml), blob(SlotEntitlementsDER, blobEntitleDER, "\x70\x01\x02"))
	good(t, path)
	if _, err := Apply(path, Edit{SetRpaths: true, Rpaths: []string{"@loader_path/../lib"}}); err != nil {
		t.Fatal(err)
	}
	sig, err := good(t, path).Images[0].Signature()
	if err != nil {
		t.Fatal(err)
	}
	d := sig.Directories[0]
	if string(sig.EntitlementsXML) != xml || string(sig.EntitlementsDER) != "\x70\x01\x02" || len(sig.Requirements) != 4 ||
		d.Flags != CSAdHoc|CSRuntime || d.Runtime != 0xe0200 || d.Version != versionRuntime || len(d.Special) != 7 ||
		!bytes.Equal(d.Special[0], plist) || d.ExecSegFlags != ExecMainBinary {
		d.Pages = nil
		t.Fatalf("%+v %q", d, sig.EntitlementsXML)
	}

	// A blob that is not what was signed is found.
	b := contents(t, path)
	k := bytes.Index(b, []byte("allow-jit"))
	b[k] = 'b'
	f, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := f.Verify(); err != nil || len(problems) != 1 || problems[0].Rule != RuleSpecial {
		t.Fatal(problems, err)
	}
}

func TestCertificateIsRefused(t *testing.T) {
	path := dylibAt(t, filepath.Join(t.TempDir(), "liba.dylib"), "arm64", "@rpath/liba.1.dylib")
	at := signWith(t, path, signer{flags: 0x2000}, blob(SlotRequirements, blobRequirements, "\x00\x00\x00\x01abcd"),
		blob(SlotEntitlements, blobEntitlements, "<plist/>"), blob(SlotCMS, blobWrapper, "certificate"), blob(0x10002, blobWrapper, "ticket"))
	b := contents(t, path)
	binary.BigEndian.PutUint32(b[at+48:], binary.BigEndian.Uint32(b[at+20:])) // The identifier serves as a team.
	write(t, path, string(b))
	for _, e := range []Edit{{ID: "x"}, {Sign: SignStrip}, {Sign: SignAnew}} {
		if _, err := Apply(path, e); !errors.Is(err, ErrSigned) || !strings.Contains(err.Error(), "team liba.1.dylib") {
			t.Errorf("%+v: %v", e, err)
		}
	}
	if !bytes.Equal(b, contents(t, path)) {
		t.Fatal("the file changed")
	}
	// An edit that changes nothing needs no signature.
	if done, err := Apply(path, Edit{ID: "@rpath/liba.1.dylib"}); err != nil || done.Changed {
		t.Error(done, err)
	}
	done, err := Apply(path, Edit{ID: "x", Resign: true})
	if err != nil || !slices.Equal(done.Dropped, []string{"the certificate's signature (team liba.1.dylib)", "the requirements", "slot 0x10002"}) {
		t.Fatal(done, err)
	}
	sig, err := good(t, path).Images[0].Signature()
	if err != nil || !sig.AdHoc() || sig.Directories[0].Flags != CSAdHoc || string(sig.EntitlementsXML) != "<plist/>" || sig.Requirements != nil {
		t.Fatalf("%+v %v", sig, err)
	}
}

// TestVerifyFinds breaks one thing of a good signature at a time.
func TestVerifyFinds(t *testing.T) {
	lib := dylibAt(t, filepath.Join(t.TempDir(), "liba.dylib"), "arm64", "@rpath/liba.1.dylib")
	exe := programAt(t, filepath.Join(t.TempDir(), "exe"), "arm64", lib)
	b := contents(t, exe)
	img := open(t, exe).Images[0]
	sig, err := img.Signature()
	if err != nil {
		t.Fatal(err)
	}
	super, dir := sig.Offset, sig.Offset+int64(sig.Blobs[0].Offset)
	text := int64(img.Section("__TEXT", "__text").Offset)
	put := func(off int64, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.BigEndian.PutUint32(b[off:], v); return b }
	}
	flip := func(off int64) func([]byte) []byte {
		return func(b []byte) []byte { b[off] ^= 1; return b }
	}
	for name, c := range map[string]struct {
		change func([]byte) []byte
		rules  []Rule
	}{
		"a bit of code":        {flip(text), []Rule{RulePages}},
		"a bit of the header":  {flip(24), []Rule{RulePages}},
		"the last signed bit":  {flip(super - 1), []Rule{RulePages}},
		"a page hash":          {flip(int64(len(b)) - 1), []Rule{RulePages}},
		"magic":                {put(super, 1), []Rule{RuleSignature}},
		"length":               {put(super+4, 1<<30), []Rule{RuleSignature}},
		"count of blobs":       {put(super+8, 1<<30), []Rule{RuleSignature}},
		"directory's offset":   {put(super+16, 1<<30), []Rule{RuleSignature}},
		"flags":                {put(dir+12, 0), []Rule{RuleAdHoc}},
		"hash offset":          {put(dir+16, 1<<30), []Rule{RuleSignature}},
		"no identifier":        {put(dir+88, 0), []Rule{RuleIdentifier}},
		"identifier's offset":  {put(dir+20, 1<<30), []Rule{RuleSignature}},
		"fewer pages":          {put(dir+28, 1), []Rule{RulePages}},
		"code limit":           {put(dir+32, uint32(sig.Offset)-1), []Rule{RuleExtent, RulePages}},
		"hash type":            {put(dir+36, 0x20090000|0xc), []Rule{RuleHash, RuleHash}},
		"page size":            {put(dir+36, 0x2002000d), []Rule{RulePages}},
		"exec segment's base":  {put(dir+68, 1), []Rule{RuleExecSeg}},
		"exec segment's limit": {put(dir+76, 1), []Rule{RuleExecSeg}},
		"main binary":          {put(dir+84, 0), []Rule{RuleExecSeg}},
	} {
		f, err := Parse(c.change(bytes.Clone(b)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		problems, err := f.Verify()
		var rules []Rule
		for _, p := range problems {
			rules = append(rules, p.Rule)
		}
		if err != nil || !slices.Equal(rules, c.rules) {
			t.Errorf("%s: %v, error %v, want %v", name, problems, err, c.rules)
		}
		// What is broken is mended by SignAlways alone.
		path := filepath.Join(t.TempDir(), "exe")
		write(t, path, string(c.change(bytes.Clone(b))))
		if _, err := Apply(path, Edit{Sign: SignAlways, Resign: true}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		good(t, path)
	}
}

// TestCheckerInPieces gives the file in pieces of odd sizes.
func TestCheckerInPieces(t *testing.T) {
	dir := t.TempDir()
	arm := dylibAt(t, filepath.Join(dir, "arm.dylib"), "arm64", "@rpath/liba.1.dylib")
	intel := dylibAt(t, filepath.Join(dir, "intel.dylib"), "x86_64", "@rpath/liba.1.dylib")
	if _, err := Apply(intel, Edit{Sign: SignAlways}); err != nil {
		t.Fatal(err)
	}
	b := contents(t, fat(t, filepath.Join(dir, "fat.dylib"), intel, arm))
	for _, piece := range []int{1, 100, 4095, 4096, 4097, 1 << 20} {
		for _, bad := range []int64{-1, open(t, filepath.Join(dir, "fat.dylib")).Images[1].Offset + 5000} {
			input := bytes.Clone(b)
			if bad >= 0 {
				input[bad] ^= 1
			}
			f, err := Read(bytes.NewReader(input), int64(len(input)))
			if err != nil {
				t.Fatal(err)
			}
			c, err := f.Checker()
			if err != nil {
				t.Fatal(err)
			}
			if p := c.Problems(); len(p) != 2 || !strings.Contains(p[0].Text, "only 0 of") {
				t.Errorf("before the first byte: %v", p)
			}
			for chunk := range slices.Chunk(input, piece) {
				if _, err := c.Write(chunk); err != nil {
					t.Fatal(err)
				}
			}
			if p := c.Problems(); (len(p) > 0) != (bad >= 0) || bad >= 0 && (p[0].Arch != "arm64" || !strings.Contains(p[0].Text, "first at 0x1000")) {
				t.Errorf("pieces of %d, byte %d: %v", piece, bad, p)
			}
			if _, err := c.Write([]byte{0}); err == nil {
				t.Error("more than the file was taken")
			}
		}
	}
}

// TestSignObject refuses what is never signed.
func TestSignObject(t *testing.T) {
	dir := t.TempDir()
	src, obj := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.o")
	write(t, src, programSource)
	llvmtest.Run(t, "clang", "--target=arm64-apple-macos14.0", "-ffreestanding", "-c", src, "-o", obj)
	for _, sign := range []Signing{SignAlways, SignAnew} {
		if _, err := Apply(obj, Edit{Sign: sign}); !errors.Is(err, ErrNotEditable) {
			t.Error(err)
		}
	}
	if _, err := Apply(filepath.Join(dir, "none"), Edit{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Apply(src, Edit{}); !errors.Is(err, ErrNotMachO) {
		t.Error(err)
	}
}
