package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/test/battery/harness/journal"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/verify"
)

// trial is one run of a scenario: its directory, its randomness, its report.
// One goroutine drives it.
type trial struct {
	opts   options
	dir    string
	out    io.Writer
	rand   *rand.Rand
	failed bool
}

// note prints a number that nothing depends on.
func (t *trial) note(format string, args ...any) {
	fmt.Fprintf(t.out, "       "+format+"\n", args...)
}

// must prints a number and whether it is as promised.
func (t *trial) must(ok bool, format string, args ...any) {
	word := "  ok   "
	if !ok {
		word, t.failed = "  FAIL ", true
	}
	fmt.Fprintf(t.out, word+format+"\n", args...)
}

func (t *trial) word() string {
	if t.failed {
		return "FAIL"
	}
	return "PASS"
}

func (t *trial) path(name string) string { return filepath.Join(t.dir, name) }

// stage is a server, a receiver and a client with their logs: what most
// scenarios need. close ends all of them and leaves the logs.
type stage struct {
	dir       string
	server    *server
	receiver  *receiver.Receiver
	client    *client
	accepted  *journal.Journal
	cancelled *journal.Journal
	faults    *journal.Journal
	t         *trial

	promises atomic.Int64 // calls of promised, for who waits for more of them
}

func (t *trial) stage(ctx context.Context, flags ...string) (*stage, error) {
	return t.stageIn(ctx, ".", flags...)
}

// stageIn is stage for trials that have several, each in a directory of its own.
func (t *trial) stageIn(ctx context.Context, sub string, flags ...string) (*stage, error) {
	st, err := t.propsIn(sub, flags...)
	if err != nil {
		return nil, err
	}
	if err := st.server.run(ctx); err != nil {
		st.close()
		return nil, err
	}
	return st, nil
}

// propsIn is a stage whose server does not run yet.
func (t *trial) propsIn(sub string, flags ...string) (*stage, error) {
	st, err := t.logsIn(sub)
	if err != nil {
		return nil, err
	}
	if st.server, err = newServer(t.opts.binary, st.dir, flags...); err != nil {
		st.close()
		return nil, err
	}
	st.client = newClient(st.server.url())
	return st, nil
}

// logsIn is a stage without a server: a receiver, and the logs.
func (t *trial) logsIn(sub string) (st *stage, err error) {
	st = &stage{t: t, dir: t.path(sub)}
	defer func() {
		if err != nil {
			st.close()
		}
	}()
	if err := os.MkdirAll(st.dir, 0o700); err != nil {
		return st, err
	}
	if st.receiver, err = receiver.Open(st.path("arrived")); err != nil {
		return st, err
	}
	for _, log := range []struct {
		name string
		j    **journal.Journal
	}{{"accepted", &st.accepted}, {"cancelled", &st.cancelled}, {"faults", &st.faults}} {
		if *log.j, err = journal.Open(st.path(log.name)); err != nil {
			return st, err
		}
	}
	return st, nil
}

func (st *stage) path(name string) string { return filepath.Join(st.dir, name) }

func (st *stage) close() {
	if st.server != nil {
		st.server.end()
	}
	if st.client != nil {
		st.client.close()
	}
	if st.receiver != nil {
		_ = st.receiver.Close() // each line was synced when it was written
	}
	for _, j := range []*journal.Journal{st.accepted, st.cancelled, st.faults} {
		if j != nil {
			_ = j.Close()
		}
	}
}

// evidence reads the logs from the disk.
func (st *stage) evidence() (e verify.Evidence, err error) {
	if e.Accepted, err = journal.Read[verify.Accepted](st.path("accepted")); err != nil {
		return e, err
	}
	if e.Cancelled, err = journal.Read[verify.Cancelled](st.path("cancelled")); err != nil {
		return e, err
	}
	if e.Arrived, err = journal.Read[verify.Arrived](st.path("arrived")); err != nil {
		return e, err
	}
	e.Faults, err = journal.Read[verify.Fault](st.path("faults"))
	return e, err
}

// awaitPromised returns when what was accepted and not cancelled has arrived, or
// patience has ended: check says then what is missing.
func (st *stage) awaitPromised(ctx context.Context, patience time.Duration) error {
	e, err := st.evidence()
	if err != nil {
		return err
	}
	silent := map[string]bool{} // need not arrive
	for _, c := range e.Cancelled {
		silent[c.Name] = c.MayHold()
	}
	var names []string
	for _, a := range e.Accepted {
		if !silent[a.Name] {
			names = append(names, a.Name)
		}
	}
	st.receiver.AwaitAll(ctx, names, patience)
	return nil
}

// promised writes down that the server accepted tasks.
func (st *stage) promised(name string, due time.Time) error {
	st.promises.Add(1)
	return st.accepted.Append(verify.Accepted{Name: name, Due: due, At: time.Now()})
}

// judge reads the logs, prints what every scenario promises, and returns the
// verdict for what it promises beside that.
func (st *stage) judge() (verify.Verdict, error) {
	e, err := st.evidence()
	if err != nil {
		return verify.Verdict{}, err
	}
	v := verify.Check(e)
	t := st.t
	t.note("accepted %d, arrived %d", v.Accepted, v.Arrived)
	t.must(len(v.Lost) == 0, "lost %d%s", len(v.Lost), verify.Examples(v.Lost))
	t.must(len(v.Early) == 0, "early %d%s", len(v.Early), verify.Examples(v.Early))
	t.must(len(v.Unexplained) == 0, "duplicates without a fault %d%s", len(v.Unexplained), verify.Examples(v.Unexplained))
	t.must(len(v.OtherID) == 0, "duplicates under another webhook-id %d%s", len(v.OtherID), verify.Examples(v.OtherID))
	return v, nil
}

// lateness prints how late the callbacks were and returns the 99th percentile.
func (t *trial) lateness(of string, late []time.Duration) time.Duration {
	p99 := verify.Percentile(late, 99)
	t.note("lateness %s: p50 %s, p99 %s, max %s", of, verify.Millis(verify.Percentile(late, 50)), verify.Millis(p99), verify.Millis(verify.Percentile(late, 100)))
	return p99
}
