package doctor

import "fmt"

// Load is the work of servers that share a store.
type Load struct {
	Day     float64 // tasks
	Waiting float64 // tasks
	Body    float64 // bytes
}

// Capacity is the need of a load in one store.
type Capacity struct {
	Store      string  `json:"store"`
	Processors float64 `json:"processors"`  // busy on average: those of the servers and of the store
	Kept       float64 `json:"kept_bytes"`  // on the disk, or in the memory of a Redis, if ended tasks are kept for a day
	Peak       float64 `json:"peak_second"` // tasks that come due in one second, with two processors
}

// cost is the need of one task.
type cost struct {
	store          string
	processor      float64 // seconds to create, deliver and remove it, at a low rate
	waiting, ended float64 // bytes, without the body
	room           float64 // the share of more bytes that rewrites and dead rows need
	peak           float64 // deliveries a second of two processors
}

// costs were measured: see docs/performance.md and, for PostgreSQL and the peaks,
// docs/embed-benchmarks.md. The bytes of ended tasks are those after 40,000 deliveries.
var costs = []cost{
	{"directory", 650e-6, 104, 63, 0.5, 37_000},
	{"Redis", 955e-6, 500, 640, 0.5, 8700},
	{"PostgreSQL", 3120e-6, 600, 1000, 0, 5600},
}

// Capacities returns the need of a load in each store.
func Capacities(l Load) (all []Capacity) {
	for _, c := range costs {
		kept := (1 + c.room) * (l.Waiting*(c.waiting+l.Body) + l.Day*c.ended)
		all = append(all, Capacity{c.store, l.Day * c.processor / 86_400, kept, c.peak})
	}
	return all
}

// Texts returns c as the cells of a table.
func (c *Capacity) Texts() []string {
	kept, unit := c.Kept/1e6, "MB"
	if kept >= 1000 {
		kept, unit = kept/1000, "GB"
	}
	return []string{c.Store, fmt.Sprintf("%.2g", c.Processors), fmt.Sprintf("%.3g %s", kept, unit), fmt.Sprintf("%.0f", c.Peak)}
}
