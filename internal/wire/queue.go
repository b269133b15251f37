package wire

// NamespaceHeader names the namespace of a request with an operator's token, or
// without a token on a server without tokens. Absent: "default".
const NamespaceHeader = "Foliot-Namespace"

// ClientHeader is "page" if a person uses the page of the server, because the audit
// log records changes of tasks only by people. The header grants nothing.
const ClientHeader = "Foliot-Client"

// AllNamespaces is the namespace of an operator's token.
const AllNamespaces = "*"

// QueueInput is the settings of a queue: the body of a PUT, which replaces all
// of them; absent fields set nothing.
type QueueInput struct {
	Rate           float64 `json:"rate,omitempty" minimum:"0.0000116" maximum:"1000000" example:"50" doc:"The maximum number of attempts that start per second; 0.1 means one in ten seconds. A waiting task spends no attempt. Absent: no limit. To stop a queue, pause it."`
	Burst          int     `json:"burst,omitempty" minimum:"0" maximum:"1000000" doc:"The maximum number of attempts that start at once after a pause; requires a rate. 0 or absent: those of one second, at least one."`
	Concurrency    int     `json:"concurrency,omitempty" minimum:"1" maximum:"1000000" doc:"The maximum number of attempts under way. Absent: no limit. To stop a queue, pause it."`
	PerDestination int     `json:"per_destination,omitempty" minimum:"1" maximum:"1000000" doc:"The maximum number of attempts under way to one host and port. Absent: no limit. To stop a queue, pause it."`

	Retry       *Retry `json:"retry,omitempty" doc:"The default for tasks that do not set it."`
	Timeout     string `json:"timeout,omitempty" pattern:"duration" example:"15s" doc:"The default for tasks that do not set it."`
	ExpireAfter string `json:"expire_after,omitempty" pattern:"duration" example:"1h" doc:"The default for tasks that do not set it."`
	OnDead      string `json:"on_dead,omitempty" format:"uri" maxLength:"8192" doc:"The default for tasks that do not set it."`

	KeepFinished string `json:"keep_finished,omitempty" pattern:"duration" example:"24h" doc:"How long finished tasks are kept. Absent: the server's default."`
	KeepDead     string `json:"keep_dead,omitempty" pattern:"duration" example:"720h" doc:"How long dead tasks are kept. Absent: the server's default."`
	KeepBodies   bool   `json:"keep_bodies,omitempty" doc:"true: tasks that finish from now on keep their bodies until their retention ends. A retry can then send them again with the same id."`

	ManagedBy string `json:"managed_by,omitempty" maxLength:"256" pattern:"^([0-9A-Za-z][0-9A-Za-z._:-]*)?$" example:"apply" doc:"The owner that foliot apply --prune compares with its --owner. Absent: unchanged. Empty: none."`
}

// Queue is a queue as the API shows it. A queue without settings has version 0
// and no created_at.
type Queue struct {
	QueueInput

	Name        string `json:"name"`
	Paused      bool   `json:"paused" doc:"No attempt starts, except of tasks that are run by hand."`
	PausedUntil string `json:"paused_until,omitempty" format:"date-time" doc:"The time when it resumes by itself. Absent: only a resume ends the pause."`
	Purging     bool   `json:"purging" doc:"A purge is under way: it cancels earlier tasks, and no attempt starts until it is done."`
	Version     uint64 `json:"version" doc:"Counts changes of its settings; 0: it has none."`
	CreatedAt   string `json:"created_at,omitempty" format:"date-time"`
	Counts      Counts `json:"counts"`

	Unconfirmed []string `json:"unconfirmed,omitempty" doc:"Only with status 202: the nodes that have not applied the change yet."`
}

// Counts is the number of tasks by state, and their size in bytes.
type Counts struct {
	Scheduled int64 `json:"scheduled" doc:"Includes held tasks."`
	Running   int64 `json:"running"`
	Delivered int64 `json:"delivered"`
	Cancelled int64 `json:"cancelled"`
	Expired   int64 `json:"expired"`
	Dead      int64 `json:"dead"`
	Bytes     int64 `json:"bytes" doc:"The approximate size of the stored records with their bodies, in bytes."`
}

// PauseInput is the optional body of a pause, which has at most one field.
type PauseInput struct {
	For   string `json:"for,omitempty" pattern:"duration" example:"10m" doc:"The queue resumes by itself after this time."`
	Until string `json:"until,omitempty" format:"date-time" doc:"The queue resumes by itself at this time."`
}
