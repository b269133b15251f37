package wire

// Due has the numbers of waiting tasks by the time at which they come due. A task
// that waits for a retry counts at its next attempt, and schedules do not count.
type Due struct {
	Time       string    `json:"time" format:"date-time" doc:"The time of the sample."`
	ExactUntil string    `json:"exact_until,omitempty" format:"date-time" doc:"The counts are exact until this time, and the slots after it are 0. If it is before time, overdue has only some of the overdue tasks. Absent: all counts are exact."`
	Scheduled  int64     `json:"scheduled" doc:"All tasks that wait."`
	Overdue    int64     `json:"overdue" doc:"Tasks that were due at time or before. They are in no slot."`
	Later      int64     `json:"later" doc:"Tasks that are due after the last slot, or after exact_until."`
	Timers     int       `json:"timers,omitempty" doc:"For an operator: the number of timers on the timing wheel of the server that replies. One timer serves all tasks of a lane that it has in memory. A queue or destination that waits has one too."`
	NearUntil  string    `json:"near_until,omitempty" format:"date-time" doc:"For an operator: the server that replies has the tasks until this time in memory, as far as there is room."`
	Rings      []DueRing `json:"rings" nullable:"false" doc:"The ring with the shortest slots first. Each ring counts all tasks in its slots."`
}

// DueRing is a row of slots of equal length, which begin at multiples of that
// length since the Unix epoch.
type DueRing struct {
	Slot   string     `json:"slot" example:"4.096s" doc:"The length of a slot."`
	From   string     `json:"from" format:"date-time" doc:"The beginning of the first slot, which contains time."`
	Counts []int64    `json:"counts" nullable:"false" doc:"The number of tasks in each slot."`
	Held   []int64    `json:"held,omitempty" doc:"How many of them are held now: by a pause or a purge of their queue, or because their namespace is suspended. Absent: none."`
	Queues []DueQueue `json:"queues,omitempty" doc:"With by=queue: the counts of the 20 queues with the most tasks in this ring, the largest first."`
}

// DueQueue has the numbers of tasks of one queue in the slots of a ring.
type DueQueue struct {
	Namespace string  `json:"namespace"`
	Queue     string  `json:"queue"`
	Counts    []int64 `json:"counts" nullable:"false"`
}
