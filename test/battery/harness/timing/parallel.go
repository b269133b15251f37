package timing

import (
	"errors"
	"sync"
)

// InParallel calls do(0) … do(n-1) from several goroutines, waits for them, and
// returns their errors, joined.
func InParallel(n, workers int, do func(i int) error) error {
	var (
		group sync.WaitGroup
		mu    sync.Mutex // guards errs
		errs  []error
	)
	next := make(chan int)
	for range min(workers, n) {
		group.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return errors.Join(errs...)
}
