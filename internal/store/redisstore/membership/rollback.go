package membership

import "time"

// A Redis that was restored from an old copy bears the identity of the store, but its
// data is of another time: tasks that were accepted since are gone, and cancels and
// deliveries since are undone. The store counts the heartbeats of all nodes, and a count
// that is lower than before shows it, by no clock. A failover loses some, too: those
// that no replica had.

// rollbackBeats is by how many heartbeats of each node the count may fall in a failover
// before that is logged.
const rollbackBeats = 10

// rolledBack takes in how many heartbeats the store has counted, and returns how many
// of each node are missing; 0 if no more than a failover may lose. nodes is how many
// nodes have lived.
func (o *Member) rolledBack(beats int64, nodes int) int64 {
	missing := (o.beats - beats) / int64(max(nodes, 1))
	o.beats = beats
	if missing < rollbackBeats {
		return 0
	}
	return missing
}

// noteRollback logs and counts that the store went back by so many heartbeats of each
// node, if there are any.
func (o *Member) noteRollback(missing int64) {
	if missing == 0 {
		return
	}
	o.rollbacks.Add(1)
	by := time.Duration(missing) * o.config.Heartbeat
	o.config.Logger.Error("the store went back in time: tasks that were accepted since are lost, and changes and deliveries since are undone",
		"by", by.Round(time.Second).String(), "identity", o.servers.Identity, "reason", "the Redis was restored from an older copy, or a replica that was behind took over")
}
