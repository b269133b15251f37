package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fileaccess"
)

// Main runs the command line of this process and returns its exit code. The
// first SIGINT or SIGTERM interrupts the command; the second ends the process.
func Main() (code int) {
	fileaccess.KeepPrivate()
	ctx, stop := interruptible()
	code = run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	return code
}

// sameSignal is the time in which a second signal counts as the first one. A
// terminal signals all processes of a group, and a wrapper forwards its signal,
// so one Ctrl-C can arrive twice.
const sameSignal = 200 * time.Millisecond

// interruptible returns a context that the first SIGINT or SIGTERM cancels. The
// second signal ends the process at once, because a user who signals twice does
// not want to wait. The goroutine lives as long as the process.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		awaitSecond(signals, cancel)
		fmt.Fprintln(os.Stderr, "foliot: stopped at once by a second signal")
		os.Exit(exit.Failure)
	}()
	return ctx, cancel
}

// awaitSecond calls stop at the first signal and returns at the second.
func awaitSecond(signals <-chan os.Signal, stop func()) {
	<-signals
	stop()
	first := time.Now()
	for range signals {
		if time.Since(first) >= sameSignal {
			return
		}
	}
}
