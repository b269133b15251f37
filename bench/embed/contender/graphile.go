package contender

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// graphileDir has the program that runs the jobs of graphile-worker, a library for
// Node.js. Its functions in SQL create the jobs.
var graphileDir = filepath.Join("contender", "graphile")

func needGraphile() error {
	if _, err := os.Stat(filepath.Join(graphileDir, "node_modules", "graphile-worker")); err != nil {
		return errors.New("graphile-worker is not installed (npm install --no-package-lock --prefix bench/embed/contender/graphile)")
	}
	return nil
}

func openGraphile(ctx context.Context, s Stores, h Handle) (*Running, error) {
	return startGraphile(ctx, s, map[string]any{"concurrentJobs": workers}, h)
}

// openGraphileFast looks for due jobs every 5 ms in place of every 2 s, and takes and
// settles them in batches, as its documentation advises.
func openGraphileFast(ctx context.Context, s Stores, h Handle) (*Running, error) {
	return startGraphile(ctx, s, map[string]any{
		"concurrentJobs": workers, "maxPoolSize": 32, "pollInterval": 5, "completeJobBatchDelay": 0, "localQueue": map[string]any{"size": workers + 1},
	}, h)
}

func startGraphile(ctx context.Context, s Stores, worker map[string]any, h Handle) (*Running, error) {
	migrate := exec.CommandContext(ctx, "npm", "exec", "--prefix", graphileDir, "--", "graphile-worker", "--schema-only", "-c", s.Postgres)
	if out, err := migrate.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("migrate: %w: %s", err, out)
	}
	pool, err := pgxpool.New(ctx, s.Postgres+"?pool_max_conns=32")
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(worker)
	if err != nil {
		return nil, err
	}
	r := &Running{Close: func() error { pool.Close(); return nil }, Stop: func() error { return nil }}
	r.Batch = func(ctx context.Context, list []Task) error {
		var payloads []string
		var due []time.Time
		for _, t := range list {
			payload, err := json.Marshal(t.args())
			if err != nil {
				return err
			}
			payloads, due = append(payloads, string(payload)), append(due, t.Due)
		}
		_, err := pool.Exec(ctx, `SELECT FROM graphile_worker.add_jobs(ARRAY(SELECT ROW('order', p::json, NULL, due, NULL, NULL, NULL, NULL)::graphile_worker.job_spec
			FROM unnest($1::text[], $2::timestamptz[]) u(p, due)))`, payloads, due)
		return err
	}
	r.Create = func(ctx context.Context, t Task) error {
		payload, err := json.Marshal(t.args())
		if err == nil {
			_, err = pool.Exec(ctx, "SELECT FROM graphile_worker.add_job('order', $1::text::json, run_at => $2)", string(payload), t.Due)
		}
		return err
	}
	r.Start = func(ctx context.Context) error {
		cmd := exec.Command("node", "workers.mjs", s.Postgres, string(config))
		cmd.Dir, cmd.Stderr = graphileDir, os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return err
		}
		r.PID = cmd.Process.Pid
		r.Stop = func() error { return errors.Join(in.Close(), cmd.Wait()) }
		jobs := bufio.NewScanner(out)
		if !jobs.Scan() {
			return errors.Join(errors.New("node has not started"), r.Stop())
		}
		ends := make(chan int, workers)
		go writeLines(in, ends)
		go func() {
			for jobs.Scan() {
				var a args
				if err := json.Unmarshal(jobs.Bytes(), &a); err != nil {
					panic(fmt.Sprintf("a job of graphile-worker: %v: %s", err, jobs.Bytes()))
				}
				go func() {
					if h(ctx, a.task()) == nil {
						ends <- a.I
					}
				}()
			}
		}()
		return nil
	}
	return r, nil
}

// writeLines writes each number as a line.
func writeLines(to io.Writer, numbers <-chan int) {
	for n := range numbers {
		if _, err := fmt.Fprintln(to, n); err != nil {
			return // the process ends
		}
	}
}
