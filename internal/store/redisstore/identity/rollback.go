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
}

// compare records how many heartbeats the store has counted. nodes is the number
// of live nodes.
func (r *rollback) compare(beats int64, nodes int) {
	if missing := (r.beats - beats) / int64(max(nodes, 1)); missing >= rollbackBeats {
		r.missing = missing
	}
	r.beats = beats
}

// noteRollback logs and counts a rollback, if there are signs of one.
func (w *Watch) noteRollback() {
	changes := w.servers.Counters.Lost()
	if changes == 0 && w.rollback.missing == 0 {
		return
	}
	w.rollbacks.Add(1)
	by := time.Duration(w.rollback.missing) * w.config.Heartbeat
	w.rollback.missing = 0
	w.config.Logger.Error("the store has older data than before: newer tasks are lost, and newer changes and deliveries are undone",
		"lost_changes_of_this_node", changes, "by", by.Round(time.Second).String(), "identity", w.servers.Identity,
		"reason", "the Redis lost the end of its file or was restored from an older copy, or a replica that was behind took over")
}
