package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/foliot/foliot/internal/fileaccess"
)

// Main carries out the command line of this process and returns its exit code.
// The first SIGINT or SIGTERM interrupts the command; the second ends the process.
func Main() (code int) {
	fileaccess.KeepPrivate()
	ctx, stop := interruptible()
	code = run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	return code
}

// sameSignal is how soon after the first signal another one is part of it: a
// terminal signals all processes of a group, and a wrapper passes its signal on.
const sameSignal = 200 * time.Millisecond

// interruptible returns a context that the first SIGINT or SIGTERM ends. The
// second one ends the process at once: a user who asks twice does not want to
// wait for what the first one began. The goroutine lives as long as the process.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		obey(signals, cancel)
		fmt.Fprintln(os.Stderr, "foliot: stopped at once by a second signal")
		os.Exit(exitFailure)
	}()
	return ctx, cancel
}

// obey calls stop at the first signal, and returns at the second.
func obey(signals <-chan os.Signal, stop func()) {
	<-signals
	stop()
	first := time.Now()
	for range signals {
		if time.Since(first) >= sameSignal {
			return
		}
	}
}
