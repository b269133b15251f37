package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/telemetry/metrics"
)

// newMetrics returns the metrics of a node. The store need not be open yet.
func (n *Node) newMetrics() *metrics.Metrics {
	return metrics.New(metrics.Config{
		Version:  buildinfo.Version(),
		Logger:   n.log,
		Unsynced: n.cfg.Dir == "",
		Settings: func() *settings.Settings { return n.Store.Settings() },
	})
}

// metricsHandler returns the handler of /metrics, or nil if the configuration
// disables it.
func (n *Node) metricsHandler() http.Handler {
	if !n.cfg.Metrics {
		return nil
	}
	return n.metrics.Handler()
}

// settled is called for each attempt after its settlement.
func (n *Node) settled(e dispatch.Event) {
	n.refusals.note(e, time.Now())
	n.deaths.note(e.After)
	n.activity.Note(task.FloorMillis(n.clock()), e.Claimed, &e.Outcome, e.After)
	n.metrics.Attempt(e.Claimed.Namespace, e.Claimed.Queue, e.Outcome, e.After)
}

// sources returns the functions that provide values for the metrics of an open
// node.
func (n *Node) sources() metrics.Sources {
	s := metrics.Sources{
		Counts: n.Store.Counts,
		Index:  n.Store,
		Now:    n.clock,
		Dispatch: func() metrics.Dispatch {
			s := n.dispatch.Stats()
			return metrics.Dispatch{
				Running: s.Running, Slots: n.cfg.Slots, WindowTasks: s.Known, WindowLanes: s.Lanes,
				Hints: s.Hints, Polls: s.Polls, Granted: s.Claimed, Expired: s.Expired, Moved: s.Moved, Gone: s.Gone,
				Fired: s.Fired, Skipped: metrics.Skipped(s.Skipped),
			}
		},
		Breakers:    func() int { return n.dispatch.Stats().Breakers },
		Connections: n.cfg.Connections,
		Certificate: n.cfg.Certificate,
	}
	if n.cfg.Dir != "" {
		s.Disk = func() (metrics.Disk, error) { return diskUsage(n.cfg.Dir) }
	}
	if c, shared := n.Store.(store.Cluster); shared {
		s.Standing = c.Standing
	}
	if n.tracer != nil {
		s.Spans = func() metrics.Spans { return metrics.Spans(n.tracer.Counts()) }
	}
	return s
}

// diskUsage measures a directory and the file system it is on.
func diskUsage(dir string) (metrics.Disk, error) {
	space, err := pebblestore.SpaceOf(dir)
	if err != nil {
		return metrics.Disk{}, err
	}
	d := metrics.Disk{Free: space.Free, Size: space.Total}
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil {
			info, err = entry.Info()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // a compaction removed it
			return nil
		case err != nil:
			return err
		case info.Mode().IsRegular():
			d.Used += uint64(info.Size())
		}
		return nil
	})
	if err != nil {
		return metrics.Disk{}, fmt.Errorf("measure the store: %w", err)
	}
	return d, nil
}

// closeTracer exports the last spans within the time limit of the tracer. It
// only logs an error: lost spans are no reason for a failed exit.
func (n *Node) closeTracer() {
	if err := n.tracer.Close(context.Background()); err != nil {
		n.log.Warn("spans were lost when the server stopped: the last export failed", "error", err)
	}
}
