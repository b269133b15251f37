package wire

// Upcoming has the next tasks, and the next instants of schedules.
type Upcoming struct {
	Time  string          `json:"time" format:"date-time" doc:"The server's time."`
	Until string          `json:"until" format:"date-time" doc:"The list is complete until this time. Items that are due exactly then can be missing if more is true."`
	Items []UpcomingItem  `json:"items" nullable:"false" doc:"The earliest due time first. Overdue ones come first, if from includes them."`
	Hours []UpcomingCount `json:"hours,omitempty" doc:"With by=hour, in place of items: the earliest hour first, and the largest count first. An hour in which nothing is due is missing."`
	More  bool            `json:"more,omitempty" doc:"true: further items are due, or may be due, by the end that was requested."`
}

// UpcomingItem is a task that waits, or an instant of a schedule that will create
// one.
type UpcomingItem struct {
	Due       string `json:"due" format:"date-time" doc:"The start of the next attempt, or the instant. The jitter of a schedule can delay the task of an instant."`
	Namespace string `json:"namespace"`
	Queue     string `json:"queue"`
	Name      string `json:"name" doc:"The name of the task. The task of an instant does not exist yet."`
	URL       string `json:"url,omitempty"`
	Kind      string `json:"kind,omitempty" doc:"The kind of the task, in place of url."`
	Schedule  string `json:"schedule,omitempty" doc:"The name of the schedule that created the task, or will create it."`
	Instant   bool   `json:"instant,omitempty" doc:"true: an instant of a schedule, not a task."`
	Attempt   int    `json:"attempt,omitempty" doc:"The number of the next attempt, from 2 on."`
	Held      string `json:"held,omitempty" enum:"suspended,purge,pause" doc:"Why it will not start when it is due: its namespace is suspended, its queue is being purged, or its queue or its schedule is paused."`
}

// UpcomingCount is the number of tasks of a queue, or of instants of a schedule, that are
// due in an hour.
type UpcomingCount struct {
	Hour      string `json:"hour" format:"date-time" doc:"The beginning of the hour."`
	Namespace string `json:"namespace,omitempty" doc:"Absent: the others of the hour. A reply has at most 10,000 counts besides these."`
	Queue     string `json:"queue,omitempty"`
	Schedule  string `json:"schedule,omitempty" doc:"The schedule whose instants are counted. Absent: tasks that exist are counted."`
	Count     int64  `json:"count"`
	Held      string `json:"held,omitempty" enum:"suspended,purge,pause" doc:"Why they will not start when they are due."`
}
