package wire

// Live is the current activity of a server. A namespace's own token sees only
// its queues and destinations, without the fields about the whole server.
type Live struct {
	Now          string            `json:"now,omitempty" format:"date-time" doc:"The server's time of the reply."`
	At           string            `json:"at" format:"date-time" doc:"The time of the sample. All viewers get the same sample for a second."`
	Running      int               `json:"running,omitempty" doc:"The attempts under way in all namespaces."`
	Slots        int               `json:"slots,omitempty" doc:"The maximum of running."`
	Late         *Lateness         `json:"late,omitempty" doc:"The lateness of this server in the last minute: the time from the due time of an attempt to its start, without the time in waited."`
	Waited       *Lateness         `json:"waited,omitempty" doc:"How long receivers, limits, pauses and suspensions delayed the same attempts. It includes the time to connect."`
	Attempts     *AttemptTotals    `json:"attempts,omitempty"`
	Suspended    []string          `json:"suspended,omitempty" doc:"The suspended namespaces: no attempt of them starts."`
	Queues       []LiveQueue       `json:"queues" nullable:"false" doc:"The queues with running or overdue tasks, and those that a pause, a purge or a suspension holds."`
	Destinations []LiveDestination `json:"destinations" nullable:"false" doc:"The destinations with running or overdue tasks, or with a breaker that is not closed."`
}

type Lateness struct {
	Count uint64  `json:"count"`
	P50MS float64 `json:"p50_ms"`
	P90MS float64 `json:"p90_ms"`
	P99MS float64 `json:"p99_ms"`
	MaxMS float64 `json:"max_ms"`
}

// AttemptTotals counts the outcomes of attempts, and dead tasks, since the
// server started.
type AttemptTotals struct {
	Delivered   uint64 `json:"delivered"`
	Failed      uint64 `json:"failed"`
	Snoozed     uint64 `json:"snoozed" doc:"The receiver asked for a later attempt."`
	Refused     uint64 `json:"refused" doc:"410, Foliot-No-Retry, or denied by the egress policy."`
	Interrupted uint64 `json:"interrupted" doc:"Ended because the server stopped."`
	Dead        uint64 `json:"dead" doc:"Tasks that died, for any reason."`
}

// LiveQueue is the activity of a queue.
type LiveQueue struct {
	Namespace string  `json:"namespace"`
	Queue     string  `json:"queue"`
	Running   int     `json:"running"`
	Overdue   int     `json:"overdue" doc:"The due tasks that wait, as far as this server has read them: none of a held queue."`
	OldestMS  float64 `json:"oldest_ms,omitempty" doc:"The time since the oldest of them became due."`
	LimitedBy string  `json:"limited_by,omitempty" enum:"suspended,pause,purge,rate,concurrency,slots,breaker,retry_after,per_destination,unsent,kind,quarantine,turn,runner" doc:"The reason that they wait, as in waits_for of a task; that of one of them, if there are several."`
}

// LiveDestination is the activity between a namespace and a destination.
type LiveDestination struct {
	Namespace   string  `json:"namespace"`
	Destination string  `json:"destination" doc:"host:port, or kind/ and the name of a kind"`
	Running     int     `json:"running"`
	Overdue     int     `json:"overdue"`
	OldestMS    float64 `json:"oldest_ms,omitempty"`
	Breaker     string  `json:"breaker" enum:"closed,open,half-open" doc:"open: it failed repeatedly and gets no attempt until open_until. half-open: one attempt tests it."`
	OpenUntil   string  `json:"open_until,omitempty" format:"date-time"`
}
