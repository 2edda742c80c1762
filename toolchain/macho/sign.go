package macho

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// What we sign with: the layout that ld64 and lld write and that codesign -s -
// makes for arm64, SHA-256 over pages of 4 KiB.
const (
	signatureAlign = 16
	signPageShift  = 12
	signPage       = 1 << signPageShift
	signHashSHA256 = 2
	directoryHead  = 88
	directoryHead5 = 96
)

// Flags that an ad-hoc signature keeps of a certificate's: those that do not
// ask libraries for the same certificate.
const keptOfCertificate = 0x100 | 0x200 | 0x800 | 0x1000 | CSRuntime

// signer makes the ad-hoc signature of one image.
//
// The flag "linker-signed" is never set: it says that these are the bytes as
// the linker wrote them, and tools of macOS take it for leave to replace the
// signature unasked. Requirements, entitlements and whatever else has a special
// slot are taken over from the signature before and hashed again.
type signer struct {
	image      *Image
	identifier string
	flags      uint32
	execFlags  uint64
	runtime    Version
	platform   uint8
	blobs      []Blob
	// special are the hashes of slots 1, 2, …; nil for none.
	special [][]byte
	dropped []string
}

// keep takes over from the old signature what an ad-hoc one can have.
func (s *signer) keep(old *Signature) error {
	s.flags = CSAdHoc
	if s.image.Type == TypeExecute {
		s.execFlags = ExecMainBinary
	}
	if old == nil {
		return nil
	}
	d := &old.Directories[0]
	for k := range old.Directories {
		if old.Directories[k].HashType == signHashSHA256 {
			d = &old.Directories[k]
		}
	}
	s.flags |= d.Flags &^ CSLinkerSigned
	s.execFlags |= d.ExecSegFlags &^ ExecMainBinary
	s.platform = d.Platform
	if d.Flags&CSRuntime != 0 {
		s.runtime = d.Runtime
	}
	certificate := !old.AdHoc()
	if certificate {
		s.flags = CSAdHoc | d.Flags&keptOfCertificate
		s.dropped = append(s.dropped, "the certificate's signature ("+signedBy(old)+")")
	}
	for _, blob := range old.Blobs {
		switch {
		case blob.Slot == SlotDirectory || blob.Slot >= slotAlternate && blob.Slot < slotAlternateEnd:
		case blob.Slot == SlotCMS:
		case blob.Slot >= slotAlternate || blob.Slot > maxSpecialSlots:
			if !certificate {
				return fmt.Errorf("its signature has a part in slot %#x that cannot be kept", blob.Slot)
			}
			s.dropped = append(s.dropped, fmt.Sprintf("slot %#x", blob.Slot))
		case certificate && blob.Slot == SlotRequirements:
			// They name the certificate, and nothing ad-hoc fulfils them.
			s.dropped = append(s.dropped, "the requirements")
		default:
			s.blobs = append(s.blobs, blob)
			sum := sha256.Sum256(blob.Data)
			s.setSpecial(int(blob.Slot), sum[:])
		}
	}
	return s.keepOutside(d, certificate)
}

// keepOutside keeps the hashes of what is not part of the signature: an
// Info.plist, the resources of an app.
func (s *signer) keepOutside(d *CodeDirectory, certificate bool) error {
	for k, hash := range d.Special {
		slot := k + 1
		if bytes.Count(hash, []byte{0}) == len(hash) || slices.ContainsFunc(s.blobs, func(b Blob) bool { return int(b.Slot) == slot }) {
			continue
		}
		if slot == SlotRequirements || slot == SlotEntitlements || slot == SlotEntitlementsDER {
			continue // Without a blob there is nothing that the hash speaks of.
		}
		if d.HashType == signHashSHA256 {
			s.setSpecial(slot, hash)
			continue
		}
		section := s.image.Section("__TEXT", "__info_plist")
		if slot != SlotInfoPlist || section == nil {
			if !certificate {
				return fmt.Errorf("its signature has a hash for slot %d of something outside the file, and not as SHA-256", slot)
			}
			s.dropped = append(s.dropped, fmt.Sprintf("the hash of slot %d", slot))
			continue
		}
		b, err := s.image.SectionData(section)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		s.setSpecial(slot, sum[:])
	}
	return nil
}

func (s *signer) setSpecial(slot int, hash []byte) {
	for len(s.special) < slot {
		s.special = append(s.special, nil)
	}
	s.special[slot-1] = hash
}

// layout is where the parts of a signature over limit bytes lie, from its
// beginning: the code directory, its page hashes and the blobs behind them.
func (s *signer) layout(limit int64) (directory, hashes, blobs, end int64) {
	directory = align(superHeader+superIndex*int64(1+len(s.blobs)), 8)
	hashes = directory + s.head() + int64(len(s.identifier)) + 1 + int64(len(s.special))*sha256.Size
	hashes = align(hashes, signatureAlign)
	blobs = hashes + (limit+signPage-1)/signPage*sha256.Size
	end = blobs
	for _, b := range s.blobs {
		end += int64(len(b.Data))
	}
	return directory, hashes, blobs, end
}

func (s *signer) head() int64 {
	if s.runtime != 0 {
		return directoryHead5
	}
	return directoryHead
}

// size is the size of the signature over limit bytes.
func (s *signer) size(limit int64) int64 {
	_, _, _, end := s.layout(limit)
	return align(end, signatureAlign)
}

// write signs b[:limit], which must be final, into b[limit:].
func (s *signer) write(b []byte, limit int64) {
	be := binary.BigEndian
	directory, hashes, blobs, end := s.layout(limit)
	out := b[limit:]
	be.PutUint32(out, blobSuper)
	be.PutUint32(out[4:], uint32(end))
	be.PutUint32(out[8:], uint32(1+len(s.blobs)))
	be.PutUint32(out[superHeader+4:], uint32(directory)) // Slot 0.
	at := blobs
	for k, blob := range s.blobs {
		index := out[superHeader+superIndex*(k+1):]
		be.PutUint32(index, blob.Slot)
		be.PutUint32(index[4:], uint32(at))
		at += int64(copy(out[at:], blob.Data))
	}

	d := out[directory:blobs]
	be.PutUint32(d, blobDirectory)
	be.PutUint32(d[4:], uint32(len(d)))
	be.PutUint32(d[8:], versionExecSeg)
	if s.runtime != 0 {
		be.PutUint32(d[8:], versionRuntime)
		be.PutUint32(d[88:], uint32(s.runtime))
	}
	be.PutUint32(d[12:], s.flags)
	be.PutUint32(d[16:], uint32(hashes-directory))
	be.PutUint32(d[20:], uint32(s.head()))
	be.PutUint32(d[24:], uint32(len(s.special)))
	be.PutUint32(d[28:], uint32((limit+signPage-1)/signPage))
	be.PutUint32(d[32:], uint32(limit))
	d[36], d[37], d[38], d[39] = sha256.Size, signHashSHA256, s.platform, signPageShift
	if text := s.image.Segment("__TEXT"); text != nil {
		be.PutUint64(d[64:], text.Offset)
		be.PutUint64(d[72:], text.FileSize)
	}
	be.PutUint64(d[80:], s.execFlags)
	copy(d[s.head():], s.identifier)
	first := hashes - directory
	for k, hash := range s.special {
		copy(d[first-int64(k+1)*sha256.Size:], hash)
	}
	for off := int64(0); off < limit; off += signPage {
		sum := sha256.Sum256(b[off:min(off+signPage, limit)])
		first += int64(copy(d[first:], sum[:]))
	}
}
