package child

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// TestMain lets the test binary run as its own child process.
func TestMain(m *testing.M) {
	Main(map[string]any{"echo": new(echo)})
	os.Exit(m.Run())
}

// echo is the receiver in the child.
type echo struct{}

func (echo) Say(word string, reply *string) error {
	*reply = word + "!"
	return nil
}

func (echo) Fail(word string, _ *struct{}) error { return errors.New(word) }

func (echo) Hang(struct{}, *struct{}) error { select {} }

func start(t *testing.T) *Process {
	t.Helper()
	p, err := Start("echo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.End(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestAChildAnswersAndItsErrorsComeThrough(t *testing.T) {
	p := start(t)
	var got string
	if err := p.Call(t.Context(), "Say", "yes", &got); err != nil || got != "yes!" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := p.Call(t.Context(), "Fail", "no", new(struct{})); err == nil || err.Error() != "Fail of the echo: no" {
		t.Errorf("got %v", err)
	}
}

func TestAChildThatHangsIsKilledWhenItsParentLosesPatience(t *testing.T) {
	p := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := p.Call(ctx, "Hang", struct{}{}, new(struct{})); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	<-p.exited
}

func TestAFrozenChildGoesOnWhenItIsThawedAndEndsAnyway(t *testing.T) {
	p := start(t)
	if err := p.Freeze(); err != nil {
		t.Fatal(err)
	}
	const nap = 50 * time.Millisecond
	before := Now()
	thawed := make(chan error, 1)
	time.AfterFunc(nap, func() { thawed <- p.Thaw() })
	if err := p.Call(t.Context(), "Say", "yes", new(string)); err != nil {
		t.Error(err)
	}
	if err := <-thawed; err != nil {
		t.Error(err)
	}
	if took := Now() - before; took < nap {
		t.Errorf("it answered within %v", took)
	}
	if err := p.Freeze(); err != nil { // End must end it anyway
		t.Fatal(err)
	}
}
