// Package parallel spreads many small calls over all cores.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls f with 0 … n-1 and returns the error of the lowest number that has
// one, whatever the order in which they ended, so that a person is told the
// same mistake every time.
func Each(n int, f func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				errs[i] = f(i)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
