package foliot

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Options configures a Node. The zero Options works, and Open returns an error
// for each value that cannot work.
type Options struct {
	// Namespace holds the tasks and schedules that this Node creates, and Open
	// creates it if it does not exist. Default: "default".
	Namespace string
	// AllNamespaces lets the handlers run the tasks of all namespaces, for a
	// program that has one for each of its customers. Each client that may
	// create tasks with a kind in any namespace can then start the handlers.
	// Default: they run only the tasks of Namespace.
	AllNamespaces bool
	// Concurrency is the maximum number of handlers that run at once in this
	// process, at most 1,000,000. Default: 128.
	Concurrency int
	// URLs is a result of the function URLs: this process sends the requests of
	// tasks that have a URL. Default: such tasks wait for another process.
	URLs *URLSender
	// Grace is how long handlers and requests may keep running after the context of
	// Run has ended. A negative value means no time at all. Default: 10s.
	Grace time.Duration
	// Lease is how long a task stays with a process that has died, on a store
	// that several processes share, from 1s to 15s. Default: 15s.
	Lease time.Duration
	// KeepFinished is how long a delivered, cancelled or expired task stays in the
	// store. Until then it can be read, and its name is taken for In and At.
	// KeepDead is the same for dead tasks. Each process decides for the tasks that it
	// ends, so set them alike in all. Defaults: 24h, 30 days.
	KeepFinished, KeepDead time.Duration
	// OnDead is called for each task that becomes dead after an attempt in this
	// process, and if this process finds that a task has ended its process too
	// often. The calls begin with Run, and the log has a warning too, even if
	// OnDead is nil. The calls of OnDead and OnHang are made one after the other,
	// so both functions must return, and must not wait for the end of Run. A panic
	// in them is logged, and if 10,000 calls wait, further calls are dropped
	// with an error in the log.
	OnDead func(Info)
	// OnHang is called if a handler still runs after the Timeout of its task.
	// The task stays with this handler, which counts against Concurrency.
	// Default: a warning in the log.
	OnHang func(i Info, running time.Duration)
	// Tracer makes a span of each handler. Default: no spans.
	Tracer Tracer
	// Logger receives failures and warnings. Default: slog.Default().
	Logger *slog.Logger
}

// maxConcurrency bounds the memory that Open allocates for handlers.
const maxConcurrency = 1_000_000

// check returns an error for each value that cannot work, or nil.
func (o *Options) check() (err error) {
	refuse := func(is bool, name string, value any, must string) {
		if is {
			err = errors.Join(err, fmt.Errorf("foliot: Options.%s is %v, but must be %s", name, value, must))
		}
	}
	if o.Namespace != "" && task.ValidateName("", o.Namespace) != nil {
		refuse(true, "Namespace", fmt.Sprintf("%q", o.Namespace), "1 to 256 letters, digits and . _ : -, and begin with a letter or digit")
	}
	refuse(o.Concurrency < 0 || o.Concurrency > maxConcurrency, "Concurrency", o.Concurrency, fmt.Sprint("from 1 to ", maxConcurrency))
	refuse(o.Lease != 0 && (o.Lease < time.Second || o.Lease > store.ClaimFor), "Lease", o.Lease, fmt.Sprint("from 1s to ", store.ClaimFor)) // other nodes ask a silent one for ClaimFor
	refuse(o.KeepFinished < 0 || o.KeepFinished > task.MaxDuration, "KeepFinished", o.KeepFinished, "between 0 and 100 years")
	refuse(o.KeepDead < 0 || o.KeepDead > task.MaxDuration, "KeepDead", o.KeepDead, "between 0 and 100 years")
	if o.URLs != nil {
		err = errors.Join(err, o.URLs.wrong)
	}
	return err
}

func (o Options) withDefaults() Options {
	o.Namespace = cmp.Or(o.Namespace, task.DefaultNamespace)
	o.Concurrency = cmp.Or(o.Concurrency, 128)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.OnHang == nil {
		log := o.Logger
		o.OnHang = func(i Info, running time.Duration) {
			log.Warn("a handler ignores the end of its context: the task stays with the handler until it returns", "kind", i.Kind, "namespace", i.Namespace, "task", i.Name, "running", running.String())
		}
	}
	return o
}
