package redisstore

import (
	"sync"

	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/task"
)

// claimedRecords keeps the records of tasks as this node's claims left them, so
// the settlements that follow need not read them. An outdated record does no
// harm, because put compares.
type claimedRecords struct {
	mu sync.Mutex
	m  map[task.Key]records.Record
}

func (h *claimedRecords) get(k task.Key) (records.Record, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.m[k]
	return r, ok
}

func (h *claimedRecords) set(k task.Key, r records.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.m[k] = r
}

func (h *claimedRecords) drop(k task.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.m, k)
}
