package metrics

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/foliot/foliot/internal/task"
)

// other is the label of queues without their own series, with an underscore
// because no name begins with one.
const other = "_other"

// others are the labels for queues of unknown namespaces.
var others = task.QueueKey{Namespace: other, Queue: other}

// outcomeNames are the outcomes of attempts.
var outcomeNames = [...]string{"delivered", "replaced", "failed", "snoozed", "refused", "interrupted", "unsent", "stale"}

// reasonNames are the reasons of deaths, where unknown ones count under other.
var reasonNames = [...]string{
	"gone", "no_retry", "egress_denied",
	task.ReasonAttempts, task.ReasonAge, task.ReasonReclaims, task.ReasonRefused, other,
}

// Buckets for scrapers without native histograms.
var (
	lateBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800}
	tookBuckets = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
)

// deliveries counts the outcomes of tasks by queue.
type deliveries struct {
	config   Config
	late     *prometheus.HistogramVec
	waited   *prometheus.HistogramVec
	took     *prometheus.HistogramVec
	attempts *prometheus.CounterVec
	dead     *prometheus.CounterVec

	mu     sync.RWMutex             // guards queues
	queues map[task.QueueKey]*queue // those with series of their own, and the others
}

// queue holds the series of one queue.
type queue struct {
	late, waited, took prometheus.Observer
	outcomes           map[string]prometheus.Counter // by the names of outcomeNames
	reasons            map[string]prometheus.Counter // by the names of reasonNames
}

func newDeliveries(r prometheus.Registerer, config Config) *deliveries {
	labels := []string{"namespace", "queue"}
	d := &deliveries{
		config: config,
		queues: map[task.QueueKey]*queue{},
		late: prometheus.NewHistogramVec(native(prometheus.HistogramOpts{
			Name: "foliot_lateness_seconds", Buckets: lateBuckets,
			Help: "Lateness of this server: from the due time of an attempt to its start. If receivers, limits, pauses or suspensions held it back, from the end of the last of these. For a retry, from the time it was due again.",
		}), labels),
		waited: prometheus.NewHistogramVec(native(prometheus.HistogramOpts{
			Name: "foliot_waited_seconds", Buckets: lateBuckets,
			Help: "How long receivers, limits, pauses and suspensions delayed the start of an attempt, and the time to connect. Lateness and this time add up to the time from the due time to the first byte sent.",
		}), labels),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "foliot_attempt_duration_seconds", Buckets: tookBuckets,
			Help: "From the first byte sent to the end of the reply, or to the error.",
		}, labels),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "foliot_attempts_total",
			Help: "Settled attempts by outcome. replaced: a success, but a PUT had replaced the task before the end; unsent: nothing was written to the network; stale: the lease was lost before, so the task is delivered again.",
		}, append(labels, "outcome")),
		dead: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "foliot_dead_total",
			Help: "Tasks that died, by reason.",
		}, append(labels, "reason")),
	}
	r.MustRegister(d.late, d.waited, d.took, d.attempts, d.dead)
	home := task.QueueKey{Namespace: task.DefaultNamespace, Queue: task.DefaultQueue}
	d.queues[home] = d.resolve(home) // exposed as zero from the start
	return d
}

// native adds a native histogram to the buckets of o, with at most 160 buckets
// that are 9 % wide.
func native(o prometheus.HistogramOpts) prometheus.HistogramOpts {
	o.NativeHistogramBucketFactor = 1.1
	o.NativeHistogramMaxBucketNumber = 160
	return o
}

// Attempt counts a settled attempt of a queue's task. after is the record after
// the settlement, or nil if the lease was lost before. If the queue has its own
// series, the call takes less than 100 ns and allocates nothing.
func (m *Metrics) Attempt(namespace, name string, o task.Outcome, after *task.Task) {
	q := m.deliveries.of(namespace, name)
	q.outcomes[OutcomeName(o.Verdict, after)].Inc()
	if o.Verdict != task.Unsent {
		q.late.Observe(o.Late.Seconds())
		q.waited.Observe(o.Waited.Seconds())
		q.took.Observe(o.Latency.Seconds())
	}
	if after != nil {
		q.ended(after)
	}
}

// ended counts t if it is dead.
func (q *queue) ended(t *task.Task) {
	if t.State == task.Dead {
		cmp.Or(q.reasons[t.Reason], q.reasons[other]).Inc()
	}
}

// OutcomeName returns the label outcome of a settled attempt.
func OutcomeName(v task.Verdict, after *task.Task) string {
	switch {
	case after == nil:
		return "stale"
	case v == task.Success && after.State != task.Delivered:
		return "replaced"
	}
	return v.String()
}

// of returns the series under which a queue is counted.
func (d *deliveries) of(namespace, name string) *queue {
	key := task.QueueKey{Namespace: namespace, Queue: name}
	d.mu.RLock()
	q := d.queues[key]
	d.mu.RUnlock()
	if q == nil {
		_, q = d.fold(key)
	}
	return q
}

// fold returns the labels under which a queue is counted, and its series, which
// it creates if they are missing.
func (d *deliveries) fold(key task.QueueKey) (task.QueueKey, *queue) {
	key = d.apart(key)
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.queues[key]
	if q == nil && len(d.queues) >= d.config.MaxQueues {
		key = others
		q = d.queues[key]
	}
	if q == nil {
		q = d.resolve(key)
		d.queues[key] = q
	}
	return key, q
}

// labels returns the labels of all queues with series.
func (d *deliveries) labels() []task.QueueKey {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Collect(maps.Keys(d.queues))
}

// apart returns the labels that a queue would have without the limit.
func (d *deliveries) apart(key task.QueueKey) task.QueueKey {
	s := d.config.Settings()
	switch {
	case s.Queue(key.Namespace, key.Queue).Name != "":
		return key
	case key.Namespace != task.DefaultNamespace && s.Namespace(key.Namespace) == nil:
		return others
	case key.Queue != task.DefaultQueue:
		return task.QueueKey{Namespace: key.Namespace, Queue: other}
	}
	return key
}

// resolve creates the series of a queue, and exposes all counters at zero, so
// that the first event of a kind counts as an increase.
func (d *deliveries) resolve(key task.QueueKey) *queue {
	q := &queue{
		late:     d.late.WithLabelValues(key.Namespace, key.Queue),
		waited:   d.waited.WithLabelValues(key.Namespace, key.Queue),
		took:     d.took.WithLabelValues(key.Namespace, key.Queue),
		outcomes: map[string]prometheus.Counter{}, reasons: map[string]prometheus.Counter{},
	}
	for _, name := range outcomeNames {
		q.outcomes[name] = d.attempts.WithLabelValues(key.Namespace, key.Queue, name)
	}
	for _, name := range reasonNames {
		q.reasons[name] = d.dead.WithLabelValues(key.Namespace, key.Queue, name)
	}
	return q
}
