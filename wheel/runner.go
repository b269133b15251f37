package wheel

// Runner decides where callbacks run. [Go], [Inline] and a [Pool] are Runners;
// [RunnerFunc] makes one from a function. No later version adds a method.
//
// A wheel calls Run on the driver's goroutine of a shard, one call at a time
// for each shard. Run must be safe for concurrent use if the wheel has more
// than one shard.
//
// A wheel recognises Go, Inline and a Pool in Config.Run, and needs fewer
// allocations with them. A Runner that wraps one of them works, but loses that
// advantage, and Close waits for it.
type Runner interface {
	// Run calls f now or later, on any goroutine. It returns false if it
	// refuses f, which then never runs, and the wheel counts its timers in
	// Stats.Dropped.
	//
	// f must be called at most once. Further calls, and calls after Run has
	// returned false or panicked, do nothing. While Run blocks, its shard fires
	// nothing, and Close waits until Run has returned or the callback has
	// begun. Close does not wait for a Pool. Run must not call Close.
	Run(f func()) bool
}

// RunnerFunc is a function that is a Runner, and must not be nil. If it returns
// false, it has refused the callback f, which then never runs: the wheel counts
// its timers in Stats.Dropped, and not in Stats.Fired.
type RunnerFunc func(f func()) bool

// Run returns r(f).
func (r RunnerFunc) Run(f func()) bool { return r(f) }

var (
	// Go runs each callback on its own goroutine, so a callback that blocks
	// delays no other callback.
	Go Runner = goRunner{}

	// Inline runs the callbacks on the driver's goroutine, one at a time for
	// each shard. It is the cheapest Runner, for short callbacks: a callback
	// that blocks delays the rest of its shard.
	//
	// A callback must not wait for a timer of its own wheel: not for a channel
	// of After or NewTimer, the end of a context, or another callback, because
	// it could deadlock. The exception is Timers.Sleep, which always returns.
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
