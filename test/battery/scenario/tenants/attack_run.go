package tenants

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// attackRun is one attack on one server.
type attackRun struct {
	*harness.Environment
	attack attack
	redis  *redistest.Server    // nil: the server has a directory
	cert   []byte               // the server's, in PEM
	sink   *receiver.Fast       // where the rival's tasks go, unless they hang
	pit    *receiver.HangServer // where they hang
	after  []func()             // to be called at the end, the last one first
}

func (s *attackRun) close() {
	s.Environment.Close()
	for i := len(s.after) - 1; i >= 0; i-- {
		s.after[i]()
	}
}

// prepareAttack starts a server for an attack, in a directory of that name: it speaks
// TLS, and gets no more than serverMemory.
func prepareAttack(ctx context.Context, t *harness.Run, a attack, dir string, onRedis bool) (s *attackRun, err error) {
	flags := append([]string{"--egress-allow", "127.0.0.0/8"}, a.flags...) // loopback is closed once there is a token
	s = &attackRun{attack: a}
	if onRedis {
		args := []string{}
		if a.redisMemory != "" {
			args = append(args, "--maxmemory", a.redisMemory)
		}
		if s.redis, err = redistest.Start(t.Path(dir+"-redis"), args...); err != nil {
			return nil, fmt.Errorf("start a Redis: %w", err)
		}
		s.after = append(s.after, s.redis.Kill)
		flags = append(flags, "--store", "redis://"+s.redis.Addr, "--node", "n1")
	}
	if s.Environment, err = t.PrepareEnvironment(dir, flags...); err != nil {
		s.Environment = &harness.Environment{}
		s.close()
		return nil, err
	}
	if err := s.prepare(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// prepare bounds the server, starts it, and starts the receiver of the rival's tasks.
func (s *attackRun) prepare(ctx context.Context) (err error) {
	if s.cert, err = s.Server.Secure(); err != nil {
		return err
	}
	s.Client.Close()
	s.Client = harness.NewClient(s.Server.URL())
	s.Client.Trust(s.Server.Roots)
	group, err := system.NewMemoryGroup(serverMemory)
	if err != nil {
		s.Run.Note("the server runs without a bound of its memory: %v", err)
	} else {
		s.Server.Group = group
		s.after = append(s.after, func() { _ = group.Close() }) // not used any more
	}
	if s.attack.tinyDisk {
		if err := s.fillDisk(); err != nil {
			return err
		}
	}
	if s.attack.hangs {
		if s.pit, err = receiver.OpenHangServer(); err != nil {
			return err
		}
		s.after = append(s.after, s.pit.Close)
	} else {
		if s.sink, err = receiver.StartFastAt(s.Path("sunk"), ":0"); err != nil {
			return err
		}
		s.after = append(s.after, s.sink.End)
	}
	return s.Server.Run(ctx)
}

const (
	diskBytes = 1 << 30
	diskRoom  = 160 << 20 // of it, for the server
)

// fillDisk puts the data directory on a small file system, which is 84 % full.
func (s *attackRun) fillDisk() error {
	disk := s.Path("disk")
	unmount, err := system.MountNearlyFull(disk, diskBytes, diskRoom)
	if err != nil {
		return err
	}
	s.after = append(s.after, unmount)
	s.Server.Dir = filepath.Join(disk, "data")
	return nil
}

// makeNamespaces makes the two namespaces and their tokens, and returns the attacker's order.
func (s *attackRun) makeNamespaces(ctx context.Context) (order attackOrder, err error) {
	operator, err := s.Client.MakeToken(ctx, wire.TokenInput{Scope: "admin", Namespace: wire.AllNamespaces})
	if err != nil {
		return order, err
	}
	operators := s.Client.WithToken(operator.Token)
	for name, quota := range map[string]wire.NamespaceInput{"victim": {}, "rival": s.attack.quota} {
		if err := operators.Do(ctx, "PUT", "/namespaces/"+name, quota, nil); err != nil {
			return order, err
		}
	}
	token := func(namespace, scope string) string {
		if err != nil || scope == "" {
			return ""
		}
		var made wire.Token
		made, err = operators.MakeToken(ctx, wire.TokenInput{Scope: scope, Namespace: namespace})
		return made.Token
	}
	order = attackOrder{
		Attack: s.attack.Name, Server: s.Server.Addr, Roots: s.cert, Namespace: "rival", Rivals: s.Run.Options.Rivals, Schedules: s.Run.Options.RivalCron,
		Token: token("rival", s.attack.scope), Writer: token("rival", "write"),
	}
	s.Client = s.Client.WithToken(token("victim", "write"))
	if err != nil {
		return order, err
	}
	order.Callback, err = s.callback()
	return order, err
}

// callback returns the address that the rival's tasks call.
func (s *attackRun) callback() (string, error) {
	if s.attack.hangs {
		return s.pit.Listener.Addr().String(), nil
	}
	_, port, err := net.SplitHostPort(s.sink.Addr)
	return net.JoinHostPort("127.0.0.1", port), err
}

// delivered returns how many of the rival's tasks have arrived.
func (s *attackRun) delivered() (int, error) {
	if s.attack.hangs {
		return s.pit.Seen(), nil
	}
	c, err := s.sink.Counts()
	return c.Arrived, err
}

// last lets the attack last as long as it shall.
func (s *attackRun) last(ctx context.Context, ready attackReady) error {
	lasts := s.Run.Options.Phase
	if s.redis != nil {
		lasts = max(lasts, s.attack.redisLasts)
	}
	end := time.Now().Add(lasts)
	if s.attack.drains {
		ctx, stop := context.WithTimeout(ctx, 6*lasts)
		defer stop()
		if err := receiver.AwaitDeliveries(ctx, s.sink, ready.Count, ready.Due, 10*time.Second); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	timing.Until(ctx, end)
	return nil
}

// storedBytes returns how much the store takes: the directory's files, or
// Redis's memory. It returns 0 if that cannot be read.
func (s *attackRun) storedBytes(ctx context.Context) (sum int64) {
	if s.redis == nil {
		_ = filepath.WalkDir(s.Server.Dir, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil // the store may remove files during the walk
			}
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
				sum += info.Size()
			}
			return nil
		})
		return sum
	}
	reply, err := redistest.Command(ctx, s.redis.Addr, "INFO", "memory")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(reply) {
		if rest, ok := strings.CutPrefix(line, "used_memory:"); ok {
			sum, _ = strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
		}
	}
	return sum
}
