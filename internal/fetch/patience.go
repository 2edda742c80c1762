package fetch

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// The environment variables for networks that need more patience than the
// defaults have, or less. RetriesVariable is a number, 0 for never again;
// StallVariable a duration such as "90s"; RateVariable a number of bytes a
// second, 0 for any.
const (
	RetriesVariable = "STONEMASON_FETCH_RETRIES"
	StallVariable   = "STONEMASON_FETCH_TIMEOUT"
	RateVariable    = "STONEMASON_FETCH_RATE"
)

// The defaults. Those of the rate and its time are also dnf's (minrate and
// timeout in dnf.conf(5)).
const (
	DefaultRetries      = 3
	DefaultStallTimeout = 30 * time.Second
	DefaultRate         = 1000
)

// Patience is how often the network is asked and how long it is waited for.
type Patience struct {
	// Retries is how often an address is tried again, from 0.
	Retries int
	// Stall is how long no byte may come, and the time over which Rate is
	// measured.
	Stall time.Duration
	// Rate is how many bytes a second have to come, 0 for any: who sends a byte
	// now and then would hold a build for ever.
	Rate int64
}

// EnvironmentPatience is the patience that the environment asks for, and the
// default where it asks for none. An error names the variable.
func EnvironmentPatience() (Patience, error) {
	p := Patience{Retries: DefaultRetries, Stall: DefaultStallTimeout, Rate: DefaultRate}
	if text := os.Getenv(RetriesVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 100 {
			return p, fmt.Errorf("%s: found %q, expected a number from 0 to 100", RetriesVariable, text)
		}
		p.Retries = n
	}
	if text := os.Getenv(StallVariable); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return p, fmt.Errorf("%s: found %q, expected a duration such as 30s", StallVariable, text)
		}
		p.Stall = d
	}
	if text := os.Getenv(RateVariable); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > 1<<30 {
			return p, fmt.Errorf("%s: found %q, expected bytes a second, a number from 0 to %d", RateVariable, text, 1<<30)
		}
		p.Rate = n
	}
	return p, nil
}

// patience settles what the fields leave open.
func (f *Fetcher) patience() (p Patience, err error) {
	if p, err = EnvironmentPatience(); err != nil {
		return p, err
	}
	if f.Retries != 0 {
		p.Retries = max(f.Retries, 0)
	}
	if f.StallTimeout > 0 {
		p.Stall = f.StallTimeout
	}
	if f.Rate != 0 {
		p.Rate = max(f.Rate, 0)
	}
	return p, nil
}

// pace judges how fast bytes come, over each stretch of Stall in which they
// were waited for.
type pace struct {
	Patience
	bytes  int64
	waited time.Duration
}

// slow counts bytes that took that long to come, and reports whether the last
// stretch was too slow.
func (p *pace) slow(n int, took time.Duration) error {
	p.bytes += int64(n)
	if p.waited += took; p.waited < p.Stall {
		return nil
	}
	bytes, waited := p.bytes, p.waited
	p.bytes, p.waited = 0, 0
	if float64(bytes) < float64(p.Rate)*waited.Seconds() {
		return tryAgain("too slow: %d bytes in %v, less than %d a second", bytes, waited.Round(time.Millisecond), p.Rate)
	}
	return nil
}
