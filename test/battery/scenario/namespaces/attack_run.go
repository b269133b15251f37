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
func (r *attackRun) prepare(ctx context.Context) {
	r.cert = harness.OK(r.Server.Secure())
	r.Client.Close()
	r.Client = harness.NewClient(r.Server.URL())
	r.Client.Trust(r.Server.Roots)
	group, err := system.NewMemoryGroup(serverMemory)
	if err != nil {
		r.Run.Note("the server runs without a bound of its memory: %v", err)
	} else {
		r.Server.Group = group
		r.After(func() { _ = group.Close() }) // not used any more
	}
	if r.attack.tinyDisk {
		r.fillDisk()
	}
	if r.attack.hangs {
		r.hang = harness.OK(receiver.OpenHangServer())
		r.After(r.hang.Close)
	} else {
		r.fast = r.StartFast(":0")
	}
	harness.Check(r.Server.Run(ctx))
}

const (
	diskBytes = 1 << 30
	diskRoom  = 160 << 20 // of it, for the server
)

// fillDisk puts the data directory on a small file system, which is 84 % full.
func (r *attackRun) fillDisk() {
	disk := r.Path("disk")
	unmount := harness.OK(system.MountNearlyFull(disk, diskBytes, diskRoom))
	r.After(unmount)
	r.Server.Dir = filepath.Join(disk, "data")
}

// makeNamespaces makes the two namespaces and their tokens, and returns the attacker's order.
func (r *attackRun) makeNamespaces(ctx context.Context) (order attackOrder) {
	operator := harness.OK(r.Client.MakeToken(ctx, wire.TokenInput{Scope: "admin", Namespace: wire.AllNamespaces}))
	operators := r.Client.WithToken(operator.Token)
	for name, quota := range map[string]wire.NamespaceInput{"victim": {}, "rival": r.attack.quota} {
		harness.Check(operators.Do(ctx, "PUT", "/namespaces/"+name, quota, nil))
	}
	token := func(namespace, scope string) string {
		if scope == "" {
			return ""
		}
		return harness.OK(operators.MakeToken(ctx, wire.TokenInput{Scope: scope, Namespace: namespace})).Token
	}
	order = attackOrder{
		Attack: r.attack.Name, Server: r.Server.Addr, Roots: r.cert, Namespace: "rival", Rivals: r.Run.Options.Rivals, Schedules: r.Run.Options.RivalCron,
		Token: token("rival", r.attack.scope), Writer: token("rival", "write"), Callback: r.callback(),
	}
	r.Client = r.Client.WithToken(token("victim", "write"))
	return order
}

// callback returns the address that the rival's tasks call.
func (r *attackRun) callback() string {
	if r.attack.hangs {
		return r.hang.Listener.Addr().String()
	}
	_, port := harness.OK2(net.SplitHostPort(r.fast.Addr))
	return net.JoinHostPort("127.0.0.1", port)
}

// delivered returns how many of the rival's tasks have arrived.
func (r *attackRun) delivered() int {
	if r.attack.hangs {
		return r.hang.Seen()
	}
	return harness.OK(r.fast.Counts()).Arrived
}

// last lets the attack last as long as it shall.
func (r *attackRun) last(ctx context.Context, ready attackReady) {
	lasts := r.Run.Options.Phase
	if r.redis != nil {
		lasts = max(lasts, r.attack.redisLasts)
	}
	end := time.Now().Add(lasts)
	if r.attack.drains {
		ctx, stop := context.WithTimeout(ctx, 6*lasts)
		defer stop()
		if err := r.fast.Await(ctx, ready.Count, ready.Due, 10*time.Second); !errors.Is(err, context.DeadlineExceeded) {
			harness.Check(err)
		}
	}
	timing.Until(ctx, end)
}

// storedBytes returns how much the store takes: the directory's files, or
// Redis's memory. It returns 0 if that cannot be read.
func (r *attackRun) storedBytes(ctx context.Context) (sum int64) {
	if r.redis == nil {
		return system.BytesBelow(r.Server.Dir)
	}
	info, err := redistest.Info(ctx, r.redis.Addr)
	if err != nil {
		return 0
	}
	sum, _ = strconv.ParseInt(info["used_memory"], 10, 64)
	return sum
}
