package source

import (
	"context"
	"errors"
)

// download is one that runs or has failed.
type download struct {
	ended chan struct{}
	err   error // set before ended is closed
}

// once lets one caller download the file of a hash while others wait for it.
// What has failed, with all the attempts that it was worth, fails at once for
// whoever asks later: a build fetches ahead, and the node that needs the file
// reports the error. Giving up because ctx ended is no such failure.
func (p *Provider) once(ctx context.Context, sha256 string, get func() (string, error)) (string, error) {
	for {
		p.mu.Lock()
		d, taken := p.downloads[sha256]
		if !taken {
			d = &download{ended: make(chan struct{})}
			if p.downloads == nil {
				p.downloads = map[string]*download{}
			}
			p.downloads[sha256] = d
		}
		p.mu.Unlock()
		if taken {
			select {
			case <-d.ended:
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
			if d.err != nil {
				return "", d.err
			}
			continue // it is there now, or was given up
		}
		file, err := get()
		p.mu.Lock()
		if err == nil || ctx.Err() != nil || errors.Is(err, context.Canceled) {
			delete(p.downloads, sha256)
		} else {
			d.err = err
		}
		p.mu.Unlock()
		close(d.ended)
		return file, err
	}
}
