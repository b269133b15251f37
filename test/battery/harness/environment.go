package harness

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/test/battery/harness/journal"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/verify"
)

// Environment is one server, or several nodes that share a Redis, with a receiver,
// a client and the logs. Most scenarios need one. When the part of the run that
// opened it ends, the environment is closed. The logs stay.
type Environment struct {
	Run     *Run
	Dir     string
	Servers []*Server
	Server  *Server // the only server; nil means that the run has nodes
	Client  *Client // of the first server

	Endpoints *Endpoints // the endpoints of the nodes; nil means that the run has one server

	Receiver  *receiver.Receiver
	accepted  *journal.Journal
	Cancelled *journal.Journal
	faults    *journal.Journal

	Promises atomic.Int64 // calls of Promised

	defaults Phases
	after    []func()        // to be called when the servers have ended, the last one first
	machine  *system.Jitter  // while nodes run; nil means that they have ended, or there is one server
	Idle     []time.Duration // how late this machine woke a process while nodes ran; ascending
}

// NewEnvironment starts a server with the flags, a receiver and a client.
func (t *Run) NewEnvironment(ctx context.Context, flags ...string) *Environment {
	return t.NewEnvironmentIn(ctx, ".", flags...)
}

// NewEnvironmentIn is NewEnvironment for runs with several environments. sub is
// the directory of this one.
func (t *Run) NewEnvironmentIn(ctx context.Context, sub string, flags ...string) *Environment {
	st := t.PrepareEnvironment(sub, flags...)
	st.StartAll(ctx)
	return st
}

// PrepareEnvironment returns an environment. Its server does not run yet.
func (t *Run) PrepareEnvironment(sub string, flags ...string) *Environment {
	st := t.OpenLogs(sub)
	st.Server = OK(NewServer(t.Options.Binary, st.Dir, flags...))
	st.Servers = []*Server{st.Server}
	st.Client = NewClient(st.Server.URL())
	return st
}

// OpenLogs returns an environment without a server: a receiver and the logs.
func (t *Run) OpenLogs(sub string) *Environment {
	st := &Environment{Run: t, Dir: t.Path(sub), defaults: Phases{Stop: 10 * time.Second}}
	t.Cleanup(st.close)
	Check(os.MkdirAll(st.Dir, 0o700))
	st.Receiver = OK(receiver.Open(st.Path("arrived")))
	st.accepted = OK(journal.Open(st.Path("accepted")))
	st.Cancelled = OK(journal.Open(st.Path("cancelled")))
	st.faults = OK(journal.Open(st.Path("faults")))
	return st
}

// Path returns the path of a file in the directory of the environment.
func (e *Environment) Path(name string) string { return filepath.Join(e.Dir, name) }

// After registers a function that is called when the servers have ended.
func (e *Environment) After(f func()) { e.after = append(e.after, f) }

// close ends the servers, the clients and the receiver. The logs stay.
func (e *Environment) close() {
	e.endJitter()
	for _, s := range e.Servers {
		s.End()
	}
	if e.Endpoints != nil {
		e.Endpoints.close()
	}
	if e.Client != nil {
		e.Client.Close()
	}
	if e.Receiver != nil {
		_ = e.Receiver.Close() // each line was written
	}
	for _, j := range []*journal.Journal{e.accepted, e.Cancelled, e.faults} {
		if j != nil {
			_ = j.Close()
		}
	}
	for _, f := range slices.Backward(e.after) {
		f()
	}
}

// Evidence reads the logs from the disk.
func (e *Environment) Evidence() (found verify.Evidence) {
	found.Accepted = OK(journal.Read[verify.Accepted](e.Path("accepted")))
	found.Cancelled = OK(journal.Read[verify.Cancelled](e.Path("cancelled")))
	found.Arrived = OK(journal.Read[verify.Arrived](e.Path("arrived")))
	found.Faults = OK(journal.Read[verify.Fault](e.Path("faults")))
	return found
}

// AwaitPromised returns when all tasks that were accepted and not cancelled
// have arrived. It also returns after patience. Then Check finds the missing
// tasks.
func (e *Environment) AwaitPromised(ctx context.Context, patience time.Duration) {
	known := e.Evidence()
	silent := map[string]bool{} // need not arrive
	for _, c := range known.Cancelled {
		silent[c.Name] = c.MayHold()
	}
	var names []string
	for _, a := range known.Accepted {
		if !silent[a.Name] {
			names = append(names, a.Name)
		}
	}
	e.Receiver.AwaitAll(ctx, names, patience)
}

// Promised writes down that the server accepted tasks.
func (e *Environment) Promised(name string, due time.Time) error {
	e.Promises.Add(1)
	return e.accepted.Append(verify.Accepted{Name: name, Due: due, At: time.Now()})
}

// RecordFault logs a fault at that moment.
func (e *Environment) RecordFault(kind string, at time.Time) {
	Check(e.faults.Append(verify.Fault{Kind: kind, At: at}))
}

// Kill kills a server, and logs the kill as a fault.
func (e *Environment) Kill(s *Server) {
	at := s.KillNow()
	s.Reap()
	e.RecordFault("kill -9", at)
}

// StartFast starts a fast receiver for the servers. It ends with the environment.
func (e *Environment) StartFast(addr string) *receiver.Fast {
	fast := OK(receiver.StartFast(e.Path("deliveries"), addr))
	e.After(fast.End)
	return fast
}

// StopWith stops the server, and then the fast receiver that it calls. The log of
// the receiver is on the disk afterwards.
func (e *Environment) StopWith(fast *receiver.Fast) {
	Check(e.StopAll(20 * time.Second))
	Check(fast.Close())
}
