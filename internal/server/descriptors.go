package server

import (
	"fmt"
	"log/slog"

	"github.com/foliot/foliot/internal/store/pebblestore"
)

// descriptors divides the file descriptors of the process. A store that gets
// none fails for good, whichever part took the last one, so its share is
// reserved, and clients and attempts divide the rest.
type descriptors struct {
	clients int // connections to the API; more close the idlest ones
	slots   int // attempts at once; while one dials, it may hold two descriptors (IPv4 and IPv6 are tried in parallel)
	idle    int // connections kept open between attempts
}

const (
	// reserved is the store's share. It includes room for its log, the files of
	// a compaction, the standard streams, and the sockets of the resolver and
	// the runtime.
	reserved = pebblestore.MaxOpenFiles + 128
	// manyDescriptors is the largest limit that makes a difference.
	manyDescriptors = 1 << 20
	maxIdleConns    = 4096
	// maxClients is the number of idle connections that fit into a gigabyte of
	// memory.
	maxClients = 1 << 16
	// leastDescriptors is enough for a server with one attempt at a time.
	leastDescriptors = reserved + 64
)

// shareDescriptors divides limit. A quarter of the unreserved descriptors is
// for clients, and the rest is divided into thirds: attempts, their second
// dials, and kept connections. It grants at most slots attempts, and gives the
// remainder to clients.
func shareDescriptors(limit uint64, slots int) (descriptors, error) {
	if limit < leastDescriptors {
		return descriptors{}, fmt.Errorf("the process may open %d files, but a server needs at least %d: raise the limit (ulimit -n)", limit, leastDescriptors)
	}
	free := int(min(limit, manyDescriptors)) - reserved
	rest := free - free/4
	slots = min(slots, rest/3)
	idle := min(rest-2*slots, maxIdleConns)
	return descriptors{clients: min(free-2*slots-idle, maxClients), slots: slots, idle: idle}, nil
}

// budget divides the descriptors of this process, and logs a warning if slots
// attempts do not fit.
func budget(slots int, log *slog.Logger) (descriptors, error) {
	limit := fileLimit()
	d, err := shareDescriptors(limit, slots)
	if err == nil && d.slots < slots {
		log.Warn("the server runs fewer attempts at the same time than --concurrency: the limit of open files is too low (ulimit -n)",
			"concurrency", d.slots, "asked", slots, "open_files", limit)
	}
	return d, err
}
