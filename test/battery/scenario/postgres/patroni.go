package postgres

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/store/pgstore"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// The faults of a cluster of Patroni. A split stops Patroni alone, so the old primary
// takes writes while another server is promoted.
const (
	pause  = "SIGSTOP"
	noEtcd = "SIGSTOP of etcd"
)

// Patroni is Failover with the three servers and the settings that Patroni gives them.
// It promotes another server without the help of this program.
func Patroni(ctx context.Context, t *harness.Run) {
	etcd, servers := startPatroni(ctx, t)
	var hosts []string
	for _, m := range servers {
		hosts = append(hosts, m.addr)
	}
	url := "postgres://postgres@" + strings.Join(hosts, ",") + "/postgres?target_session_attrs=read-write"
	harness.Check(pgstore.Migrate(ctx, url))
	t.Options.ShardLease = 6 * time.Second // of these tables
	n := t.PrepareNodes(".", 3, url, "--durability", "strict")
	n.StartAll(ctx)
	faults := slices.Repeat([]string{kill}, t.Options.Failovers)
	faults = append(faults, slices.Repeat([]string{pause, split}, max(1, t.Options.Failovers/5))...)
	faults = append(faults, noEtcd)
	load := &harness.Load{Environment: n, Target: n.Endpoints, Rate: loadRate, CancelShare: 0.05, DueWithin: 5 * time.Second}
	var struck []verify.FailoverRun
	n.Carry(ctx, harness.Phases{Load: load, WarmUp: time.Second, Drain: time.Minute, Quiet: 5 * time.Second, Attack: func() {
		for i, fault := range faults {
			t.Part(fmt.Sprintf("run %d, %s", i+1, fault), func() { struck = append(struck, servers.strike(ctx, n, etcd, fault)) })
		}
	}})
	e := n.Evidence()
	for i, r := range struck {
		const before = time.Second // what was due then may wait for the failover
		end := time.Time{}
		if i+1 < len(struck) {
			end = struck[i+1].At.Add(-before)
		}
		d := e.DueWithin(r.At.Add(-before), end).Delays().Untouched
		t.Note("%s: late by at most %s, median %s", faults[i], verify.Millis(verify.Percentile(d, 100)), verify.Millis(verify.Percentile(d, 50)))
	}
	mustKeep(t, verify.JudgeLosses("strict", "Patroni", struck, e), len(struck))
}

// member is etcd, or a PostgreSQL and the Patroni that starts it, in a directory of
// their own. The goroutine of the run drives it.
type member struct {
	dir, addr, rest string // rest is the address of Patroni's API
	args            []string
	cmd             *exec.Cmd
}

type cluster []*member

// startPatroni starts etcd and three servers. They end with the part.
func startPatroni(ctx context.Context, t *harness.Run) (etcd *member, servers cluster) {
	for _, dir := range []string{filepath.Dir(t.Dir), t.Dir} { // the user postgres runs them
		harness.Check(os.Chmod(dir, 0o711)) //nolint:gosec // the user has directories of its own
	}
	etcd = newMember(t, "etcd")
	client, peer := "http://"+etcd.addr, "http://"+etcd.rest
	etcd.args = []string{
		"etcd", "--data-dir", "data", "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer, "--enable-v2",
	}
	etcd.start()
	t.Cleanup(func() { append(servers, etcd).close() })
	for _, name := range names {
		m := newMember(t, name)
		file := filepath.Join(m.dir, "patroni.yml")
		harness.Check(os.WriteFile(file, fmt.Appendf(nil, patroniSettings, name, m.rest, etcd.addr, m.addr, harness.OK(pgtest.Binaries()), m.dir), 0o644)) //nolint:gosec // its user reads it
		m.args = []string{"setpriv", "--pdeathsig", "TERM", "patroni", file}                                                                               // if this program is killed, Patroni ends its PostgreSQL
		m.start()
		servers = append(servers, m)
	}
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	servers.await(ctx, nil, 3)
	return etcd, servers
}

// By version 3 of etcd's API, a primary of Patroni 3.0 that was stopped takes the lock back
// from its successor. The times are the shortest for which loop_wait + 2 * retry_timeout <= ttl.
const patroniSettings = `
scope: foliot
name: %s
restapi: {listen: %[2]s, connect_address: %[2]s}
etcd: {host: %[3]s}
bootstrap:
  dcs:
    ttl: 7
    loop_wait: 1
    retry_timeout: 3
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql: {use_pg_rewind: true, parameters: {unix_socket_directories: ""}}
  initdb: [encoding: UTF8, locale: C]
  pg_hba: [host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
postgresql:
  listen: %[4]s
  connect_address: %[4]s
  data_dir: %[6]s/data
  pgpass: %[6]s/pgpass
  bin_dir: %[5]s
  remove_data_directory_on_rewind_failure: true
  remove_data_directory_on_diverged_timelines: true
  authentication: {superuser: {username: postgres, password: sesame}, replication: {username: replicator, password: sesame}}
`

func newMember(t *harness.Run, name string) *member {
	m := &member{dir: t.Path(name), addr: harness.OK(harness.FreeAddr()), rest: harness.OK(harness.FreeAddr())}
	harness.Check(os.Mkdir(m.dir, 0o700))
	return m
}

// start starts etcd or Patroni.
func (m *member) start() {
	log := harness.OK(os.OpenFile(m.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))
	defer func() { _ = log.Close() }()
	m.cmd = exec.Command(m.args[0], m.args[1:]...) //nolint:gosec // our own
	m.cmd.Dir, m.cmd.Stdout, m.cmd.Stderr, m.cmd.SysProcAttr = m.dir, log, log, harness.OK(pgtest.Attributes(m.dir))
	m.cmd.SysProcAttr.Setpgid = true // an interrupt from the terminal is for this program alone
	harness.Check(m.cmd.Start())
	go func() { _ = m.cmd.Wait() }() // its log contains the reason for its end
}

// signal sends sig to all processes that run in the directory, and returns their number.
// Patroni starts PostgreSQL as a process of init.
func (m *member) signal(sig syscall.Signal) (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		if dir, err := os.Readlink(link); err == nil && strings.HasPrefix(dir+"/", m.dir+"/") {
			pid := harness.OK(strconv.Atoi(filepath.Base(filepath.Dir(link))))
			_ = syscall.Kill(pid, sig) // it may have ended
			n++
		}
	}
	return n
}

// gone sends sig until no process is left, or ctx ends.
func (m *member) gone(ctx context.Context, sig syscall.Signal) {
	for m.signal(sig) > 0 && timing.Pause(ctx, 10*time.Millisecond) {
	}
}

// close ends all processes. A PostgreSQL that is killed would leave its shared memory, so
// each may quit before.
func (c cluster) close() {
	for _, m := range c {
		_ = m.cmd.Process.Kill() // Patroni would start PostgreSQL again
	}
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	for _, m := range c {
		m.signal(syscall.SIGCONT)
		m.gone(ctx, syscall.SIGQUIT)
		m.gone(context.Background(), syscall.SIGKILL)
	}
}

// strike makes a fault, and returns when creates are answered and all servers
// replicate again.
func (c cluster) strike(ctx context.Context, n *harness.Environment, etcd *member, fault string) (r verify.FailoverRun) {
	r.Began = time.Now()
	harness.Pause(ctx, between(n.Run, time.Second, 3*time.Second))
	ctx, stop := context.WithTimeout(ctx, 3*time.Minute)
	defer stop()
	old := c.await(ctx, nil, 1)
	r.At = time.Now()
	n.RecordFault(fault, r.At)
	switch fault {
	case kill:
		old.gone(ctx, syscall.SIGKILL)
		c.await(ctx, old, 1)
		old.start()
	case pause:
		old.signal(syscall.SIGSTOP)
		c.await(ctx, old, 1)
		answered(ctx, n)
		old.signal(syscall.SIGCONT)
	case split:
		harness.Check(old.cmd.Process.Signal(syscall.SIGSTOP))
		c.await(ctx, old, 1)
		harness.Pause(ctx, time.Second) // two primaries take writes for a while
		harness.Check(old.cmd.Process.Signal(syscall.SIGCONT))
	case noEtcd:
		etcd.signal(syscall.SIGSTOP)
		harness.Pause(ctx, 10*time.Second)
		etcd.signal(syscall.SIGCONT)
	}
	n.RecordFault(fault+" has ended", time.Now())
	answered(ctx, n)
	c.await(ctx, nil, 3)
	return r
}

// await waits until the servers have so many of the roles, one of them the primary, and
// returns the primary. If they have all roles, all standbys stream from it: one that still
// rewinds is a replica too, and would wait forever if its source fell. await does not ask the
// server except.
func (c cluster) await(ctx context.Context, except *member, count int) (primary *member) {
	harness.Check(redistest.Poll(ctx, func(ctx context.Context) error {
		roles := map[string]*member{}
		for _, m := range c {
			if i := slices.IndexFunc(roleNames, func(name string) bool { return m != except && m.is(ctx, name) }); i >= 0 {
				roles[roleNames[i]] = m
			}
		}
		if primary = roles["primary"]; primary != nil && len(roles) >= count && (count < len(c) || primary.standbys(ctx) == count-1) {
			return nil
		}
		timing.Pause(ctx, 100*time.Millisecond)
		return fmt.Errorf("Patroni has these roles: %v", slices.Collect(maps.Keys(roles)))
	}))
	return primary
}

// roleNames are those of Patroni's API, in this order because a synchronous standby is also
// a replica. A complete cluster has all three.
var roleNames = []string{"primary", "synchronous", "replica"}

// standbys returns the number of servers that stream from m.
func (m *member) standbys(ctx context.Context) (n int) {
	conn, err := pgx.Connect(ctx, "postgres://postgres@"+m.addr+"/postgres")
	if err != nil {
		return 0
	}
	defer func() { _ = conn.Close(ctx) }()
	_ = conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'").Scan(&n) // 0: asked again
	return n
}

func (m *member) is(ctx context.Context, role string) bool {
	resp, err := http.DefaultClient.Do(harness.OK(http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.rest+"/"+role, nil)))
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
