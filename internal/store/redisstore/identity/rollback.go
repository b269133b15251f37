package identity

import "time"

// A Redis that was restored from an older copy, or lost the end of its file, has the
// identity of the store but older data. Each process compares the counts of its own
// confirmed changes (redisconn.Counters), which is exact. To notice lost changes of
// processes that have ended, it compares the number of heartbeats of all nodes. A
// failover loses some heartbeats too, because none waits for a replica.

// rollbackBeats is more heartbeats of each node than a failover can lose.
const rollbackBeats = 10

// rollback collects the signs of older data until they are logged.
type rollback struct {
	beats   int64 // the number of heartbeats that the store had counted at the last comparison
	missing int64 // heartbeats of each node that are missing; zero if a failover can explain it
	noted   time.Time
}

// sameRollback is how long after the first sign of a rollback the other one can be found.
const sameRollback = 5 * time.Second

// compare records how many heartbeats the store has counted. nodes is the number
// of live nodes.
func (r *rollback) compare(beats int64, nodes int) {
	if missing := (r.beats - beats) / int64(max(nodes, 1)); missing >= rollbackBeats {
		r.missing = missing
	}
	r.beats = beats
}

// note reports whether the signs since the last call, with lost changes of this process,
// are those of a rollback that was not reported yet. by is the number of heartbeats of
// each node that are missing.
func (r *rollback) note(now time.Time, changes int64) (by int64, news bool) {
	by, r.missing = r.missing, 0
	if changes == 0 && (by == 0 || now.Sub(r.noted) < sameRollback) {
		return 0, false
	}
	r.noted = now
	return by, true
}

// noteRollback logs and counts a rollback, if there are signs of one.
func (w *Watch) noteRollback() {
	changes := w.servers.Counters.Lost()
	missing, news := w.rollback.note(time.Now(), changes)
	if !news {
		return
	}
	w.rollbacks.Add(1)
	by := time.Duration(missing) * w.config.Heartbeat
	w.config.Logger.Error("the store has older data than before: newer tasks are lost, and newer changes and deliveries are undone",
		"lost_changes_of_this_node", changes, "by", by.Round(time.Second).String(), "identity", w.servers.Identity,
		"reason", "the Redis lost the end of its file or was restored from an older copy, or a replica that was behind took over")
}
