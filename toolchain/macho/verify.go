package macho

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"fmt"
	"hash"
)

// Rule names what a Problem breaks.
type Rule string

// The rules of a signature that Verify checks.
const (
	// RuleUnsigned: dyld and the kernel refuse unsigned images on arm64.
	RuleUnsigned Rule = "unsigned"
	// RuleSignature: the signature cannot be read.
	RuleSignature Rule = "signature"
	// RulePages: a page is not what was signed.
	RulePages Rule = "pages"
	// RuleSpecial: a blob (requirements, entitlements) is not what was signed.
	RuleSpecial Rule = "special-slots"
	// RuleExtent: the signature is not the end of __LINKEDIT and of the image,
	// or does not cover all that comes before it.
	RuleExtent Rule = "extent"
	// RuleExecSeg: the executable segment, or whether it is a main program's.
	RuleExecSeg Rule = "exec-segment"
	// RuleAdHoc: the ad-hoc flag contradicts the certificate or its absence.
	RuleAdHoc Rule = "ad-hoc"
	// RuleHash: no code directory with SHA-256, or none that can be computed.
	RuleHash Rule = "hash-type"
	// RuleIdentifier: no identifier.
	RuleIdentifier Rule = "identifier"
)

// Problem is one thing that is wrong with the signature of an image.
type Problem struct {
	Rule Rule
	// Arch is the slice's ("arm64").
	Arch string
	Text string
}

// String is the slice, what is wrong, and the rule.
func (p Problem) String() string { return fmt.Sprintf("%s: %s (%s)", p.Arch, p.Text, p.Rule) }

// Verify checks the signatures of all images against the file's bytes, which it
// reads once; see Checker. The error is one of reading.
func (f *File) Verify() ([]Problem, error) {
	c, err := f.Checker()
	if err != nil {
		return nil, err
	}
	const step = 1 << 20
	for off := int64(0); off < f.Size; off += step {
		b, err := f.src.at(off, min(step, f.Size-off))
		if err != nil {
			return nil, err
		}
		if _, err := c.Write(b); err != nil {
			return nil, err
		}
	}
	return c.Problems(), nil
}

// Checker verifies signatures while somebody else reads the file: give it all
// bytes of the file in order, in pieces of any size, then ask for Problems. It
// hashes each signed page once and keeps no copy of what it is given.
type Checker struct {
	problems []Problem
	covers   []*cover
	at, size int64
}

// cover is the stretch of a file that one code directory has hashes of.
type cover struct {
	arch       string
	begin, end int64
	page       int64
	kind       crypto.Hash
	hashSize   int
	want       []byte

	partial  hash.Hash
	filled   int64 // Of the page that partial holds the beginning of.
	bad, all int
	firstBad int64
}

// Checker judges at once what needs no page of the file, and returns what
// judges the pages. The error is one of reading, never of a bad signature.
func (f *File) Checker() (*Checker, error) {
	c := &Checker{size: f.Size}
	for _, img := range f.Images {
		if err := c.image(img); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Checker) problem(img *Image, rule Rule, format string, args ...any) {
	c.problems = append(c.problems, Problem{rule, img.Arch(), fmt.Sprintf(format, args...)})
}

func (c *Checker) image(img *Image) error {
	if !img.data.hasSignature {
		if img.Linked() && img.CPU == CPUARM64 {
			c.problem(img, RuleUnsigned, "it is not signed, and arm64 runs nothing unsigned")
		}
		return nil
	}
	// What cannot be read because of its bytes is a finding like any other.
	sig, err := img.Signature()
	if err != nil {
		c.problem(img, RuleSignature, "%v", err)
		return nil
	}
	end := sig.Offset + sig.Size
	if end != img.Size {
		c.problem(img, RuleExtent, "the signature ends at %#x, and the image at %#x", end, img.Size)
	}
	if le := img.Segment("__LINKEDIT"); le == nil {
		c.problem(img, RuleExtent, "a signature without a __LINKEDIT")
	} else if le.Offset+le.FileSize != uint64(end) {
		c.problem(img, RuleExtent, "the signature ends at %#x, and __LINKEDIT at %#x", end, le.Offset+le.FileSize)
	}
	strong := false
	for k := range sig.Directories {
		d := &sig.Directories[k]
		strong = strong || d.HashType == 2
		c.directory(img, sig, d)
	}
	if !strong {
		c.problem(img, RuleHash, "no code directory with SHA-256")
	}
	return nil
}

func (c *Checker) directory(img *Image, sig *Signature, d *CodeDirectory) {
	if d.CodeLimit != sig.Offset {
		c.problem(img, RuleExtent, "what is signed ends at %#x, and the signature begins at %#x", d.CodeLimit, sig.Offset)
	}
	if d.Identifier == "" {
		c.problem(img, RuleIdentifier, "the code directory has no identifier")
	}
	if adhoc := d.Flags&CSAdHoc != 0; adhoc != (len(sig.CMS) == 0) {
		c.problem(img, RuleAdHoc, "ad-hoc flag %v, and a certificate's signature of %d bytes", adhoc, len(sig.CMS))
	}
	c.execSegment(img, d)
	kind, ok := d.hash()
	if !ok {
		c.problem(img, RuleHash, "hash type %d with %d bytes is not known", d.HashType, d.HashSize)
		return
	}
	c.special(img, sig, d, kind)

	page := d.PageSize
	if page == 0 {
		page = max(d.CodeLimit, 1)
	}
	if d.CodeLimit > img.Size {
		return // Said above: the signature lies inside the image.
	}
	pages := (d.CodeLimit + page - 1) / page
	if have := int64(len(d.Pages) / int(d.HashSize)); have != pages {
		c.problem(img, RulePages, "%d page hashes for %d pages", have, pages)
		return
	}
	c.covers = append(c.covers, &cover{arch: img.Arch(), begin: img.Offset, end: img.Offset + d.CodeLimit, page: page,
		kind: kind, hashSize: int(d.HashSize), want: d.Pages, partial: kind.New()})
}

func (c *Checker) execSegment(img *Image, d *CodeDirectory) {
	if d.Version < versionExecSeg {
		if img.CPU == CPUARM64 && img.Type == TypeExecute {
			c.problem(img, RuleExecSeg, "version %#x of the code directory names no executable segment", d.Version)
		}
		return
	}
	if text := img.Segment("__TEXT"); text != nil && (d.ExecSegBase != text.Offset || d.ExecSegLimit != text.FileSize) {
		c.problem(img, RuleExecSeg, "the executable segment is %#x+%#x, and __TEXT %#x+%#x", d.ExecSegBase, d.ExecSegLimit, text.Offset, text.FileSize)
	}
	if main := d.ExecSegFlags&ExecMainBinary != 0; main != (img.Type == TypeExecute) {
		c.problem(img, RuleExecSeg, "the flag of a main program is %v, and this is a file of type %s", main, img.Type)
	}
}

// special checks the blobs against the slots below the pages' hashes. What lies
// outside the file (the resources of an app) cannot be looked at.
func (c *Checker) special(img *Image, sig *Signature, d *CodeDirectory, kind crypto.Hash) {
	digest := func(b []byte) []byte {
		h := kind.New()
		h.Write(b)
		return h.Sum(nil)[:d.HashSize]
	}
	have := map[uint32]bool{}
	for _, blob := range sig.Blobs {
		if blob.Slot == SlotDirectory || blob.Slot >= slotAlternate {
			continue
		}
		have[blob.Slot] = true
		if int(blob.Slot) > len(d.Special) {
			c.problem(img, RuleSpecial, "slot %d is there, and has no hash", blob.Slot)
		} else if !bytes.Equal(digest(blob.Data), d.Special[blob.Slot-1]) {
			c.problem(img, RuleSpecial, "slot %d is not what was signed", blob.Slot)
		}
	}
	for k, want := range d.Special {
		slot := uint32(k + 1)
		zero := bytes.Count(want, []byte{0}) == len(want)
		switch {
		case zero || have[slot]:
		case slot == SlotInfoPlist:
			if s := img.Section("__TEXT", "__info_plist"); s != nil {
				b, err := img.SectionData(s)
				if err != nil || !bytes.Equal(digest(b), want) {
					c.problem(img, RuleSpecial, "section __info_plist is not what was signed")
				}
			}
		case slot == SlotRequirements || slot == SlotEntitlements || slot == SlotEntitlementsDER:
			c.problem(img, RuleSpecial, "slot %d was signed, and is not there", slot)
		}
	}
}

// Write takes the next bytes of the file.
func (c *Checker) Write(p []byte) (int, error) {
	if int64(len(p)) > c.size-c.at {
		return 0, fmt.Errorf("check a signature: more than the file's %d bytes", c.size)
	}
	for _, v := range c.covers {
		from, to := max(v.begin, c.at), min(v.end, c.at+int64(len(p)))
		if from < to {
			v.write(p[from-c.at : to-c.at])
		}
	}
	c.at += int64(len(p))
	return len(p), nil
}

func (v *cover) write(p []byte) {
	for len(p) > 0 {
		whole := min(v.page, v.end-v.begin-int64(v.all)*v.page)
		n := min(int64(len(p)), whole-v.filled)
		if n == whole && v.kind == crypto.SHA256 {
			sum := sha256.Sum256(p[:n])
			v.judge(sum[:])
		} else {
			v.partial.Write(p[:n])
			if v.filled += n; v.filled == whole {
				v.judge(v.partial.Sum(nil))
				v.partial.Reset()
				v.filled = 0
			}
		}
		p = p[n:]
	}
}

func (v *cover) judge(sum []byte) {
	if !bytes.Equal(sum[:v.hashSize], v.want[v.all*v.hashSize:][:v.hashSize]) {
		if v.bad == 0 {
			v.firstBad = int64(v.all) * v.page
		}
		v.bad++
	}
	v.all++
}

// Problems are all that was found, nil when every signature is good. It is to
// be asked when the last byte was written.
func (c *Checker) Problems() []Problem {
	out := c.problems
	for _, v := range c.covers {
		if v.bad > 0 {
			out = append(out, Problem{RulePages, v.arch, fmt.Sprintf("%d of %d pages are not what was signed, the first at %#x", v.bad, v.all, v.firstBad)})
		}
		if c.at < v.end {
			out = append(out, Problem{RulePages, v.arch, fmt.Sprintf("only %d of %d bytes could be checked", max(c.at-v.begin, 0), v.end-v.begin)})
		}
	}
	return out
}
