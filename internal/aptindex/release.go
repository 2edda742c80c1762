package aptindex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/fetch"
)

const (
	maxRelease      = 16 << 20 // Debian's have 200 kB
	maxReleaseFiles = 100_000
)

// Release is what a suite's InRelease file says.
type Release struct {
	Suite, Codename, Date string
	ByHash                bool // indexes are also served by their hash
	// Signed says that gpgv found a good signature by a key of the keyrings and
	// no bad one. Otherwise Unsigned says why that could not be found out. The
	// hashes of a lock are the true gate; this guards the making of a lock.
	Signed   bool
	Unsigned string

	files map[string]listed // below dists/<suite>/
}

type listed struct {
	sum  string
	size int64
}

// Release returns the release file of a suite, read once.
func (c *Client) Release(ctx context.Context, suite string) (*Release, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rel, ok := c.releases[suite]; ok {
		return rel, nil
	}
	if suite == "" || strings.Trim(suite, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" || strings.Contains(suite, "..") {
		return nil, fmt.Errorf("debian index: %q is no suite", suite)
	}
	var urls []string
	for _, base := range c.bases(strings.HasSuffix(suite, "-security")) {
		urls = append(urls, base+"/dists/"+suite+"/InRelease")
	}
	if len(urls) == 0 {
		return nil, fmt.Errorf("debian index: no mirror is known: %s names none of Debian's, and no fallback is given", c.cfg.AptConfRoot)
	}
	// A copy: what is learnt must stay small, whatever the fetcher allows.
	f := &fetch.Fetcher{
		Dir: c.cfg.Fetcher.Dir, Progress: c.cfg.Fetcher.Progress, Retries: c.cfg.Fetcher.Retries,
		StallTimeout: c.cfg.Fetcher.StallTimeout, Transport: c.cfg.Fetcher.Transport, Sleep: c.cfg.Fetcher.Sleep,
		MaxLearn: maxRelease,
	}
	_, _, name, err := f.Learn(ctx, fetch.Request{Name: suite + "/InRelease", URLs: urls})
	if err != nil {
		return nil, fmt.Errorf("debian index: %w", err)
	}
	rel, err := c.readRelease(ctx, name, suite)
	if err != nil {
		return nil, fmt.Errorf("debian index: InRelease of %s: %w", suite, err)
	}
	c.releases[suite] = rel
	return rel, nil
}

func (c *Client) readRelease(ctx context.Context, name, suite string) (*Release, error) {
	text, unsigned, err := c.verify(ctx, name)
	if err != nil {
		return nil, err
	}
	if unsigned != "" {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if text, err = signedText(raw); err != nil {
			return nil, err
		}
	}
	rel, err := parseRelease(text)
	if err != nil {
		return nil, err
	}
	rel.Signed, rel.Unsigned = unsigned == "", unsigned
	// A signed release of another suite is a true file in the wrong place.
	if suite != rel.Suite && suite != rel.Codename {
		return nil, fmt.Errorf("it is the release of %s (%s)", rel.Codename, rel.Suite)
	}
	return rel, nil
}

// verify runs gpgv and returns the text that was signed. When no verdict can be
// had it says why in unsigned; a bad signature is an error.
//
// Its status lines are those of GnuPG's doc/DETAILS. Debian signs a release with
// several keys, not all of which an older machine knows, so one good signature
// is enough, as it is for apt.
func (c *Client) verify(ctx context.Context, name string) (text []byte, unsigned string, err error) {
	gpgv := c.cfg.Gpgv
	if gpgv == "" {
		gpgv = "gpgv"
	}
	if gpgv, err = exec.LookPath(gpgv); err != nil {
		return nil, "gpgv is not installed", nil
	}
	argv := []string{"--status-fd", "2", "--output", "-"}
	known := false
	for _, ring := range c.cfg.Keyrings {
		if _, err := os.Stat(ring); err == nil {
			argv, known = append(argv, "--keyring", ring), true
		}
	}
	if !known {
		return nil, "the keys of Debian's archive are not installed", nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	home, err := os.MkdirTemp("", "gpgv-")
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(home)
	cmd := exec.CommandContext(ctx, gpgv, append(argv, "--", name)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + home, "GNUPGHOME=" + home}
	cmd.WaitDelay = 5 * time.Second
	var stdout, status bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &status
	runErr := cmd.Run()
	if ctx.Err() != nil {
		return nil, "", ctx.Err()
	}
	good, reason := false, ""
	for line := range strings.Lines(status.String()) {
		fields := strings.Fields(strings.TrimPrefix(line, "[GNUPG:] "))
		if len(fields) == 0 || !strings.HasPrefix(line, "[GNUPG:] ") {
			continue
		}
		switch fields[0] {
		case "BADSIG":
			return nil, "", errors.New("its signature is bad: the file was changed on its way")
		case "GOODSIG":
			good = true
		case "NO_PUBKEY":
			reason = "none of its signing keys is among those installed"
		case "EXPKEYSIG", "REVKEYSIG", "EXPSIG":
			reason = "its signature or key has expired or was revoked"
		}
	}
	if good {
		return stdout.Bytes(), "", nil
	}
	if reason == "" {
		reason = fmt.Sprintf("gpgv found no signature (%v)", runErr)
	}
	return nil, reason, nil
}

// signedText returns the text inside a clear-signed message (RFC 9580 section
// 7), and nothing of what may stand around it.
func signedText(raw []byte) ([]byte, error) {
	raw = bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
	const begin, end = "-----BEGIN PGP SIGNED MESSAGE-----\n", "\n-----BEGIN PGP SIGNATURE-----\n"
	if !bytes.HasPrefix(raw, []byte(begin)) {
		return nil, errors.New("not a clear-signed file")
	}
	// Armor headers end with an empty line.
	_, text, ok := bytes.Cut(raw[len(begin)-1:], []byte("\n\n"))
	if ok {
		text, _, ok = bytes.Cut(text, []byte(end))
	}
	if !ok {
		return nil, errors.New("a clear-signed file that is cut short")
	}
	// Lines that began with a dash were escaped.
	return bytes.ReplaceAll(append([]byte("\n"), text...), []byte("\n- "), []byte("\n")), nil
}

// parseRelease reads the fields that matter.
func parseRelease(text []byte) (*Release, error) {
	p, err := newStanzas(bytes.NewReader(text)).find("")
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it is empty")
	}
	if err != nil {
		return nil, err
	}
	rel := &Release{
		Suite: p["suite"], Codename: p["codename"], Date: p["date"],
		ByHash: p["acquire-by-hash"] == "yes", files: map[string]listed{},
	}
	for _, line := range p.lines("sha256") {
		fields := strings.Fields(line)
		if len(fields) != 3 || !isHash(fields[0]) {
			return nil, fmt.Errorf("malformed SHA256 line %q", clip([]byte(line)))
		}
		size, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil || size < 0 {
			return nil, fmt.Errorf("malformed SHA256 line %q", clip([]byte(line)))
		}
		if len(rel.files) == maxReleaseFiles {
			return nil, fmt.Errorf("more than %d files", maxReleaseFiles)
		}
		rel.files[fields[2]] = listed{fields[0], size}
	}
	return rel, nil
}
