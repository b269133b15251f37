package wire

// NamespaceHeader names the namespace that a request is about, where its token
// leaves that open: an operator's token, or none on a server without tokens.
// Absent: "default".
const NamespaceHeader = "Foliot-Namespace"

// AllNamespaces is the namespace of an operator's token.
const AllNamespaces = "*"

// QueueInput is what is decided of a queue: the body of a PUT, which replaces
// all of it. Absent fields decide nothing.
type QueueInput struct {
	Rate           float64 `json:"rate,omitempty" minimum:"0.0000116" maximum:"1000000" example:"50" doc:"How many attempts may start in a second, 0.1 for one in ten seconds. A task that waits for its turn spends no attempt. Absent: no limit. To stop a queue, pause it."`
	Burst          int     `json:"burst,omitempty" minimum:"0" maximum:"1000000" doc:"How many may start at once after a silence; needs a rate. 0 or absent: as many as a second brings, at least one."`
	Concurrency    int     `json:"concurrency,omitempty" minimum:"1" maximum:"1000000" doc:"How many attempts may be under way at once. Absent: no limit. To stop a queue, pause it."`
	PerDestination int     `json:"per_destination,omitempty" minimum:"1" maximum:"1000000" doc:"How many of them to one host and port. Absent: no limit. To stop a queue, pause it."`

	Retry       *Retry `json:"retry,omitempty" doc:"For tasks whose creator does not say."`
	Timeout     string `json:"timeout,omitempty" pattern:"duration" example:"15s" doc:"For tasks whose creator does not say."`
	ExpireAfter string `json:"expire_after,omitempty" pattern:"duration" example:"1h" doc:"For tasks whose creator does not say."`
	OnDead      string `json:"on_dead,omitempty" format:"uri" maxLength:"8192" doc:"For tasks whose creator does not say."`

	KeepFinished string `json:"keep_finished,omitempty" pattern:"duration" example:"24h" doc:"How long finished tasks are kept for reading. Absent: the server's default."`
	KeepDead     string `json:"keep_dead,omitempty" pattern:"duration" example:"720h" doc:"How long dead tasks are kept. Absent: the server's default."`
	KeepBodies   bool   `json:"keep_bodies,omitempty" doc:"true: tasks that are delivered, cancelled or expired from now on keep their bodies until their retention ends, so that they can be retried, which sends them again under the same id."`
}

// Queue is a queue as the API shows it. One of which nothing was decided has
// version 0 and no created_at.
type Queue struct {
	QueueInput

	Name        string `json:"name"`
	Paused      bool   `json:"paused" doc:"Nothing of it starts, but what is run by hand."`
	PausedUntil string `json:"paused_until,omitempty" format:"date-time" doc:"When it resumes by itself. Absent: when it is told to."`
	Purging     bool   `json:"purging" doc:"A purge is under way: what was created before it is being cancelled, and nothing starts until that is done."`
	Version     uint64 `json:"version" doc:"Counts what was decided of it; 0: nothing yet."`
	CreatedAt   string `json:"created_at,omitempty" format:"date-time"`
	Counts      Counts `json:"counts"`
}

// Counts is how many tasks there are, by state, and how many bytes they take.
type Counts struct {
	Scheduled int64 `json:"scheduled" doc:"The held ones among them."`
	Running   int64 `json:"running"`
	Delivered int64 `json:"delivered"`
	Cancelled int64 `json:"cancelled"`
	Expired   int64 `json:"expired"`
	Dead      int64 `json:"dead"`
	Bytes     int64 `json:"bytes" doc:"About how many bytes the records take that are kept, with their bodies."`
}

// QueueList is one page of queues, in the order of their names.
type QueueList struct {
	Queues     []Queue `json:"queues" nullable:"false"`
	NextCursor string  `json:"next_cursor,omitempty" doc:"Absent on the last page."`
}

// PauseInput is the body of a pause, which may be left out. At most one of its fields is given.
type PauseInput struct {
	For   string `json:"for,omitempty" pattern:"duration" example:"10m" doc:"It resumes by itself after that long."`
	Until string `json:"until,omitempty" format:"date-time" doc:"It resumes by itself then."`
}
