package redisconn

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/task"
)

func TestErrorsOfServersAreExplained(t *testing.T) {
	s := connected(t, Config{}, redistest.New(t).Addr)
	says := func(text string) error {
		return s.Client.Do(t.Context(), s.Client.B().Eval().Script("return redis.error_reply(ARGV[1])").Numkeys(0).Arg(text).Build()).Error()
	}
	for reply, want := range map[string]string{
		"TRYAGAIN Multiple keys request during rehashing of slot": "was moving",
		"MOVED 1 127.0.0.1:7000":                                  "was moving",
		"ASK 1 127.0.0.1:7000":                                    "was moving",
		"CLUSTERDOWN The cluster is down":                         "no master",
		"LOADING Redis is loading the dataset in memory":          "reading its file",
		"READONLY You can't write against a read only replica.":   "a replica",
		"MASTERDOWN Link with MASTER is down":                     "without a master",
		"BUSY Redis is busy running a script.":                    "another client",
	} {
		err := says(reply)
		if !s.passing(err) {
			t.Errorf("%s would not be repeated", reply)
		}
		got := unavailable(err, time.Second)
		if strings.Contains(got.Error(), "--store") {
			t.Errorf("a program that embeds the timers has no flags: %q", got)
		}
		if !errors.Is(got, task.ErrUnavailable) || !strings.Contains(got.Error(), want) || !strings.Contains(got.Error(), reply) {
			t.Errorf("%s is explained by %q", reply, got)
		}
	}
	if s.passing(says("WRONGTYPE Operation against a key")) {
		t.Error("what does not end by itself is repeated")
	}
}

// The client closes the connections to a master that was replaced. The error is
// the same as when the client itself is closed.
func TestAReplacedConnectionIsReportedAsUnavailable(t *testing.T) {
	err := unavailable(rueidis.ErrClosing, RetryTime)
	if !errors.Is(err, task.ErrUnavailable) || errors.Is(err, task.ErrClosed) {
		t.Error(err)
	}
}

// The batch was sent while another server was the master.
func TestAReplyOfAFormerMasterConfirmsNothing(t *testing.T) {
	s := connected(t, Config{}, redistest.New(t).Addr)
	sh := s.Keys.Shards(1)[0]
	for master, confirmed := range map[string]bool{s.MasterOf(sh.Own): true, "127.0.0.1:1": false} {
		w := s.newWrite(mend, sh)
		w.run = NewRepair(sh.Own, "store", -1, "").run
		l := &pipeline{servers: s, master: master}
		l.enqueue([]*write{w})
		r := <-w.done
		if (r.err == nil) != confirmed {
			t.Errorf("%s: %v", master, r.err)
		}
		if r.err != nil && (!errors.Is(r.err, errReplaced) || !s.passing(r.err)) {
			t.Errorf("%s: %v is not repeated", master, r.err)
		}
	}
}

// A server that was a replica may be the master of other data by now, and another
// server may have its address.
func TestOnlyAMasterThatContinuesTheHistoryIsASuccessor(t *testing.T) {
	s, other := connected(t, Config{}, redistest.New(t).Addr), redistest.New(t)
	text, err := redistest.Command(t.Context(), other.Addr, "INFO", "replication")
	fatal.If(t, err)
	for history, successor := range map[string]bool{infoFields(text)["master_replid"]: true, "of another master": false} {
		if got := s.promoted(t.Context(), other.Addr, history); got != successor {
			t.Errorf("history %q: successor %v", history, got)
		}
	}
}
