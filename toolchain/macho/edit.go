package macho

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// ErrNotEditable marks images that nothing loads (objects, dSYMs, cores) or
// whose bytes are encrypted.
var ErrNotEditable = errors.New("not an image that can be edited")

// ErrNoRoom marks edits for which the header has no space.
var ErrNoRoom = errors.New("too little space for load commands")

// ErrSigned marks files signed with a certificate, whose signature an edit
// would void and only its owner can make again.
var ErrSigned = errors.New("signed with a certificate")

// Signing says what becomes of the signature.
type Signing int

const (
	// SignAsBefore makes the signature of a signed image anew when the edit
	// changes the image, and leaves unsigned ones unsigned.
	SignAsBefore Signing = iota
	// SignAlways signs the image also when it is unsigned, or when its
	// signature does not fit it; one that fits an unchanged image stays.
	SignAlways
	// SignAnew makes the signature anew whatever is there.
	SignAnew
	// SignStrip removes it.
	SignStrip
)

// maxName bounds new names: PATH_MAX of macOS.
const maxName = 1024

// Edit says what to change in a file. In a universal file it applies to each
// slice.
type Edit struct {
	// ID is the new install name of a dylib, "" to keep the one it has.
	ID string
	// Change renames dependencies: the new name by the old. A name that no
	// slice depends on is an error.
	Change map[string]string
	// Rpaths are the new run paths if SetRpaths is set, all of them, in order;
	// they are written normalised, and each once.
	SetRpaths bool
	Rpaths    []string

	Sign Signing
	// Identifier is the signature's; "" keeps the one it has, and without one
	// takes Leaf.
	Identifier string
	// Leaf is the file's name without its folder. Apply sets it.
	Leaf string
	// Resign lets a certificate's signature be replaced by an ad-hoc one.
	Resign bool
}

// NormalizeRpath is the shortest spelling of a run path or install name that
// dyld takes for the same: without a trailing slash, empty and "." elements,
// and ".." behind a name. "@loader_path/../lib/" is "@loader_path/../lib", and
// ".." never eats the "@loader_path" itself.
func NormalizeRpath(p string) string {
	if !strings.HasPrefix(p, "@") {
		if p == "" {
			return p
		}
		return path.Clean(p)
	}
	token, rest, ok := strings.Cut(p, "/")
	if !ok {
		return p
	}
	if rest = path.Clean(strings.TrimLeft(rest, "/")); rest == "." {
		return token
	}
	return token + "/" + rest
}

// NormalizeRpaths normalises a list and leaves out what is there already.
func NormalizeRpaths(list []string) []string {
	var out []string
	for _, p := range list {
		if p = NormalizeRpath(p); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// Plan is an edit that fits a file.
type Plan struct {
	// Slices are the images in their order.
	Slices []SlicePlan

	file *File
	edit Edit
}

// SlicePlan is what an edit does to one image.
type SlicePlan struct {
	Arch string
	// Changed tells a new image from one that stays byte for byte.
	Changed bool
	// Need are the bytes that the new load commands take, Room what there is
	// for them, the old ones' included.
	Need, Room int64
	// Dropped are the parts of a certificate's signature that the new one
	// cannot have, in words; only with Edit.Resign.
	Dropped []string

	image    *Image
	commands [][]byte
	sign     *signer // nil for an image that will not be signed
	dataEnd  int64   // Where the signature begins or would begin.
	// foreign is a certificate's signature that stays if it fits.
	foreign bool
}

// Changed reports whether the edit changes anything at all.
func (p *Plan) Changed() bool {
	return slices.ContainsFunc(p.Slices, func(s SlicePlan) bool { return s.Changed })
}

// Plan works out an edit, and refuses it with one error when it cannot be made.
// It reads load commands and signature alone, and all bytes only for
// SignAlways.
func (f *File) Plan(e Edit) (*Plan, error) { return f.plan(e, nil) }

// plan can be given the signatures that the slices had before another tool
// edited them, for SignAnew to take over from.
func (f *File) plan(e Edit, former []*Signature) (*Plan, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	p := &Plan{file: f, edit: e}
	used := map[string]bool{}
	dylib := false
	for k, img := range f.Images {
		s := SlicePlan{Arch: img.Arch(), image: img}
		dylib = dylib || img.ID != nil
		var old *Signature
		if former != nil {
			old = former[k]
		}
		if err := s.make(e, used, old); err != nil {
			if f.Universal {
				err = fmt.Errorf("slice %s: %w", s.Arch, err)
			}
			return nil, err
		}
		p.Slices = append(p.Slices, s)
	}
	if e.ID != "" && !dylib {
		return nil, fmt.Errorf("it has no install name to change: it is a file of type %s, not a dylib", f.Images[0].Type)
	}
	for _, old := range sortedKeys(e.Change) {
		if !used[old] {
			return nil, fmt.Errorf("it does not depend on %q, so that cannot be changed", old)
		}
	}
	if e.Sign == SignAlways {
		if err := p.signBroken(); err != nil {
			return nil, err
		}
	}
	if f.Universal && p.Changed() {
		if err := f.checkTail(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (e *Edit) check() error {
	names := append([]string{e.ID}, e.Rpaths...)
	for _, old := range sortedKeys(e.Change) {
		if e.Change[old] == "" {
			return fmt.Errorf("dependency %q cannot be renamed to nothing", old)
		}
		names = append(names, e.Change[old])
	}
	if slices.Contains(e.Rpaths, "") {
		return errors.New("an empty run path")
	}
	for _, name := range names {
		if strings.ContainsRune(name, 0) || len(name) > maxName {
			return fmt.Errorf("the name %.40q… holds a zero byte or is longer than %d bytes", name, maxName)
		}
	}
	if strings.ContainsRune(e.Identifier, 0) || len(e.Identifier) > maxName {
		return fmt.Errorf("the identifier %.40q… holds a zero byte or is longer than %d bytes", e.Identifier, maxName)
	}
	return nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// make plans one image.
func (s *SlicePlan) make(e Edit, used map[string]bool, old *Signature) error {
	img := s.image
	if !img.Linked() {
		return fmt.Errorf("%w: it is a file of type %s", ErrNotEditable, img.Type)
	}
	if img.Encrypted {
		return fmt.Errorf("%w: it is encrypted", ErrNotEditable)
	}
	if img.Slack < 0 {
		return fmt.Errorf("%w: its load commands reach %d bytes into what they describe", ErrNotEditable, -img.Slack)
	}
	s.Room = img.CommandsSize + img.Slack
	s.commandList(e, used)
	s.Changed = !slices.EqualFunc(s.commands, img.Commands, func(b []byte, c Command) bool { return bytes.Equal(b, c.Data) })
	if err := s.signature(e, old); err != nil {
		return err
	}
	return s.room()
}

// room adds up the commands, the one of a new signature included.
func (s *SlicePlan) room() error {
	s.Need = 0
	for _, c := range s.commands {
		s.Need += int64(len(c))
	}
	if !s.Changed {
		return nil
	}
	if s.Need > s.Room {
		return fmt.Errorf("%w: %d bytes are needed and %d are there, %d short: link it with -headerpad_max_install_names",
			ErrNoRoom, s.Need, s.Room, s.Need-s.Room)
	}
	// What lies in the slack without a load command that names it would be lost.
	if grown := s.Need - s.image.CommandsSize; grown > 0 {
		b, err := s.image.bytes("header", uint64(headerSize+s.image.CommandsSize), uint64(grown))
		if err != nil {
			return err
		}
		if bytes.Count(b, []byte{0}) != len(b) {
			return fmt.Errorf("%w: the bytes behind them are in use, though no load command names them", ErrNoRoom)
		}
	}
	return nil
}

// commandList makes the new list of load commands. Those that the edit does not
// touch are kept byte for byte and in their order. New run paths come where the
// first one was, else behind the last dylib, else at the end.
func (s *SlicePlan) commandList(e Edit, used map[string]bool) {
	rpaths := s.rpathCommands(e)
	place, last := -1, -1
	for _, c := range s.image.Commands {
		switch c.Cmd {
		case LCRpath:
			if e.SetRpaths {
				if place < 0 {
					place = len(s.commands)
				}
				continue
			}
			s.commands = append(s.commands, c.Data)
		case LCIDDylib:
			s.commands = append(s.commands, rename(c.Data, e.ID))
			last = len(s.commands)
		case LCLoadDylib, LCLoadWeakDylib, LCReexportDylib, LCLoadUpwardDylib, LCLazyLoadDylib:
			name, _ := lcString(c.Data, 8, 24) // The reader has read it.
			to, ok := e.Change[name]
			used[name] = used[name] || ok
			s.commands = append(s.commands, rename(c.Data, to))
			last = len(s.commands)
		case LCCodeSignature:
			if e.Sign == SignStrip {
				continue
			}
			s.commands = append(s.commands, c.Data)
		default:
			s.commands = append(s.commands, c.Data)
		}
	}
	if place < 0 {
		place = last
	}
	if place < 0 {
		place = len(s.commands)
	}
	s.commands = slices.Insert(s.commands, place, rpaths...)
}

// rpathCommands are the commands of the new run paths; a path that was there
// keeps its bytes, so that an edit to what is there changes nothing.
func (s *SlicePlan) rpathCommands(e Edit) [][]byte {
	if !e.SetRpaths {
		return nil
	}
	var out [][]byte
	for _, p := range NormalizeRpaths(e.Rpaths) {
		command := nameCommand([]byte{0x1c, 0, 0, 0x80, 0, 0, 0, 0, 12, 0, 0, 0}, p)
		for _, c := range s.image.Commands {
			if have, _ := lcString(c.Data, 8, 12); c.Cmd == LCRpath && have == p {
				command = c.Data
				break
			}
		}
		out = append(out, command)
	}
	return out
}

// rename gives a dylib command another name; "" or its own name keep its bytes.
func rename(data []byte, name string) []byte {
	if have, _ := lcString(data, 8, 24); name == "" || have == name {
		return data
	}
	return nameCommand(data[:binary.LittleEndian.Uint32(data[8:])], name)
}

// nameCommand puts a name behind a head and fills up to 8 bytes, the alignment
// of commands in 64-bit images.
func nameCommand(head []byte, name string) []byte {
	b := make([]byte, align(int64(len(head)+len(name)+1), 8))
	copy(b, head)
	copy(b[len(head):], name)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
	return b
}

func align(n, to int64) int64 { return (n + to - 1) / to * to }

// signature decides what becomes of the signature.
func (s *SlicePlan) signature(e Edit, old *Signature) error {
	img := s.image
	has := img.data.hasSignature
	s.dataEnd = img.Size
	if has {
		s.dataEnd = int64(img.data.signature.off)
	}
	if !has && (e.Sign == SignAsBefore || e.Sign == SignStrip) {
		return nil
	}
	if has && e.Sign == SignAsBefore && !s.Changed {
		return nil
	}
	if has && old == nil {
		var err error
		if old, err = img.Signature(); err != nil && e.Sign != SignStrip && !e.Resign {
			return err
		}
	}
	if old != nil && !old.AdHoc() && !e.Resign {
		if e.Sign == SignAlways && !s.Changed {
			s.foreign = true
			return nil
		}
		return fmt.Errorf("%w (%s): an edit would void it; only its owner can sign it again, or ask for an ad-hoc signature in its place", ErrSigned, signedBy(old))
	}
	if err := s.signatureLast(); err != nil {
		return err
	}
	if e.Sign == SignStrip {
		return nil
	}
	s.sign = &signer{image: img, identifier: e.identifier(old)}
	if s.sign.identifier == "" {
		return errors.New("its signature has no identifier to keep, and the edit gives none")
	}
	if err := s.sign.keep(old); err != nil {
		return err
	}
	s.Dropped = s.sign.dropped
	if !has {
		// dataoff and datasize follow when the place is known.
		s.commands = append(s.commands, []byte{0x1d, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	}
	// Whether a signature that is there fits an image that stays is for Plan to
	// find out, with SignAlways.
	s.Changed = s.Changed || !has || e.Sign == SignAnew
	return nil
}

func signedBy(s *Signature) string {
	for k := range s.Directories {
		if team := s.Directories[k].Team; team != "" {
			return "team " + team
		}
	}
	return "no team"
}

func (e *Edit) identifier(old *Signature) string {
	switch {
	case e.Identifier != "":
		return e.Identifier
	case old != nil && old.Directories[0].Identifier != "":
		return old.Directories[0].Identifier
	}
	return e.Leaf
}

// signatureLast refuses images in which something lies where the signature
// has to be: at the end of __LINKEDIT, which is the end of the image.
func (s *SlicePlan) signatureLast() error {
	img := s.image
	le := img.Segment("__LINKEDIT")
	if le == nil {
		return fmt.Errorf("%w: it has no __LINKEDIT, which a signature is part of", ErrNotEditable)
	}
	if img.data.hasSignature {
		if r := img.data.signature; r.off+r.size != uint64(img.Size) {
			return fmt.Errorf("%w: its signature ends at %#x and is not its end (%#x)", ErrNotEditable, r.off+r.size, img.Size)
		}
	}
	if le.Offset+le.FileSize != uint64(img.Size) || le.Offset > uint64(s.dataEnd) {
		return fmt.Errorf("%w: its __LINKEDIT ends at %#x and is not its end (%#x)", ErrNotEditable, le.Offset+le.FileSize, img.Size)
	}
	for k := range img.Segments {
		if seg := &img.Segments[k]; seg != le && seg.FileSize > 0 && seg.Offset+seg.FileSize > uint64(s.dataEnd) {
			return fmt.Errorf("%w: its segment %s reaches into the signature", ErrNotEditable, seg.Name)
		}
	}
	for _, r := range img.data.ranges {
		if r.what != img.data.signature.what && r.size > 0 && r.off+r.size > uint64(s.dataEnd) {
			return fmt.Errorf("%w: its %s reaches into the signature", ErrNotEditable, r.what)
		}
	}
	return nil
}

// signBroken marks the slices whose signatures do not fit what is there.
func (p *Plan) signBroken() error {
	if !slices.ContainsFunc(p.Slices, func(s SlicePlan) bool { return !s.Changed }) {
		return nil
	}
	problems, err := p.file.Verify()
	if err != nil {
		return err
	}
	for k := range p.Slices {
		s := &p.Slices[k]
		if s.Changed {
			continue
		}
		if slices.ContainsFunc(problems, func(q Problem) bool { return q.Arch == s.Arch }) {
			if s.foreign {
				return fmt.Errorf("%w, which does not fit the file any more: only its owner can sign it again, or ask for an ad-hoc signature in its place", ErrSigned)
			}
			s.Changed = true
			if err := s.room(); err != nil {
				return err
			}
		}
	}
	return nil
}
