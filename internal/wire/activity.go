package wire

// History has the figures of a server for each step of the last hour; a
// namespace's own token sees its own attempts.
type History struct {
	Node         string        `json:"node,omitempty" doc:"The server that replies, if others share its store. They have histories of their own."`
	Step         string        `json:"step" example:"10s"`
	Since        string        `json:"since" format:"date-time" doc:"The figures are complete from this time on: the server started, or an hour has passed."`
	LateBoundsMS []int64       `json:"late_bounds_ms" nullable:"false" doc:"The upper bounds of the buckets of late and waited. The last bucket has no bound."`
	Steps        []HistoryStep `json:"steps" nullable:"false" doc:"The earliest first. A step without attempts and overdue tasks is missing."`
}

// HistoryStep has the figures of one step.
type HistoryStep struct {
	At          string   `json:"at" format:"date-time" doc:"The beginning of the step."`
	Late        []uint32 `json:"late" nullable:"false" doc:"The number of attempts by lateness: see late of GET /v1/live."`
	Waited      []uint32 `json:"waited" nullable:"false" doc:"The number of attempts by the time for which receivers, limits, pauses and suspensions delayed them."`
	Delivered   uint32   `json:"delivered,omitempty"`
	Failed      uint32   `json:"failed,omitempty"`
	Snoozed     uint32   `json:"snoozed,omitempty" doc:"The receiver asked for a later attempt."`
	Refused     uint32   `json:"refused,omitempty" doc:"410, Foliot-No-Retry, or denied by the egress policy."`
	Interrupted uint32   `json:"interrupted,omitempty" doc:"Ended because the server stopped."`
	LostLeases  uint32   `json:"lost_leases,omitempty" doc:"The server lost the task during the attempt, so the task is sent again."`
	Dead        uint32   `json:"dead,omitempty" doc:"Tasks that died."`
	Overdue     uint32   `json:"overdue,omitempty" doc:"The largest number of due tasks that waited."`
}

// AttemptList has recent attempts of a server, the latest first.
type AttemptList struct {
	Node     string         `json:"node,omitempty" doc:"The server that replies, if others share its store. They have attempts of their own."`
	Attempts []EndedAttempt `json:"attempts" nullable:"false"`
	Since    string         `json:"since,omitempty" format:"date-time" doc:"The server has all attempts that ended after this time. It keeps the last 1,000 that delivered a task, and the last 1,000 of the others: at most 100 of a namespace in a second. Each namespace has its share."`
}

type EndedAttempt struct {
	At          string  `json:"at" format:"date-time" doc:"The end of the attempt."`
	Namespace   string  `json:"namespace"`
	Queue       string  `json:"queue"`
	Task        string  `json:"task" doc:"The name of the task."`
	Number      int     `json:"number"`
	Destination string  `json:"destination" doc:"host:port, or kind/ and the name of a kind"`
	Outcome     string  `json:"outcome" enum:"delivered,failed,snoozed,refused,interrupted,lost_lease" doc:"lost_lease: the server lost the task during the attempt, so the task is sent again."`
	Status      int     `json:"status" doc:"The status of the reply; 0: no reply."`
	Error       string  `json:"error,omitempty"`
	LateMS      float64 `json:"late_ms"`
	WaitedMS    float64 `json:"waited_ms"`
	LatencyMS   float64 `json:"latency_ms"`
	Dead        bool    `json:"dead,omitempty" doc:"true: the task died."`
	Reason      string  `json:"reason,omitempty" doc:"The reason of its death: a stable code."`
}
