package redisconn

import (
	"errors"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
)

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
