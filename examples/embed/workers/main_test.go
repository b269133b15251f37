package main

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// FOLIOT_REDIS_URL is the URL of an empty Redis for this test. package
// foliot/redis has a test that starts one.
func TestThreeProcessesShareTheWork(t *testing.T) {
	url := os.Getenv("FOLIOT_REDIS_URL")
	if url == "" {
		t.Skip("FOLIOT_REDIS_URL is not set")
	}
	ctx, stop := context.WithTimeout(t.Context(), 15*time.Second)
	defer stop()
	var mu sync.Mutex
	by := map[string]int{}
	var work sync.WaitGroup
	for _, name := range []string{"one", "two", "three"} {
		work.Go(func() {
			err := run(ctx, url, name, func(line string) {
				mu.Lock()
				defer mu.Unlock()
				by[strings.Fields(line)[0]]++
				if len(by) == 3 {
					stop()
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	if len(by) != 3 {
		t.Errorf("reminders by process: %v", by)
	}
}
