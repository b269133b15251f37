// Package server runs the Redis that all contenders share, and measures its use
// of resources.
package server

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/redistest"
)

// arguments are those of redis-server. Redis syncs its append-only file
// every second, as by default. It does not rewrite the file, since that would
// fork during a measurement.
var arguments = []string{"--appendonly", "yes", "--appendfsync", "everysec", "--auto-aof-rewrite-percentage", "0", "--maxmemory", "4gb", "--maxmemory-policy", "noeviction"}

// Server is a running Redis.
type Server struct {
	Addr string

	redis *redistest.Server
	dir   string
}

// Start starts a Redis with its data in a new directory.
func Start() (*Server, error) {
	dir, err := os.MkdirTemp("", "foliot-bench-redis-")
	if err != nil {
		return nil, fmt.Errorf("make the directory of Redis: %w", err)
	}
	r, err := redistest.Start(dir, arguments...)
	if err != nil {
		_ = os.RemoveAll(dir) // the first error is the cause
		return nil, err
	}
	return &Server{Addr: r.Addr, redis: r, dir: dir}, nil
}

// Close stops the Redis and removes its data.
func (s *Server) Close() error {
	s.redis.Kill()
	return os.RemoveAll(s.dir)
}

// Usage is the use of resources by a server.
type Usage struct {
	CPU    time.Duration // of the thread that runs commands
	Memory float64       // bytes, now
}

// Usage asks the server for its use of resources.
func (s *Server) Usage(ctx context.Context) (Usage, error) {
	info, err := redistest.Info(ctx, s.Addr)
	if err != nil {
		return Usage{}, err
	}
	number := func(name string) float64 {
		n, e := strconv.ParseFloat(info[name], 64)
		if e != nil && err == nil {
			err = fmt.Errorf("read %s of INFO: %w", name, e)
		}
		return n
	}
	cpu := number("used_cpu_user_main_thread") + number("used_cpu_sys_main_thread")
	u := Usage{CPU: time.Duration(cpu * float64(time.Second)), Memory: number("used_memory")}
	return u, err
}

// Version returns the server's version.
func (s *Server) Version(ctx context.Context) string {
	info, err := redistest.Info(ctx, s.Addr)
	if err != nil {
		return "unknown"
	}
	return info["redis_version"]
}

// Settled returns the usage when the memory has become stable. Redis frees the
// buffers of closed connections with a delay.
func (s *Server) Settled(ctx context.Context) (Usage, error) {
	var last float64
	for still, tries := 0, 0; ; tries++ {
		u, err := s.Usage(ctx)
		if err != nil {
			return u, err
		}
		if still++; math.Abs(u.Memory-last) > 64<<10 {
			still = 0
		}
		if still >= 4 || tries > 40 {
			return u, nil
		}
		last = u.Memory
		select {
		case <-ctx.Done():
			return u, context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// PID returns the process id of the server.
func (s *Server) PID(ctx context.Context) (int, error) {
	info, err := redistest.Info(ctx, s.Addr)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(info["process_id"])
}

// Crash ends the server like kill -9, and starts it again with its data.
func (s *Server) Crash() error {
	s.redis.Kill()
	return s.redis.Restart()
}
