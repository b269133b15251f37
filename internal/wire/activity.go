package wire

// History has the figures of all servers that share the store. A namespace's own token
// sees those of its namespace.
type History struct {
	Step         string    `json:"step" example:"1m"`
	From         string    `json:"from" format:"date-time"`
	Until        string    `json:"until" format:"date-time" doc:"The figures of the last ten seconds may be missing. A server that was killed or lost its store has lost what it counted since its last write, ten seconds at most."`
	LateBoundsMS []int64   `json:"late_bounds_ms" nullable:"false" doc:"The upper bounds of the buckets of late. The last bucket has no bound."`
	Steps        []Figures `json:"steps" nullable:"false" doc:"The earliest first. A step in which nothing happened is missing."`
	Queues       []Figures `json:"queues" nullable:"false" doc:"The figures of the whole time by queue, the one with the most attempts first. Each server has those of its 64 busiest queues by themselves."`
}

// Figures are what happened in some time.
type Figures struct {
	At          string   `json:"at,omitempty" format:"date-time" doc:"The beginning of the step."`
	Namespace   string   `json:"namespace,omitempty"`
	Queue       string   `json:"queue,omitempty" doc:"Absent: the other queues of the namespace."`
	Attempts    uint64   `json:"attempts"`
	Delivered   uint64   `json:"delivered,omitempty"`
	Failed      uint64   `json:"failed,omitempty"`
	Snoozed     uint64   `json:"snoozed,omitempty" doc:"The receiver asked for a later attempt."`
	Refused     uint64   `json:"refused,omitempty" doc:"410, Foliot-No-Retry, or denied by the egress policy."`
	Interrupted uint64   `json:"interrupted,omitempty" doc:"Ended because the server stopped."`
	LostLeases  uint64   `json:"lost_leases,omitempty" doc:"The server lost the task during the attempt, so the task is sent again."`
	Dead        uint64   `json:"dead,omitempty" doc:"Tasks that died."`
	Created     uint64   `json:"created,omitempty" doc:"Tasks that were created, also by schedules. Those of a transaction of a client that was rolled back count too."`
	Cancelled   uint64   `json:"cancelled,omitempty" doc:"Tasks that were cancelled."`
	Late        []uint64 `json:"late" nullable:"false" doc:"The number of attempts by lateness: see late of GET /v1/live."`
	Over10      uint64   `json:"over_10ms,omitempty" doc:"Attempts that were later than 10 ms, not counting waits for receivers, limits and pauses, as late_ms of an attempt."`
	Over100     uint64   `json:"over_100ms,omitempty"`
	Over1000    uint64   `json:"over_1s,omitempty"`
	P50MS       float64  `json:"p50_ms,omitempty" doc:"The least of late_bounds_ms that half of the attempts did not exceed. Absent: there is none."`
	P99MS       float64  `json:"p99_ms,omitempty"`
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
