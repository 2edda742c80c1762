package statcache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Bounds of the cache file. One LLVM and two compilers make 150 kB of it.
const (
	maxBytes     = 16 << 20
	maxFiles     = 20_000
	maxAnswers   = 200
	maxWitnesses = 20_000 // of one answer
)

// heading is the first line of the cache file. The lines that follow are
//
//	file <identity> <sha256> <path>
//	answer <asked> <until> <question>
//	value <JSON>
//	witness <identity> <path> [<real path>]
//
// with paths and questions quoted, times in seconds, and value and witnesses
// belonging to the answer above them. The last line is "end" and the CRC-32C
// of all before it. Another heading is another format: the file is ignored.
const heading = "stonemason-statcache 1\n"

// Cache remembers digests of files and answers of programs. It may be used by
// several goroutines. A nil Cache remembers nothing.
type Cache struct {
	file string

	mu      sync.Mutex
	files   map[string]known
	answers map[string]*answer
	used    map[string]bool // paths of files, and questions, that were asked for
	changed bool
}

// known is the digest of a file of an identity, as words of the cache file.
type known struct{ identity, sha256 string }

type answer struct {
	asked, until int64 // Unix seconds; until 0 is without end
	value        []byte
	witnesses    []witness
	own          bool // learnt by this Cache, not read from its file
}

// witness is a path as it was when an answer was given.
type witness struct{ identity, path, real string }

// Open reads a cache file. One that is missing, damaged or of another version
// counts as empty: what it held is found out again. "" is a cache that lasts
// as long as the process.
func Open(file string) *Cache {
	c := &Cache{file: file, files: map[string]known{}, answers: map[string]*answer{}, used: map[string]bool{}}
	if file == "" {
		return c
	}
	if data, ok := readBounded(file); ok {
		if err := c.parse(data); err != nil {
			c.files, c.answers = map[string]known{}, map[string]*answer{}
		}
	}
	return c
}

func readBounded(file string) ([]byte, bool) {
	f, err := os.Open(file)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxBytes {
		return nil, false
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	return data, err == nil
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// parse fills the cache from a cache file's bytes.
func (c *Cache) parse(data []byte) error {
	body, end, ok := bytes.Cut(data, []byte("\nend "))
	if !ok || string(end) != fmt.Sprintf("%08x\n", checksum(append(body[:len(body):len(body)], '\n'))) {
		return fmt.Errorf("it is not whole")
	}
	text, ok := strings.CutPrefix(string(body)+"\n", heading)
	if !ok {
		return fmt.Errorf("it is of another version")
	}
	var last *answer
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		var err error
		switch {
		case kind == "file" && len(c.files) < maxFiles:
			err = c.parseFile(rest)
		case kind == "answer" && len(c.answers) < maxAnswers:
			last, err = c.parseAnswer(rest)
		case kind == "value" && last != nil && last.value == nil:
			last.value = []byte(rest)
		case kind == "witness" && last != nil && len(last.witnesses) < maxWitnesses:
			err = last.parseWitness(rest)
		default:
			err = fmt.Errorf("unexpected line %.20q", line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Cache) parseFile(rest string) error {
	identity, rest, _ := strings.Cut(rest, " ")
	sum, quoted, _ := strings.Cut(rest, " ")
	path, err := strconv.Unquote(quoted)
	if err != nil || !isDigest(sum) {
		return fmt.Errorf("a file's line is damaged")
	}
	c.files[path] = known{identity, sum}
	return nil
}

func isDigest(s string) bool {
	return len(s) == hex.EncodedLen(sha256.Size) && strings.Trim(s, "0123456789abcdef") == ""
}

func (c *Cache) parseAnswer(rest string) (*answer, error) {
	asked, rest, _ := strings.Cut(rest, " ")
	until, quoted, _ := strings.Cut(rest, " ")
	question, err := strconv.Unquote(quoted)
	if err != nil {
		return nil, fmt.Errorf("an answer's line is damaged")
	}
	a := &answer{}
	if a.asked, err = strconv.ParseInt(asked, 10, 64); err != nil {
		return nil, err
	}
	if a.until, err = strconv.ParseInt(until, 10, 64); err != nil {
		return nil, err
	}
	c.answers[question] = a
	return a, nil
}

func (a *answer) parseWitness(rest string) error {
	identity, rest, _ := strings.Cut(rest, " ")
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return err
	}
	w := witness{identity: identity}
	if w.path, err = strconv.Unquote(quoted); err != nil {
		return err
	}
	if rest = strings.TrimPrefix(rest[len(quoted):], " "); rest != "" {
		if w.real, err = strconv.Unquote(rest); err != nil {
			return err
		}
	}
	a.witnesses = append(a.witnesses, w)
	return nil
}

// Save writes the cache file when something was learnt. A failure loses
// nothing but time at the next start.
func (c *Cache) Save() error {
	if c == nil || c.file == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.changed {
		return nil
	}
	c.trim()
	b := append(make([]byte, 0, 64<<10), heading...)
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		k := c.files[path]
		b = append(append(append(append(append(b, "file "...), k.identity...), ' '), k.sha256...), ' ')
		b = append(strconv.AppendQuote(b, path), '\n')
	}
	for _, question := range slices.Sorted(maps.Keys(c.answers)) {
		a := c.answers[question]
		b = fmt.Appendf(b, "answer %d %d %q\nvalue %s\n", a.asked, a.until, question, a.value)
		for _, w := range a.witnesses {
			b = append(append(append(b, "witness "...), w.identity...), ' ')
			b = strconv.AppendQuote(b, w.path)
			if w.real != "" {
				b = strconv.AppendQuote(append(b, ' '), w.real)
			}
			b = append(b, '\n')
		}
	}
	b = fmt.Appendf(b, "end %08x\n", checksum(b))
	if err := WriteFile(c.file, b); err != nil {
		return err
	}
	c.changed = false
	return nil
}

// trim forgets what this process did not ask for when there is too much.
func (c *Cache) trim() {
	if len(c.files) > maxFiles/2 {
		maps.DeleteFunc(c.files, func(path string, _ known) bool { return !c.used[path] })
	}
	if len(c.answers) > maxAnswers/2 {
		maps.DeleteFunc(c.answers, func(question string, _ *answer) bool { return !c.used[question] })
	}
	if len(c.files) > maxFiles {
		c.files = map[string]known{}
	}
	if len(c.answers) > maxAnswers {
		c.answers = map[string]*answer{}
	}
}

// WriteFile replaces a cache file in one go. It does not wait for the disk:
// caches end with a checksum, and a lost one is made again.
func WriteFile(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// Digest is the sha256, in hex, of the file that path leads to. It is read
// only when it is not the file whose digest is remembered.
func (c *Cache) Digest(path string) (string, error) {
	if c == nil {
		sum, _, err := hashFile(path)
		return sum, err
	}
	now, err := Stat(path)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.used[path] = true
	was, ok := c.files[path]
	c.mu.Unlock()
	if ok && was.identity == string(now.append(nil)) {
		return was.sha256, nil
	}
	began := time.Now()
	sum, now, err := hashFile(path)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Settled(began) {
		c.files[path], c.changed = known{string(now.append(nil)), sum}, true
	} else if ok {
		delete(c.files, path)
		c.changed = true
	}
	return sum, nil
}

// Digests is Digest of many files, on all cores.
func (c *Cache) Digests(ctx context.Context, paths []string) (map[string]string, error) {
	sums := make(map[string]string, len(paths))
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, path := range paths {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			sum, err := c.Digest(path)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			sums[path] = sum
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return sums, nil
}

// hashFile reads a file and says which one it was. One that changes while it
// is read is an error.
func hashFile(path string) (string, Identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", Identity{}, err
	}
	defer f.Close()
	before, err := statOpen(f)
	if err != nil {
		return "", Identity{}, err
	}
	h := sha256.New()
	if _, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, make([]byte, 256<<10)); err != nil {
		return "", Identity{}, err
	}
	after, err := statOpen(f)
	if err != nil {
		return "", Identity{}, err
	}
	if before != after {
		return "", Identity{}, fmt.Errorf("%s changed while it was read: try again when nothing writes to it", path)
	}
	return hex.EncodeToString(h.Sum(nil)), before, nil
}

// Recall gives the remembered answer to a question, unless one of its witnesses
// has changed since or its time is over. asked is when an earlier process
// asked, and zero for an answer to this one. It fills out, a pointer, from
// JSON.
func (c *Cache) Recall(question string, out any) (asked time.Time, ok bool) {
	if c == nil {
		return time.Time{}, false
	}
	c.mu.Lock()
	a := c.answers[question]
	c.used[question] = true
	c.mu.Unlock()
	if a == nil || a.value == nil || !a.holds(time.Now()) {
		return time.Time{}, false
	}
	if json.Unmarshal(a.value, out) != nil {
		return time.Time{}, false
	}
	if a.own {
		return time.Time{}, true
	}
	return time.Unix(a.asked, 0), true
}

func (a *answer) holds(now time.Time) bool {
	// A clock that was set back must not lengthen an answer's life.
	if at := now.Unix(); a.until != 0 && (at >= a.until || at < a.asked) {
		return false
	}
	var word [96]byte
	for _, w := range a.witnesses {
		if w.real != "" {
			if real, err := filepath.EvalSymlinks(w.path); err != nil || real != w.real {
				return false
			}
		}
		is, err := Stat(w.path)
		if err != nil || string(is.append(word[:0])) != w.identity {
			return false
		}
	}
	return true
}

// Remember keeps an answer that was asked for at a moment. It holds for as
// long as the watched files stay as they are now, and for the time life, when
// that is not 0. An answer whose files were written to since the question, or
// shortly before, is not kept.
func (c *Cache) Remember(question string, value any, asked time.Time, life time.Duration, watch *Watch) error {
	if c == nil {
		return nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	a := &answer{asked: asked.Unix(), value: data, own: true}
	if life != 0 {
		a.until = asked.Add(life).Unix()
	}
	var keep bool
	a.witnesses, keep = watch.witnesses(asked)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[question] = true
	if keep {
		c.answers[question], c.changed = a, true
	} else if c.answers[question] != nil {
		delete(c.answers, question)
		c.changed = true
	}
	return nil
}
