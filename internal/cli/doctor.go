package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/redischeck"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/wire"
)

type doctorCmd struct {
	Server doctorServerCmd `cmd:"" default:"withargs" help:"Examine a running server (the default)."`
	Data   doctorDataCmd   `cmd:"" help:"Examine a data directory that no server has open."`
	Redis  doctorRedisCmd  `cmd:"" help:"Examine a Redis or Valkey, or those of a Sentinel or a Cluster, as a store."`
	Egress doctorEgressCmd `cmd:"" help:"Say whether tasks may call a URL, and why."`
}

// findings collects and prints the results of the examination.
type findings struct {
	con *console
	bad int
	err error
}

func (f *findings) add(check string, ok bool, format string, args ...any) {
	if !ok {
		f.bad++
	}
	says := fmt.Sprintf(format, args...)
	found := wire.Finding{Check: check, OK: ok, Says: says}
	if f.con.json {
		f.err = errors.Join(f.err, f.con.object(found))
		return
	}
	word := "ok  "
	if !ok {
		word = "BAD "
	}
	f.con.sayf("%s %-12s %s", word, check, wording.Printable(says))
}

// end returns the error that chooses the exit code.
func (f *findings) end() error {
	switch {
	case f.err != nil:
		return f.err
	case f.bad == 1:
		return errors.New("1 finding is bad")
	case f.bad > 1:
		return fmt.Errorf("%d findings are bad", f.bad)
	}
	return nil
}

type doctorServerCmd struct{}

// Help shows examples below the usage line.
func (doctorServerCmd) Help() string {
	return `Asks a running server what can be asked from outside, and says what is wrong with the answers: whether it is ready, how far its clock is from
this machine's, how late attempts start (judged from 100 in the last minute on), what is overdue and why, which destinations fail, which tasks died,
and of the namespace's schedules (the first 10,000) which cannot be followed, which are overdue, and which skipped instants since yesterday.
Of servers that share a Redis it also says whether each shard has an owner, and each server a name of its own, and it includes what foliot doctor redis
finds, as the server finds it by its own settings; what is late or overdue it knows of the server alone that it asks, and of tasks nothing while the store is away. Each finding is a line (or an object, with -o json). It exits with 1 when one is bad.

Examples:

    foliot doctor
    foliot doctor --server https://foliot.internal --token-file operator.token`
}

const (
	// lateBound is when lateness deserves a look: ten times what is promised.
	lateBound = 100 * time.Millisecond
	// lateSample is how many attempts a verdict on lateness takes: below, a single one decides the p99.
	lateSample = 100
	// overdueBound is when an overdue task that nothing holds back does.
	overdueBound = 5 * time.Second
)

// Run examines.
func (doctorServerCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	f := &findings{con: con}
	began := time.Now()
	live, err := api.Live(ctx)
	if errors.Is(err, client.ErrUnavailable) {
		f.add("ready", false, "the server refuses requests: %s", con.why(err))
		f.store(ctx, api) // a server answers this even while its store is closed
		f.unknown()
		return f.end()
	}
	if err != nil {
		return err
	}
	f.clock(cmp.Or(live.Now, live.At), began, time.Since(began))
	shared, err := f.servers(ctx, api)
	if shared || err != nil {
		f.store(ctx, api)
	}
	if err == nil {
		err = f.schedules(ctx, api, live.At)
	}
	if err == nil {
		err = f.dead(ctx, api)
	}
	f.live(live)
	if err != nil {
		f.unknown()
	} else {
		f.overdue(live, shared)
	}
	return f.end()
}

// unknown reports findings that are unavailable while the store is away or closed.
func (f *findings) unknown() {
	for _, check := range []string{"overdue", "schedules", "dead"} {
		f.add(check, false, "not known while the store is away or closed")
	}
}

// clock compares the clocks: the server's answer was written somewhere between
// began and the end of the trip.
func (f *findings) clock(at, began time.Time, trip time.Duration) {
	apart := time.Duration(0)
	switch {
	case at.Before(began):
		apart = at.Sub(began)
	case at.After(began.Add(trip)):
		apart = at.Sub(began.Add(trip))
	}
	apart = apart.Round(time.Millisecond)
	if apart.Abs() <= redischeck.ClockBound {
		f.add("clock", true, "this machine's and the server's are within %v", max(apart.Abs(), trip.Round(time.Millisecond)))
		return
	}
	f.add("clock", false, "the server's is %v off this machine's: absolute times mean another moment there; synchronise both (chrony, systemd-timesyncd)", apart)
}

func (f *findings) live(l *client.Live) {
	f.lateness(l.Late)
	if l.Slots > 0 {
		f.add("slots", l.Running < l.Slots, "%d of %d in use; when all are, attempts wait (--concurrency)", l.Running, l.Slots)
	}
	if len(l.Suspended) > 0 {
		f.add("suspended", true, "nothing of these namespaces is delivered or fired: %s; resume one with foliot namespace set NAME --no-suspended", strings.Join(l.Suspended, ", "))
	}
	for _, d := range l.Destinations {
		if d.Breaker != "" && d.Breaker != "closed" {
			f.add("breaker", false, "%s failed again and again: %s; its tasks wait and spend no attempts", wording.Qualified(d.Namespace, d.Destination), d.Breaker)
		}
	}
}

// overdue tells what is overdue on the server that was asked: of a shared store
// it knows the tasks of its own shards alone.
func (f *findings) overdue(l *client.Live, shared bool) {
	overdue := 0
	for _, q := range l.Queues {
		if q.Oldest <= overdueBound {
			continue
		}
		overdue++
		held := q.LimitedBy == "suspended" || q.LimitedBy == "pause" || q.LimitedBy == "purge"
		f.add("overdue", held, "%d tasks of %s, the oldest for %v; they wait for: %s", q.Overdue, wording.Qualified(q.Namespace, q.Queue), wording.Age(q.Oldest), orWord(q.LimitedBy, "their turn"))
	}
	where := ""
	if shared {
		where = " in the shards of the server that was asked"
	}
	if overdue == 0 {
		f.add("overdue", true, "nothing for longer than %v%s", overdueBound, where)
	}
}

func (f *findings) lateness(l client.Lateness) {
	inTime, advice := true, ""
	switch {
	case l.Count == 0:
		return
	case l.Count < lateSample:
		advice = fmt.Sprintf("; too few attempts to judge: %d", l.Count)
	case l.P99 > lateBound:
		inTime = false
		advice = fmt.Sprintf("; a p99 above %v comes of a restart, a queue that was paused or has a limit, no free slot, or a busy machine: foliot top tells them apart", lateBound)
	}
	f.add("lateness", inTime, "of the last minute: p50 %s, p99 %s, max %s over %d attempts%s", wording.Millis(l.P50), wording.Millis(l.P99), wording.Millis(l.Max), l.Count, advice)
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

// dead counts the tasks that gave up. An error says that the store is away.
func (f *findings) dead(ctx context.Context, api *client.Client) (away error) {
	var dead int64
	for q, err := range api.Queues.List(ctx) {
		switch {
		case errors.Is(err, client.ErrUnavailable):
			return err
		case err != nil:
			f.add("dead", false, "cannot count: %s", f.con.why(err))
			return nil
		}
		dead += q.Counts.Dead
	}
	if dead == 0 {
		f.add("dead", true, "no task of this namespace gave up")
		return nil
	}
	f.add("dead", true, "%d tasks of this namespace gave up: foliot dead ls says why", dead)
	return nil
}

type doctorDataCmd struct {
	Dir string `arg:"" help:"The data directory."`
}

// Help shows examples below the usage line.
func (doctorDataCmd) Help() string {
	return `Reads everything in a data directory that no server has open, compares records, index entries and counts, and changes nothing. It takes as long as
reading the directory. It exits with 1 when something is wrong.

Examples:

    foliot doctor data ./foliot-data`
}

// Run examines.
func (c *doctorDataCmd) Run(ctx context.Context, con *console) error {
	dir, err := config.LocalDir("DIR", c.Dir)
	if err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return usage.Errorf("DIR", "%v", err)
	}
	if !info.IsDir() {
		return usage.Errorf("DIR", "%s is a file: name a directory", dir)
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // what the database tells its log is no finding
	r, err := pebblestore.Verify(ctx, dir)
	switch {
	case errors.Is(err, pebblestore.ErrInUse):
		return fmt.Errorf("%s: a server has it open; ask that one: foliot doctor", dir)
	case err != nil:
		return fileaccess.Placed("DIR", err)
	}
	f := &findings{con: con}
	f.add("format", true, "%d", r.Format)
	if err := fileaccess.SecretDir.Check(dir, info); err != nil {
		f.add("access", false, "%v", err)
	}
	if r.Clean {
		f.add("closed", true, "in order")
	} else {
		f.add("closed", true, "not in order: the next start recovers, which is what it is built for")
	}
	f.add("records", true, "%d tasks%s, %d entries, checksum %s", r.Tasks, wording.AndSchedules(int(r.Schedules)), r.Entries, r.Checksum)
	for _, problem := range r.Problems {
		f.add("problem", false, "%s", problem)
	}
	if r.More > 0 {
		f.add("problem", false, "and %d more", r.More)
	}
	if len(r.Problems) == 0 {
		f.add("consistency", true, "records, index entries and counts agree")
	}
	if space, err := pebblestore.SpaceOf(dir); err == nil {
		f.space(space)
	}
	return f.end()
}

// space reports whether a server would take tasks on the disk.
func (f *findings) space(s pebblestore.Space) {
	enough, advice := int64(s.Free) >= s.Reserve(), ""
	if !enough {
		advice = ": make room, or give it more"
	}
	f.add("space", enough, "%s free of %s; with less than %s a server takes no new tasks%s",
		wording.Megabytes(int64(s.Free)), wording.Megabytes(int64(s.Total)), wording.Megabytes(s.Reserve()), advice)
}
