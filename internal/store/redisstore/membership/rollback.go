package membership

import "time"

// A Redis that was restored from an old copy has the identity of the store but
// older data. Tasks accepted since then are gone, and cancels and deliveries
// since then are undone. The store counts the heartbeats of all nodes. If the
// count is lower than before, the data is older; no clock is needed for that. A
// failover loses some heartbeats too: those that no replica had.

// rollbackBeats is more heartbeats of each node than a failover can lose. If at
// least this many heartbeats of each node are missing, a rollback is logged.
const rollbackBeats = 10

// rolledBack records how many heartbeats the store has counted, and returns how
// many of each node are missing. It returns 0 if a failover can explain the
// loss. nodes is the number of nodes that were live.
func (o *Member) rolledBack(beats int64, nodes int) int64 {
	missing := (o.beats - beats) / int64(max(nodes, 1))
	o.beats = beats
	if missing < rollbackBeats {
		return 0
	}
	return missing
}

// noteRollback logs and counts a rollback by that many heartbeats of each node.
// If missing is zero, it does nothing.
func (o *Member) noteRollback(missing int64) {
	if missing == 0 {
		return
	}
	o.rollbacks.Add(1)
	by := time.Duration(missing) * o.config.Heartbeat
	o.config.Logger.Error("the store has older data than before: newer tasks are lost, and newer changes and deliveries are undone",
		"by", by.Round(time.Second).String(), "identity", o.servers.Identity, "reason", "the Redis was restored from an older copy, or a replica that was behind took over")
}
