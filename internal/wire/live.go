package wire

// Live is what a server is doing at this moment. A namespace's own token sees
// its queues and destinations alone; fields about the whole server are absent then.
type Live struct {
	Now          string            `json:"now,omitempty" format:"date-time" doc:"The server's clock when it answered."`
	At           string            `json:"at" format:"date-time" doc:"When the sample was taken. All viewers are shown the same one for a second."`
	Running      int               `json:"running,omitempty" doc:"Attempts under way, of all namespaces."`
	Slots        int               `json:"slots,omitempty" doc:"How many may be."`
	Late         *Lateness         `json:"late,omitempty"`
	Attempts     *AttemptTotals    `json:"attempts,omitempty"`
	Suspended    []string          `json:"suspended,omitempty" doc:"Namespaces that are suspended: nothing of them starts."`
	Queues       []LiveQueue       `json:"queues" nullable:"false" doc:"Those that have something running or overdue."`
	Destinations []LiveDestination `json:"destinations" nullable:"false" doc:"Those that have something running or overdue, or whose breaker is not closed."`
}

// Lateness is how long after its due time the first byte of an attempt was
// sent, over the last minute.
type Lateness struct {
	Count uint64  `json:"count"`
	P50MS float64 `json:"p50_ms"`
	P90MS float64 `json:"p90_ms"`
	P99MS float64 `json:"p99_ms"`
	MaxMS float64 `json:"max_ms"`
}

// AttemptTotals counts how attempts ended, and tasks died, since the server started.
type AttemptTotals struct {
	Delivered   uint64 `json:"delivered"`
	Failed      uint64 `json:"failed"`
	Deferred    uint64 `json:"deferred" doc:"The receiver said when to come back."`
	Refused     uint64 `json:"refused" doc:"410, Foliot-No-Retry, or denied by the egress guard."`
	Interrupted uint64 `json:"interrupted" doc:"Stopped with the server."`
	Dead        uint64 `json:"dead" doc:"Tasks that gave up, whatever the reason."`
}

// LiveQueue is what goes on in a queue.
type LiveQueue struct {
	Namespace string  `json:"namespace"`
	Queue     string  `json:"queue"`
	Running   int     `json:"running"`
	Overdue   int     `json:"overdue" doc:"Tasks that are due and wait, as far as this server has read them."`
	OldestMS  float64 `json:"oldest_ms,omitempty" doc:"For how long the oldest of them has been due."`
	LimitedBy string  `json:"limited_by,omitempty" enum:"suspended,pause,purge,rate,concurrency,destination,slots" doc:"The reason why they wait. destination: breakers, waits that receivers ask for, or the limit for each destination. slots: the server has none left."`
}

// LiveDestination is what goes on between a namespace and a destination.
type LiveDestination struct {
	Namespace   string  `json:"namespace"`
	Destination string  `json:"destination" doc:"host:port"`
	Running     int     `json:"running"`
	Overdue     int     `json:"overdue"`
	OldestMS    float64 `json:"oldest_ms,omitempty"`
	Breaker     string  `json:"breaker" enum:"closed,open,half-open" doc:"open: it failed again and again and is left alone, until open_until. half-open: one attempt finds out."`
	OpenUntil   string  `json:"open_until,omitempty" format:"date-time"`
}
