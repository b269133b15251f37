package harness

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/test/battery/harness/journal"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Environment is a server, a receiver and a client with their logs. Most scenarios
// need one. Close ends all of them and leaves the logs.
type Environment struct {
	Dir       string
	Server    *Server
	Receiver  *receiver.Receiver
	Client    *Client
	accepted  *journal.Journal
	Cancelled *journal.Journal
	Faults    *journal.Journal
	Run       *Run

	Promises atomic.Int64 // calls of Promised
}

// NewEnvironment starts a server with the flags, a receiver and a client.
func (t *Run) NewEnvironment(ctx context.Context, flags ...string) (*Environment, error) {
	return t.NewEnvironmentIn(ctx, ".", flags...)
}

// NewEnvironmentIn is NewEnvironment for runs that have several, each in a directory of its own.
func (t *Run) NewEnvironmentIn(ctx context.Context, sub string, flags ...string) (*Environment, error) {
	st, err := t.PrepareEnvironment(sub, flags...)
	if err != nil {
		return nil, err
	}
	if err := st.Server.Run(ctx); err != nil {
		st.Close()
		return nil, err
	}
	return st, nil
}

// PrepareEnvironment returns an environment. Its server does not run yet.
func (t *Run) PrepareEnvironment(sub string, flags ...string) (*Environment, error) {
	st, err := t.OpenLogs(sub)
	if err != nil {
		return nil, err
	}
	if st.Server, err = NewServer(t.Options.Binary, st.Dir, flags...); err != nil {
		st.Close()
		return nil, err
	}
	st.Client = NewClient(st.Server.URL())
	return st, nil
}

// OpenLogs returns an environment without a server: a receiver and the logs.
func (t *Run) OpenLogs(sub string) (st *Environment, err error) {
	st = &Environment{Run: t, Dir: t.Path(sub)}
	defer func() {
		if err != nil {
			st.Close()
		}
	}()
	if err := os.MkdirAll(st.Dir, 0o700); err != nil {
		return st, err
	}
	if st.Receiver, err = receiver.Open(st.Path("arrived")); err != nil {
		return st, err
	}
	for _, log := range []struct {
		name string
		j    **journal.Journal
	}{{"accepted", &st.accepted}, {"cancelled", &st.Cancelled}, {"faults", &st.Faults}} {
		if *log.j, err = journal.Open(st.Path(log.name)); err != nil {
			return st, err
		}
	}
	return st, nil
}

// Path returns the path of a file in the directory of the environment.
func (st *Environment) Path(name string) string { return filepath.Join(st.Dir, name) }

// Close ends the server, the client and the receiver. The logs stay.
func (st *Environment) Close() {
	if st.Server != nil {
		st.Server.End()
	}
	if st.Client != nil {
		st.Client.Close()
	}
	if st.Receiver != nil {
		_ = st.Receiver.Close() // each line was synced when it was written
	}
	for _, j := range []*journal.Journal{st.accepted, st.Cancelled, st.Faults} {
		if j != nil {
			_ = j.Close()
		}
	}
}

// Evidence reads the logs from the disk.
func (st *Environment) Evidence() (e verify.Evidence, err error) {
	if e.Accepted, err = journal.Read[verify.Accepted](st.Path("accepted")); err != nil {
		return e, err
	}
	if e.Cancelled, err = journal.Read[verify.Cancelled](st.Path("cancelled")); err != nil {
		return e, err
	}
	if e.Arrived, err = journal.Read[verify.Arrived](st.Path("arrived")); err != nil {
		return e, err
	}
	e.Faults, err = journal.Read[verify.Fault](st.Path("faults"))
	return e, err
}

// AwaitPromised returns when all tasks have arrived that were accepted and not
// cancelled. It also returns when patience has ended; Check then finds the missing tasks.
func (st *Environment) AwaitPromised(ctx context.Context, patience time.Duration) error {
	e, err := st.Evidence()
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
	st.Receiver.AwaitAll(ctx, names, patience)
	return nil
}

// Promised writes down that the server accepted tasks.
func (st *Environment) Promised(name string, due time.Time) error {
	st.Promises.Add(1)
	return st.accepted.Append(verify.Accepted{Name: name, Due: due, At: time.Now()})
}

// Judge reads the logs and checks the promises of every scenario. It returns the
// verdict, so that a scenario can check further promises.
func (st *Environment) Judge() (verify.Verdict, error) {
	e, err := st.Evidence()
	if err != nil {
		return verify.Verdict{}, err
	}
	v := verify.Check(e)
	t := st.Run
	t.Note("accepted %d, arrived %d", v.Accepted, v.Arrived)
	t.Must(len(v.Lost) == 0, "lost %d%s", len(v.Lost), verify.Examples(v.Lost))
	t.Must(len(v.Early) == 0, "early %d%s", len(v.Early), verify.Examples(v.Early))
	t.Must(len(v.Unexplained) == 0, "duplicates without a fault %d%s", len(v.Unexplained), verify.Examples(v.Unexplained))
	t.Must(len(v.OtherID) == 0, "duplicates under another webhook-id %d%s", len(v.OtherID), verify.Examples(v.OtherID))
	return v, nil
}

// Conclude ends a scenario: it lets the server go on for a while, in which a
// second callback would come, stops it, and judges.
func (st *Environment) Conclude(ctx context.Context, quiet, stopWithin time.Duration) (verify.Verdict, error) {
	if quiet > 0 {
		timing.Pause(ctx, quiet)
	}
	if err := st.Server.Stop(stopWithin); err != nil {
		return verify.Verdict{}, err
	}
	return st.Judge()
}

// StopWith stops the server, and then the fast receiver that it calls. The log of
// the receiver is on the disk afterwards.
func (st *Environment) StopWith(fast *receiver.Fast) error {
	if err := st.Server.Stop(20 * time.Second); err != nil {
		return err
	}
	return fast.Close()
}
