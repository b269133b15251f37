package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// redisURL returns the URL of an empty Redis: the URL in FOLIOT_REDIS_URL, or
// that of a new redis-server, which stops at the end of the test.
func redisURL(t *testing.T) string {
	t.Helper()
	if url := os.Getenv("FOLIOT_REDIS_URL"); url != "" {
		return url
	}
	server, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("there is no Redis: install redis-server, or set FOLIOT_REDIS_URL to the URL of an empty one")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil { // the server takes the port
		t.Fatal(err)
	}
	cmd := exec.Command(server, "--port", port, "--bind", "127.0.0.1", "--dir", t.TempDir(), "--appendonly", "yes",
		"--maxmemory", "256mb", "--maxmemory-policy", "noeviction")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) { // between two attempts
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
			return "redis://127.0.0.1:" + port
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestThreeProcessesShareTheWork(t *testing.T) {
	url := redisURL(t)
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
