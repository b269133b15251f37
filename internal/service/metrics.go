package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/telemetry/metrics"
)

// newMetrics returns the metrics of a service. It can be called before the
// store is open.
func (s *Service) newMetrics() *metrics.Metrics {
	return metrics.New(metrics.Config{
		Version:  buildinfo.Version(),
		Logger:   s.log,
		Unsynced: s.cfg.Dir == "",
		Settings: func() *settings.Settings { return s.Store.Standing().Settings },
	})
}

// settled is called for each attempt after its settlement and after the node has
// recorded it.
func (s *Service) settled(e dispatch.Event) {
	if e.Outcome.Verdict == task.Refusal && e.Outcome.Reason == task.ReasonEgressDenied { // the errors of tasks hide the address
		s.sparse.Warn("the egress policy refused a task", "namespace", e.Claimed.Namespace, "task", e.Claimed.Name, "why", e.Outcome.Detail)
	}
	s.metrics.Attempt(e.Claimed.Namespace, e.Claimed.Queue, e.Outcome, e.After)
}

// sources returns the functions that provide values for the metrics of an open
// service.
func (s *Service) sources() metrics.Sources {
	from := metrics.Sources{
		Counts: s.Store.Counts,
		Index:  s.Store,
		Now:    s.Now,
		Dispatch: func() metrics.Dispatch {
			d := s.Stats()
			return metrics.Dispatch{
				Running: d.Running, Slots: s.cfg.Slots, WindowTasks: d.Known, WindowLanes: d.Lanes,
				Granted: d.Claimed, Expired: d.Expired, Moved: d.Moved, Gone: d.Gone,
				Fired: d.Fired, Skipped: metrics.Skipped(d.Skipped),
			}
		},
		Breakers:    func() int { return s.Stats().Breakers },
		Connections: s.cfg.Connections,
		Certificate: s.cfg.Certificate,
	}
	if s.cfg.Dir != "" {
		from.Disk = func() (metrics.Disk, error) { return diskUsage(s.cfg.Dir) }
	}
	if _, shared := s.Store.(store.Cluster); shared {
		from.Standing = s.Store.Standing
	}
	if s.tracer != nil {
		from.Spans = func() metrics.Spans { return metrics.Spans(s.tracer.Counts()) }
	}
	return from
}

// diskUsage returns the bytes that the files of a directory use, and the free
// and total bytes of its file system.
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

// closeTracer exports the last spans within the time limit of the tracer. If
// that fails, it only logs the error: the exit must not fail because spans are
// lost.
func (s *Service) closeTracer() {
	if err := s.tracer.Close(context.Background()); err != nil {
		s.log.Warn("spans were lost when the server stopped: the last export failed", "error", err)
	}
}
