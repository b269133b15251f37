package wire

// ScheduleInput is a schedule as a client asks for it: the body of a PUT, which
// replaces all of it. Absent fields have defaults.
type ScheduleInput struct {
	Cron       string `json:"cron,omitempty" maxLength:"256" example:"0 21 * * MON-FRI" doc:"When it fires, by what the clocks of timezone show: minute, hour, day of month, month, day of week; six fields begin with the second. Or @yearly, @monthly, @weekly, @daily, @hourly, or @every with a duration, which is every. Exactly one of cron and every is given."`
	Timezone   string `json:"timezone,omitempty" maxLength:"64" example:"Europe/Berlin" doc:"Of cron: a name of the IANA database. Absent: UTC."`
	DSTGap     string `json:"dst_gap,omitempty" enum:"next,skip" doc:"Of cron with a fixed minute and hour: what becomes of a time that a day does not have, as clocks were put forward over it. next: it comes when the gap ends. Absent: next."`
	DSTOverlap string `json:"dst_overlap,omitempty" enum:"first,both" doc:"Of the same: what becomes of a time that a day has twice, as clocks were put back over it. Absent: first."`
	Every      string `json:"every,omitempty" pattern:"duration" example:"5m" doc:"It fires each time this long has passed, counted from start, or from when the schedule was made: 1s to 100 years, in whole milliseconds."`

	Start   string `json:"start,omitempty" format:"date-time" doc:"No instant lies before; of every, it is the first one."`
	Anchor  string `json:"anchor,omitempty" format:"date-time" doc:"Of every without start: the time that it counts from. A PUT takes it only if it makes the schedule; absent: that moment. A schedule that exists keeps its own, or counts from the PUT that changes every."`
	End     string `json:"end,omitempty" format:"date-time" doc:"No instant lies after."`
	MaxRuns int64  `json:"max_runs,omitempty" minimum:"0" doc:"It ends when so many instants have made a task. 0 or absent: no limit."`
	Jitter  string `json:"jitter,omitempty" pattern:"duration" example:"30s" doc:"Each task is due up to that much later than its instant, always the same for one instant; at most 24h. Absent: none."`

	Misfire       string `json:"misfire,omitempty" enum:"fire_once,skip,fire_all" doc:"What becomes of instants that passed while nobody could fire them. fire_once: the latest of them makes a task; skip: none does; fire_all: each does, up to catchup_limit of the latest. Absent: fire_once."`
	CatchupWindow string `json:"catchup_window,omitempty" pattern:"duration" example:"24h" doc:"What was missed longer ago makes no task, whatever misfire says. Absent: 24h."`
	CatchupLimit  int    `json:"catchup_limit,omitempty" minimum:"1" maximum:"10000" doc:"Absent: 100."`
	Overlap       string `json:"overlap,omitempty" enum:"allow,skip,buffer_one" doc:"What happens at an instant while a task of the schedule is unfinished, be it that it waits for a retry. skip: the instant makes none; buffer_one: it waits for their end, one at most. Absent: allow."`

	Paused *bool         `json:"paused,omitempty" doc:"true: it makes no task until it is resumed. Absent: as it is; a new one is not paused."`
	Task   ScheduledTask `json:"task" doc:"What its tasks are."`
	Runs   *int64        `json:"runs,omitempty" minimum:"0" doc:"How many instants have made a task, with the one that waits. Triggers and backfills do not count. A PUT takes it, as export writes it, only if it makes the schedule; absent: 0. A schedule that exists keeps its own count."`
}

// ScheduledTask is what the tasks of a schedule are made of. What is left open is
// filled in from the queue when the schedule is put.
type ScheduledTask struct {
	Queue       string            `json:"queue,omitempty" maxLength:"256" pattern:"^[0-9A-Za-z][0-9A-Za-z._:-]*$" default:"default" doc:"The set of tasks they share limits with."`
	HTTP        HTTPInput         `json:"http" doc:"The request to send."`
	Timeout     string            `json:"timeout,omitempty" pattern:"duration" example:"15s" doc:"Of one attempt, 1ms to 1h. Absent: the queue's, or 15s."`
	ExpireAfter string            `json:"expire_after,omitempty" pattern:"duration" example:"1h" doc:"Counts from the due time: if no attempt could start by then, none will. Absent: the queue's, or never; 0s: never."`
	Priority    string            `json:"priority,omitempty" enum:"high,normal,low" default:"normal"`
	Labels      map[string]string `json:"labels,omitempty" maxProperties:"64" doc:"Of the tasks, and to find the schedule by; keys to 128 bytes, values to 256."`
	Retry       *Retry            `json:"retry,omitempty" doc:"When one is tried again."`
	OnDead      *string           `json:"on_dead,omitempty" format:"uri" maxLength:"8192" example:"https://shop.internal/dead" doc:"A URL that is told when one dies. Absent: the queue's; an empty string: none."`
}

// Schedule is a schedule as the API shows it. The body of its task's request is shown by a
// get, and by a list that includes bodies; everywhere else BodySize alone tells of it.
type Schedule struct {
	ScheduleInput

	Name        string           `json:"name"`
	ID          string           `json:"id" doc:"New when the schedule is made; a change keeps it."`
	State       string           `json:"state" enum:"active,paused,ended" doc:"ended: no instant is left."`
	Words       string           `json:"words" doc:"When it fires, as a sentence in English."`
	NextAt      string           `json:"next_at,omitempty" format:"date-time" doc:"The next instant. Absent: it is paused, or has ended."`
	LastAt      string           `json:"last_at,omitempty" format:"date-time" doc:"The last instant that made a task, or let one wait, by the rule that it has now."`
	PausedAt    string           `json:"paused_at,omitempty" format:"date-time"`
	WaitingAt   string           `json:"waiting_at,omitempty" format:"date-time" doc:"The instant whose task waits for the end of those before it (buffer_one)."`
	LastSkipped *SkippedInstants `json:"last_skipped,omitempty" doc:"The last instants that made no task. Absent: there were none."`
	Problem     string           `json:"problem,omitempty" doc:"Why it cannot be followed now: its time zone is not known to the server any more. It is tried again each minute."`
	BodySize    int              `json:"body_size,omitempty" doc:"Bytes of the body of its tasks."`
	Version     uint64           `json:"version" doc:"Counts what clients changed; what it does by itself does not change it."`
	CreatedAt   string           `json:"created_at" format:"date-time"`
	Durability  string           `json:"durability,omitempty" doc:"In the reply to a mutation: the loss that it survives. synced: a power loss. async, default, strict: the level of a shared store that the change reached."`
}

// SkippedInstants are instants that follow each other, both ends included, and made no task.
type SkippedInstants struct {
	From  string `json:"from" format:"date-time"`
	Until string `json:"until" format:"date-time"`
	Why   string `json:"why" enum:"misfire,catchup_window,catchup_limit,quota,overlap" doc:"quota: the namespace had as many pending tasks or bytes as it may. overlap: a task of the schedule was unfinished. The others: they were missed, and that field says so."`
}

// ScheduleList is one page of schedules, in the order of their names.
type ScheduleList struct {
	Schedules  []Schedule `json:"schedules" nullable:"false"`
	NextCursor string     `json:"next_cursor,omitempty" doc:"Absent on the last page. A page may be short, or empty, and still have one."`
}

// BackfillInput is the body of a backfill.
type BackfillInput struct {
	From  string `json:"from" format:"date-time" doc:"The first instant that makes a task is this, or the one after."`
	Until string `json:"until" format:"date-time" doc:"The last one is this, or the one before. Not in the future."`
}

// BackfillReply says what a backfill did.
type BackfillReply struct {
	Created    int    `json:"created" doc:"Tasks that were made, all of them due now."`
	Existing   int    `json:"existing" doc:"Tasks that the same backfill had made before."`
	Instants   int    `json:"instants" doc:"Of the schedule's rule, between the two ends: the sum of both."`
	Durability string `json:"durability,omitempty"`
}

// Preview is what the rule of a schedule says.
type Preview struct {
	Instants []Instant `json:"instants" nullable:"false"`
}

// Instant is when a schedule fires.
type Instant struct {
	At    string `json:"at" format:"date-time"`
	Local string `json:"local" format:"date-time" example:"2026-11-22T21:00:00+01:00" doc:"The same, in the schedule's time zone."`
}
