package wire

// ScheduleRule has the fields of a schedule that select its instants; absent
// fields have defaults.
type ScheduleRule struct {
	Cron       string `json:"cron,omitempty" maxLength:"256" example:"0 21 * * MON-FRI" doc:"The instants, in local time of timezone: minute, hour, day of month, month, day of week. Six fields begin with the second. Or @yearly, @monthly, @weekly, @daily, @hourly, or @every and a duration, which sets every. A schedule has exactly one of cron and every."`
	TimeZone   string `json:"timezone,omitempty" maxLength:"64" example:"Europe/Berlin" doc:"For cron: a name of the IANA database. Absent: UTC."`
	DSTGap     string `json:"dst_gap,omitempty" enum:"next,skip" doc:"For cron with a fixed minute and hour: a time that clocks skip when they are put forward. next: the schedule fires at the end of the gap. skip: it does not fire. Absent: next."`
	DSTOverlap string `json:"dst_overlap,omitempty" enum:"first,both" doc:"For the same expressions: a time that occurs twice when clocks are put back. first: the schedule fires once. both: it fires twice. Absent: first."`
	Every      string `json:"every,omitempty" pattern:"duration" example:"5m" doc:"The time between two instants, from 1s to 100 years in whole milliseconds. It counts from start, or from the creation of the schedule."`

	Start   string `json:"start,omitempty" format:"date-time" doc:"No instant is earlier. With every, this is the first instant."`
	Anchor  string `json:"anchor,omitempty" format:"date-time" doc:"For every without start: the time from which it counts. Only a PUT that creates the schedule sets it; absent: the time of that PUT. An existing schedule keeps its anchor, or counts from the PUT that changes every."`
	End     string `json:"end,omitempty" format:"date-time" doc:"No instant is later."`
	MaxRuns int64  `json:"max_runs,omitempty" minimum:"0" doc:"The schedule ends when this number of instants has created a task. 0 or absent: no limit."`
	Jitter  string `json:"jitter,omitempty" pattern:"duration" example:"30s" doc:"Each task is due up to this much later than its instant, at most 24h. The delay of an instant never changes. Absent: none."`

	Missed        string `json:"missed,omitempty" enum:"fire_once,skip,fire_all" doc:"The treatment of instants that were missed while no server could fire them. fire_once: the latest creates a task. skip: none does. fire_all: each does, up to catchup_limit of the latest. Absent: fire_once."`
	CatchupWindow string `json:"catchup_window,omitempty" pattern:"duration" example:"24h" doc:"Instants that were missed longer ago create no task, for every value of missed. Absent: 24h."`
	CatchupLimit  int    `json:"catchup_limit,omitempty" minimum:"1" maximum:"10000" doc:"The maximum number of missed instants that fire_all fires. Absent: 100."`
	Overlap       string `json:"overlap,omitempty" enum:"allow,skip,buffer_one" doc:"The treatment of an instant while a task of the schedule is unfinished, for example because it waits for a retry. allow: the instant creates a task. skip: it creates none. buffer_one: one instant waits for the end. Absent: allow."`
}

// ScheduleInput is the schedule in a request: the body of a PUT, which replaces
// all of it; absent fields have defaults.
type ScheduleInput struct {
	ScheduleRule

	Paused *bool         `json:"paused,omitempty" doc:"true: the schedule creates no task until it is resumed. Absent: unchanged; a new schedule is not paused."`
	Task   ScheduledTask `json:"task" doc:"The template of its tasks."`
	Runs   *int64        `json:"runs,omitempty" minimum:"0" doc:"The number of instants that created a task, including one that waits. Triggers and backfills do not count. Only a PUT that creates the schedule sets it, as export writes it; absent: 0. An existing schedule keeps its count."`

	ManagedBy string `json:"managed_by,omitempty" maxLength:"256" pattern:"^([0-9A-Za-z][0-9A-Za-z._:-]*)?$" example:"apply" doc:"The owner that foliot apply --prune compares with its --owner. Absent: unchanged. Empty: none."`
}

// ScheduledTask is the template of the tasks of a schedule; the PUT fills
// absent fields from the queue.
type ScheduledTask struct {
	Queue       string            `json:"queue,omitempty" maxLength:"256" pattern:"^[0-9A-Za-z][0-9A-Za-z._:-]*$" doc:"The queue of the tasks. Tasks of a queue share its limits. Absent: default."`
	HTTP        HTTPInput         `json:"http,omitzero" doc:"The request to send. A task has exactly one of http and work."`
	Work        WorkInput         `json:"work,omitzero" doc:"The call of a handler, in place of http."`
	Timeout     string            `json:"timeout,omitempty" pattern:"duration" example:"15s" doc:"The time limit of one attempt, 1ms to 1h. Absent: the queue's, or 15s."`
	ExpireAfter string            `json:"expire_after,omitempty" pattern:"duration" example:"1h" doc:"Counts from the due time. If no attempt could start by then, the task expires. Absent: the queue's, or never. 0s: never."`
	Priority    string            `json:"priority,omitempty" enum:"high,normal,low" doc:"Absent: normal."`
	Labels      map[string]string `json:"labels,omitempty" maxProperties:"64" doc:"Labels of the tasks and of the schedule, for filters. A key has at most 128 bytes, a value 256."`
	Retry       *Retry            `json:"retry,omitempty" doc:"The retry policy of the tasks."`
	OnDead      *string           `json:"on_dead,omitempty" format:"uri" maxLength:"8192" example:"https://shop.internal/dead" doc:"A URL to notify when a task dies. Absent: the queue's. Empty: none."`
}

// Schedule is a schedule as the API shows it. A get, and a list with bodies,
// show the body of its tasks; other replies show only BodySize.
type Schedule struct {
	ScheduleInput

	Name        string           `json:"name"`
	ID          string           `json:"id" doc:"New when the schedule is created; changes keep it."`
	State       string           `json:"state" enum:"active,paused,ended" doc:"ended: the rule has no further instant."`
	Words       string           `json:"words" doc:"The rule as an English sentence."`
	NextAt      string           `json:"next_at,omitempty" format:"date-time" doc:"The next instant. Absent if the schedule is paused or has ended."`
	Held        string           `json:"held,omitempty" enum:"suspended,purge,pause" doc:"Why an active schedule sends no request at next_at: its namespace is suspended, or its queue is being purged or is paused."`
	LastAt      string           `json:"last_at,omitempty" format:"date-time" doc:"The last instant of the present rule that created a task, or waits."`
	PausedAt    string           `json:"paused_at,omitempty" format:"date-time"`
	WaitingAt   string           `json:"waiting_at,omitempty" format:"date-time" doc:"The instant that waits for the end of earlier tasks (buffer_one)."`
	LastSkipped *SkippedInstants `json:"last_skipped,omitempty" doc:"The last instants that created no task. Absent: none."`
	Problem     string           `json:"problem,omitempty" doc:"The reason that the server cannot follow the rule now: it no longer knows the time zone. It tries again each minute."`
	BodySize    int              `json:"body_size,omitempty" doc:"The size of the body of its tasks, in bytes."`
	Hidden      bool             `json:"hidden,omitempty" doc:"true: the namespace hides the body and the headers from this token."`
	Version     uint64           `json:"version" doc:"Counts changes by clients, not the steps of the schedule."`
	CreatedAt   string           `json:"created_at" format:"date-time"`
	Authors
	Durability string `json:"durability,omitempty" doc:"In the reply to a change: the loss that it survives. synced: a power loss. async, default, strict: the level of a shared store that the change reached."`
}

// SkippedInstants is a range of consecutive instants, including both ends, that
// created no task.
type SkippedInstants struct {
	From  string `json:"from" format:"date-time"`
	Until string `json:"until" format:"date-time"`
	Why   string `json:"why" enum:"missed,catchup_window,catchup_limit,quota,overlap" doc:"quota: the namespace had reached a quota. overlap: a task of the schedule was unfinished. Others: the instants were missed, and the field with this name excludes them."`
}

type BackfillInput struct {
	From  string `json:"from" format:"date-time" doc:"The first instant is at this time or later."`
	Until string `json:"until" format:"date-time" doc:"The last instant is at this time or earlier. Not in the future."`
}

type BackfillReply struct {
	Created    int    `json:"created" doc:"The number of created tasks. All are due now."`
	Existing   int    `json:"existing" doc:"The number of tasks that the same backfill had created before."`
	Instants   int    `json:"instants" doc:"The number of instants between the two ends: the sum of created and existing."`
	Durability string `json:"durability,omitempty"`
}

// Preview has the instants of a schedule's rule.
type Preview struct {
	Instants []Instant `json:"instants" nullable:"false"`
}

// RulePreview has the instants of a rule that is not stored.
type RulePreview struct {
	Words        string        `json:"words" doc:"The rule as an English sentence."`
	Instants     []Instant     `json:"instants" nullable:"false"`
	ClockChanges []ClockChange `json:"clock_changes" nullable:"false" doc:"The days on which clocks skip or repeat times of the rule, as far as instants or days reach."`
	Days         []int         `json:"days,omitempty" nullable:"false" doc:"The number of instants on each local day, at most 100, beginning with the day of from."`
	Absence      *Absence      `json:"absence,omitempty"`
}

// ClockChange is a change of a zone's clocks that skips or repeats times of a
// rule.
type ClockChange struct {
	At      string `json:"at" format:"date-time" doc:"The first instant with the new clocks."`
	Local   string `json:"local" format:"date-time" doc:"The same time in the time zone of the rule."`
	Repeats bool   `json:"repeats" doc:"true: the times occur twice. false: they do not exist."`
	Words   string `json:"words" example:"28 March 2027: 02:30 does not exist; it runs at 03:00"`
}

// Absence is the effect of a time during which no server fires the schedule.
type Absence struct {
	Fired   int               `json:"fired" doc:"The number of missed instants that create a task at the end of the absence."`
	Latest  []Instant         `json:"latest" nullable:"false" doc:"The last 20 of them, the earliest first."`
	Skipped []SkippedInstants `json:"skipped" nullable:"false" doc:"The missed instants that create no task."`
}

type Instant struct {
	At    string `json:"at" format:"date-time"`
	Local string `json:"local" format:"date-time" example:"2026-11-22T21:00:00+01:00" doc:"The same time in the schedule's time zone."`
}
