package redisstore

import (
	"sync"

	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/task"
)

// claimedRecords keeps the records of the tasks that this node has claimed, as it left
// them: the settlement that follows need not read them. A wrong one does no
// harm, since put compares.
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
