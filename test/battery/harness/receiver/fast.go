package receiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// FastCommand is the hidden scenario with which the battery starts itself again
// as a fast receiver. A separate process shares no scheduler and no garbage
// collector with the measurement, and the system reports its processor time.
const FastCommand = "fast-receiver"

// fastOrder is a line of its standard input; it answers each with its counts.
type fastOrder struct {
	Know *[]string `json:"know,omitempty"` // the secrets from now on; nil changes nothing
}

// fastGreeting is the first line of its standard output.
type fastGreeting struct {
	Addr string `json:"addr"`
}

// RunFast is the process of a fast receiver. It ends when its input does.
func RunFast(path, addr string, in io.Reader, out io.Writer) error {
	s, err := openFastServer(path, addr)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	err = enc.Encode(fastGreeting{s.listener.Addr().String()})
	for dec := json.NewDecoder(in); err == nil; {
		var order fastOrder
		if err = dec.Decode(&order); errors.Is(err, io.EOF) {
			return s.close()
		} else if err != nil {
			break
		}
		if order.Know != nil {
			err = s.know(*order.Know)
		}
		if err == nil {
			err = enc.Encode(s.seen())
		}
	}
	return errors.Join(err, s.close())
}

// Fast is the process of a fast receiver, as its parent sees it. Its log is on
// the disk when Close returns.
type Fast struct {
	*system.Child
	Path string
	Addr string
}

// StartFast starts a fast receiver that logs to path and listens at addr.
func StartFast(path, addr string) (*Fast, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start the fast receiver: %w", err)
	}
	c, err := system.StartChild("the fast receiver", exec.Command(self, FastCommand, path, addr))
	if err != nil {
		return nil, err
	}
	p := &Fast{Child: c, Path: path}
	var hello fastGreeting
	if err := p.Out.Decode(&hello); err != nil {
		return nil, errors.Join(fmt.Errorf("start the fast receiver: %w", err), p.Close())
	}
	p.Addr = hello.Addr
	return p, nil
}

// URL returns the URL that callbacks go to.
func (f *Fast) URL() string { return "http://" + f.Addr + "/" }

// Know replaces the secrets that the receiver verifies with.
func (f *Fast) Know(secrets ...string) (Counts, error) {
	return f.order(fastOrder{Know: &secrets})
}

// Counts returns the number of callbacks so far.
func (f *Fast) Counts() (Counts, error) { return f.order(fastOrder{}) }

func (f *Fast) order(o fastOrder) (c Counts, err error) {
	if err := json.NewEncoder(f.In).Encode(o); err != nil {
		return c, fmt.Errorf("write to the fast receiver: %w", err)
	}
	if err := f.Out.Decode(&c); err != nil {
		return c, fmt.Errorf("read from the fast receiver: %w", err)
	}
	return c, nil
}

// End ends the process, even if its log is incomplete.
func (f *Fast) End() { _ = f.Close() }

// Await returns when count callbacks have come. It also returns when no
// callback has come for as long as patience. Before due, this time does not
// count.
func (f *Fast) Await(ctx context.Context, count int, due time.Time, patience time.Duration) error {
	last, progress := 0, due
	for {
		c, err := f.Counts()
		if err != nil || c.Arrived >= count {
			return err
		}
		now := time.Now()
		if c.Arrived != last && now.After(progress) {
			last, progress = c.Arrived, now
		}
		if now.Sub(progress) > patience || !timing.Pause(ctx, 50*time.Millisecond) {
			return ctx.Err() // the verdict reports the missing tasks
		}
	}
}
