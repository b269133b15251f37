package metrics

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// sourceTimeout is shorter than the timeout of a scrape, so that one slow source
// does not hide the others.
const sourceTimeout = 5 * time.Second

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	tasksDesc   = desc("foliot_tasks", "Tasks in the store, by state. Servers that share a store all report its total: take the largest, do not add them up.", "namespace", "queue", "state")
	bodiesDesc  = desc("foliot_task_body_bytes", "Bytes of task records in the store, bodies included. Servers that share a store all report its total: take the largest, do not add them up.", "namespace", "queue")
	overdueDesc = desc("foliot_oldest_overdue_seconds", "Seconds since the oldest waiting task was due. 0 if no task is overdue. Paused queues are excluded.", "namespace", "queue")

	schedulesDesc       = desc("foliot_schedules", "Schedules in the store, including paused and ended ones. Servers that share a store all report its total: take the largest, do not add them up.", "namespace")
	scheduleOverdueDesc = desc("foliot_schedule_overdue_seconds", "Seconds since the oldest due instant that has not fired yet. 0 if none. Instants fire within milliseconds while the store accepts their tasks.")
	occurrencesDesc     = desc("foliot_schedule_occurrences_total", "Tasks that schedules created at their instants.")
	skippedDesc         = desc("foliot_schedule_skipped_total", "Instants of schedules that created no task, by reason. missed, catchup_window, catchup_limit: no server ran, or its clock was set. quota: the namespace was full. overlap: a task of the schedule was unfinished. If tens of thousands were missed at once, some are not counted.", "why")

	runningDesc     = desc("foliot_attempts_running", "Attempts under way, from the claim to the settlement.")
	freeDesc        = desc("foliot_slots_free", "Attempts that may start now: --concurrency minus those under way.")
	windowTasksDesc = desc("foliot_window_tasks", "Tasks and schedules in the near window. They are read from the store and wait in memory for their due time or a slot.")
	windowLanesDesc = desc("foliot_window_lanes", "Lanes (queue, priority and destination) in the near window.")
	claimsDesc      = desc("foliot_claims_total", "Claims of tasks that seemed due, by result: granted, expired, moved (due later, or in another lane), gone (cancelled, finished or running).", "result")

	storeDesc    = desc("foliot_store_bytes", "Bytes that the store uses on disk.")
	diskFreeDesc = desc("foliot_disk_free_bytes", "Free bytes on the store's file system. At 0, the server stops.")
	diskSizeDesc = desc("foliot_disk_size_bytes", "Size of the store's file system in bytes.")

	connectionsDesc = desc("foliot_api_connections", "Open connections of API clients.")
	certificateDesc = desc("foliot_tls_not_after_timestamp_seconds", "Time at which the TLS certificate in use expires, in seconds since 1970.")
	brokenDesc      = desc("foliot_tls_files_broken", "1 while the TLS files cannot be used and the previous certificate stays in use, 0 otherwise.")
	breakersDesc    = desc("foliot_breakers_open", "Destinations that are not called now, because they kept failing.")
	ownedDesc       = desc("foliot_shards_owned", "Shards of a shared store that this server delivers. The sum over all servers is below foliot_shards only while shards change their owner.")
	shardsDesc      = desc("foliot_shards", "Shards into which a shared store is divided.")
	closedDesc      = desc("foliot_store_closed", "1 while this server refuses all requests because the shared store was emptied or replaced, or has lost its settings; 0 otherwise.")
	unfitDesc       = desc("foliot_store_unfit", "1 while this server refuses new tasks because a setting of its Redis may lose tasks; 0 otherwise.")
	rollbacksDesc   = desc("foliot_store_rollbacks_total", "How often this server saw the shared store with older data than before. The store lost the end of its file or was restored from an older copy, or a replica that was behind took over.")
	listenDesc      = desc("foliot_postgres_not_listening", "1 while this server gets no messages of other servers from PostgreSQL, so tasks that these create for now are up to 1.1 s late; 0 otherwise, and behind a pooler.")
	snapshotDesc    = desc("foliot_postgres_oldest_snapshot_seconds", "Age of the oldest transaction with a snapshot in the database, which keeps dead rows. Needs pg_read_all_stats for those of other roles. Measured every 2 minutes.")
	lostDesc        = desc("foliot_shard_leases_lost_total", "Shard leases that ended before this server could renew them: it stalled, or could not reach Redis or PostgreSQL.")
	spansDesc       = desc("foliot_spans_total", "Spans by result: exported, failed (the collector refused them), dropped (the queue was full).", "result")
)

// sourceCollector collects the values of the sources.
type sourceCollector struct {
	sources    Sources
	deliveries *deliveries
	settings   func() *settings.Settings
	logger     *slog.Logger
}

// Describe implements prometheus.Collector, and describes nothing, because the
// sources decide which metrics there are.
func (c *sourceCollector) Describe(chan<- *prometheus.Desc) {}

func (c *sourceCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), sourceTimeout)
	defer cancel()
	s, to := c.sources, &collection{out: out}
	if s.Counts != nil {
		c.counts(ctx, to)
	}
	if s.Index != nil {
		c.overdue(ctx, to)
	}
	if s.Dispatch != nil {
		to.dispatch(s.Dispatch(), s.Slots)
	}
	if s.Disk != nil {
		to.disk(s.Disk())
	}
	if s.Connections != nil {
		to.gauge(connectionsDesc, float64(s.Connections()))
	}
	if s.Certificate != nil {
		to.certificate(s.Certificate())
	}
	if s.Spans != nil {
		exported, failed, dropped := s.Spans()
		to.counter(spansDesc, exported, "exported")
		to.counter(spansDesc, failed, "failed")
		to.counter(spansDesc, dropped, "dropped")
	}
	if s.Standing != nil {
		to.standing(s.Standing())
	}
	if to.err != nil {
		c.logger.Warn("a scrape lacks some metrics, because they could not be read", "metrics", strings.Join(to.missing, ", "), "error", to.err)
	}
}

// counts reports the number of tasks, with the labels of their queues, and of
// schedules.
func (c *sourceCollector) counts(ctx context.Context, to *collection) {
	counts, err := c.sources.Counts(ctx)
	if err != nil {
		to.failed(err, "foliot_tasks", "foliot_task_body_bytes", "foliot_schedules")
		return
	}
	sums, schedules := map[task.QueueKey]*task.Counts{}, map[string]int64{}
	for key, n := range counts {
		if key.Queue == task.ScheduleQueue {
			schedules[c.namespace(key.Namespace)] += n.States[task.Scheduled]
			continue
		}
		label, _ := c.deliveries.fold(key)
		if sums[label] == nil {
			sums[label] = new(task.Counts)
		}
		sums[label].Add(n)
	}
	for key, n := range sums {
		for state := task.Scheduled; state.Valid(); state++ {
			to.gauge(tasksDesc, float64(n.States[state]), key.Namespace, key.Queue, state.String())
		}
		to.gauge(bodiesDesc, float64(n.Bytes), key.Namespace, key.Queue)
	}
	for namespace, n := range schedules {
		to.gauge(schedulesDesc, float64(n), namespace)
	}
}

// namespace returns the label of a namespace: its name if it exists.
func (c *sourceCollector) namespace(name string) string {
	if c.settings().Namespace(name) == nil {
		return other
	}
	return name
}

// collection receives the metrics of one scrape.
type collection struct {
	out     chan<- prometheus.Metric
	missing []string // metrics of failed sources
	err     error    // the first error
}

func (c *collection) gauge(d *prometheus.Desc, v float64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (c *collection) counter(d *prometheus.Desc, v uint64, labels ...string) {
	c.out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func (c *collection) failed(err error, metrics ...string) {
	c.missing = append(c.missing, metrics...)
	if c.err == nil {
		c.err = err
	}
}

func (c *collection) dispatch(d dispatch.Stats, slots int) {
	c.gauge(runningDesc, float64(d.Running))
	c.gauge(freeDesc, float64(slots-d.Running))
	c.gauge(windowTasksDesc, float64(d.Known))
	c.gauge(windowLanesDesc, float64(d.Lanes))
	c.gauge(breakersDesc, float64(d.Breakers))
	c.counter(claimsDesc, d.Claimed, "granted")
	c.counter(claimsDesc, d.Expired, "expired")
	c.counter(claimsDesc, d.Moved, "moved")
	c.counter(claimsDesc, d.Gone, "gone")
	c.counter(occurrencesDesc, d.Fired)
	for _, why := range []string{recurrence.SkippedMissed, recurrence.SkippedWindow, recurrence.SkippedLimit, recurrence.SkippedQuota, recurrence.SkippedOverlap} {
		c.counter(skippedDesc, d.Skipped[why], why)
	}
}

func (c *collection) standing(s store.Standing) {
	c.gauge(shardsDesc, float64(s.Shards))
	c.gauge(ownedDesc, float64(s.Owned))
	c.counter(lostDesc, s.Lost)
	c.gauge(closedDesc, oneIf(errors.Is(s.Err, task.ErrStoreReplaced) || errors.Is(s.Err, task.ErrSettingsLost)))
	c.gauge(unfitDesc, oneIf(errors.Is(s.Err, task.ErrStoreUnfit)))
	c.counter(rollbacksDesc, s.Rollbacks)
	if p := s.Postgres; p != nil {
		c.gauge(listenDesc, oneIf(p.NotListening))
		c.gauge(snapshotDesc, p.OldestSnapshot.Seconds())
	}
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (c *collection) certificate(notAfter time.Time, broken bool) {
	c.gauge(certificateDesc, float64(notAfter.Unix()))
	c.gauge(brokenDesc, oneIf(broken))
}

func (c *collection) disk(d Disk, err error) {
	if err != nil {
		c.failed(err, "foliot_store_bytes", "foliot_disk_free_bytes", "foliot_disk_size_bytes")
		return
	}
	c.gauge(storeDesc, float64(d.Used))
	c.gauge(diskFreeDesc, float64(d.Free))
	c.gauge(diskSizeDesc, float64(d.Size))
}
