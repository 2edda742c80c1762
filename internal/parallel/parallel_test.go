package parallel

import (
	"fmt"
	"sync/atomic"
	"testing"
)

func TestEachCallsAllAndReportsTheFirst(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		called := make([]atomic.Int32, n)
		err := Each(n, func(i int) error {
			called[i].Add(1)
			if i%3 == 2 {
				return fmt.Errorf("number %d", i)
			}
			return nil
		})
		for i := range called {
			if got := called[i].Load(); got != 1 {
				t.Errorf("%d of %d was called %d times", i, n, got)
			}
		}
		if n > 2 != (err != nil) || err != nil && err.Error() != "number 2" {
			t.Errorf("of %d: %v", n, err)
		}
	}
}
