package server

import (
	"fmt"
	"log/slog"

	"github.com/foliot/foliot/internal/store/pebblestore"
)

// descriptors is how a process's file descriptors are shared. A store that
// finds none left has failed for good, whoever took them: so clients and
// attempts get what remains beside it, and no more.
type descriptors struct {
	clients int // connections to the API; for further ones the idlest go
	slots   int // attempts under way; while it dials, one may hold two (IPv4 and IPv6 are tried side by side)
	idle    int // connections kept open between attempts
}

const (
	// reserved is the store's part, with room for its log, a compaction's
	// files, standard streams, the resolver's sockets and the runtime's own.
	reserved = pebblestore.MaxOpenFiles + 128
	// manyDescriptors is as many as are ever used: more change nothing.
	manyDescriptors = 1 << 20
	maxIdleConns    = 4096
	// maxClients is as many connections as a gigabyte of memory holds while they
	// are idle.
	maxClients = 1 << 16
	// leastDescriptors is what a server with one attempt at a time needs.
	leastDescriptors = reserved + 64
)

// shareDescriptors divides limit: a quarter of what is not reserved is for
// clients, and of the rest a third each for attempts, their second dials, and
// connections that are kept. No more slots are given than were asked for, and
// what that leaves is for clients too.
func shareDescriptors(limit uint64, slots int) (descriptors, error) {
	if limit < leastDescriptors {
		return descriptors{}, fmt.Errorf("the process may open %d files, a server needs %d at least: raise the limit (ulimit -n)", limit, leastDescriptors)
	}
	free := int(min(limit, manyDescriptors)) - reserved
	rest := free - free/4
	slots = min(slots, rest/3)
	idle := min(rest-2*slots, maxIdleConns)
	return descriptors{clients: min(free-2*slots-idle, maxClients), slots: slots, idle: idle}, nil
}

// budget shares out this process's descriptors, and says so where that leaves
// less than was asked for.
func budget(slots int, log *slog.Logger) (descriptors, error) {
	limit := fileLimit()
	d, err := shareDescriptors(limit, slots)
	if err == nil && d.slots < slots {
		log.Warn("fewer attempts at once than --concurrency says: the limit of open files is low (ulimit -n)",
			"concurrency", d.slots, "asked", slots, "open_files", limit)
	}
	return d, err
}
