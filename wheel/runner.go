package wheel

// Runner decides where callbacks run. [Go], [Inline] and a [Pool] are Runners;
// [RunnerFunc] makes one from a function.
//
// A wheel calls Run on the driver's goroutine of a shard, one call at a time
// for each shard.
type Runner interface {
	// Run calls f, or has it called later, on any goroutine. It reports false
	// if it refuses f: then f never runs, and the wheel counts its timers in
	// Stats.Dropped.
	//
	// Only the first call of f counts. A call that comes after Run has
	// returned false or panicked does nothing. If Run blocks, its shard fires
	// nothing until Run returns, and Close waits for it. Close does not wait
	// for a Pool. Run must not call Close.
	Run(f func()) bool
}

// RunnerFunc is a function that is a Runner.
type RunnerFunc func(f func()) bool

// Run returns r(f).
func (r RunnerFunc) Run(f func()) bool { return r(f) }

var (
	// Go runs each callback on its own goroutine. A callback that blocks delays
	// no other callback.
	Go Runner = goRunner{}

	// Inline runs the callbacks on the driver's goroutine, one at a time for
	// each shard. It is the cheapest Runner, for short callbacks: one that
	// blocks delays the rest of its shard.
	//
	// A callback must not wait for a timer of its own wheel: not for a channel
	// of After or NewTimer, the end of a context, or another callback. It may
	// wait forever. Timers.Sleep is the exception: it returns.
	Inline Runner = inlineRunner{}
)

type (
	goRunner     struct{}
	inlineRunner struct{}
)

func (goRunner) Run(f func()) bool {
	go f()
	return true
}

func (inlineRunner) Run(f func()) bool {
	f()
	return true
}
