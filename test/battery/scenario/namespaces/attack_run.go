package namespaces

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"
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
	redis  *redistest.Server    // nil means that the server has a directory
	cert   []byte               // the server's, in PEM
	fast   *receiver.Fast       // where the rival's tasks go, unless they hang
	hang   *receiver.HangServer // where they hang
}

// prepareAttack starts a server for an attack, in a directory of that name. The
// server uses TLS, and gets no more memory than serverMemory.
func prepareAttack(ctx context.Context, t *harness.Run, a attack, dir string, onRedis bool) (s *attackRun) {
	flags := append([]string{"--egress-allow", "127.0.0.0/8"}, a.flags...) // loopback is closed once there is a token
	s = &attackRun{attack: a}
	if onRedis {
		args := []string{}
		if a.redisMemory != "" {
			args = append(args, "--maxmemory", a.redisMemory)
		}
		s.redis = t.StartRedis(dir+"-redis", args...)
		flags = append(flags, "--store", "redis://"+s.redis.Addr, "--node", "n1")
	}
	s.Environment = t.PrepareEnvironment(dir, flags...)
	s.prepare(ctx)
	return s
}

// prepare bounds the server, starts it, and starts the receiver of the rival's tasks.
func (s *attackRun) prepare(ctx context.Context) {
	s.cert = harness.OK(s.Server.Secure())
	s.Client.Close()
	s.Client = harness.NewClient(s.Server.URL())
	s.Client.Trust(s.Server.Roots)
	group, err := system.NewMemoryGroup(serverMemory)
	if err != nil {
		s.Run.Note("the server runs without a bound of its memory: %v", err)
	} else {
		s.Server.Group = group
		s.After(func() { _ = group.Close() }) // not used any more
	}
	if s.attack.tinyDisk {
		s.fillDisk()
	}
	if s.attack.hangs {
		s.hang = harness.OK(receiver.OpenHangServer())
		s.After(s.hang.Close)
	} else {
		s.fast = s.StartFast(":0")
	}
	harness.Check(s.Server.Run(ctx))
}

const (
	diskBytes = 1 << 30
	diskRoom  = 160 << 20 // of it, for the server
)

// fillDisk puts the data directory on a small file system, which is 84 % full.
func (s *attackRun) fillDisk() {
	disk := s.Path("disk")
	unmount := harness.OK(system.MountNearlyFull(disk, diskBytes, diskRoom))
	s.After(unmount)
	s.Server.Dir = filepath.Join(disk, "data")
}

// makeNamespaces makes the two namespaces and their tokens, and returns the attacker's order.
func (s *attackRun) makeNamespaces(ctx context.Context) (order attackOrder) {
	operator := harness.OK(s.Client.MakeToken(ctx, wire.TokenInput{Scope: "admin", Namespace: wire.AllNamespaces}))
	operators := s.Client.WithToken(operator.Token)
	for name, quota := range map[string]wire.NamespaceInput{"victim": {}, "rival": s.attack.quota} {
		harness.Check(operators.Do(ctx, "PUT", "/namespaces/"+name, quota, nil))
	}
	token := func(namespace, scope string) string {
		if scope == "" {
			return ""
		}
		return harness.OK(operators.MakeToken(ctx, wire.TokenInput{Scope: scope, Namespace: namespace})).Token
	}
	order = attackOrder{
		Attack: s.attack.Name, Server: s.Server.Addr, Roots: s.cert, Namespace: "rival", Rivals: s.Run.Options.Rivals, Schedules: s.Run.Options.RivalCron,
		Token: token("rival", s.attack.scope), Writer: token("rival", "write"), Callback: s.callback(),
	}
	s.Client = s.Client.WithToken(token("victim", "write"))
	return order
}

// callback returns the address that the rival's tasks call.
func (s *attackRun) callback() string {
	if s.attack.hangs {
		return s.hang.Listener.Addr().String()
	}
	_, port := harness.OK2(net.SplitHostPort(s.fast.Addr))
	return net.JoinHostPort("127.0.0.1", port)
}

// delivered returns how many of the rival's tasks have arrived.
func (s *attackRun) delivered() int {
	if s.attack.hangs {
		return s.hang.Seen()
	}
	return harness.OK(s.fast.Counts()).Arrived
}

// last lets the attack last as long as it shall.
func (s *attackRun) last(ctx context.Context, ready attackReady) {
	lasts := s.Run.Options.Phase
	if s.redis != nil {
		lasts = max(lasts, s.attack.redisLasts)
	}
	end := time.Now().Add(lasts)
	if s.attack.drains {
		ctx, stop := context.WithTimeout(ctx, 6*lasts)
		defer stop()
		if err := s.fast.Await(ctx, ready.Count, ready.Due, 10*time.Second); !errors.Is(err, context.DeadlineExceeded) {
			harness.Check(err)
		}
	}
	timing.Until(ctx, end)
}

// storedBytes returns how much the store takes: the directory's files, or
// Redis's memory. It returns 0 if that cannot be read.
func (s *attackRun) storedBytes(ctx context.Context) (sum int64) {
	if s.redis == nil {
		return system.BytesBelow(s.Server.Dir)
	}
	info, err := redistest.Info(ctx, s.redis.Addr)
	if err != nil {
		return 0
	}
	sum, _ = strconv.ParseInt(info["used_memory"], 10, 64)
	return sum
}
