package guard

import (
	"net"
	"time"

	"github.com/foliot/foliot/idle"
)

// slackOf is the promise of a group with the default resolution: two
// resolutions.
func slackOf(timeout time.Duration) time.Duration {
	return 2 * min(max(timeout/64, 100*time.Millisecond), time.Second)
}

// settings are the defaults for all groups.
func settings(timeout time.Duration) idle.Config {
	return idle.Config{ReadIdle: timeout, WriteIdle: timeout}
}

// touching is a group with an embedded Entry in each connection. The handler
// decides which data is a use and which is a pong.
type touching struct {
	simple
	group *idle.Group[*touched]
}

func openTouching(timeout time.Duration) Guard {
	return touching{group: idle.New(settings(timeout), func(*touched, idle.Reason) idle.Verdict { return idle.Close() })}
}

func (g touching) Watch(c net.Conn) (Conn, error) {
	t := &touched{Plain: plain(c)}
	return t, g.group.Track(t, &t.entry)
}

func (g touching) Leave(c Conn) { g.group.Untrack(&c.(*touched).entry) }
func (g touching) Stalls() int  { return int(g.group.Stats().Stalls) }
func (g touching) Close()       { g.group.Close() }

type touched struct {
	Plain
	entry idle.Entry
}

func (c *touched) Heard(pong bool) {
	if pong {
		c.entry.Pong()
		return
	}
	c.entry.TouchRead()
}

func (c *touched) Wrote() { c.entry.TouchWrite() }

// wrapping is a group behind a listener.
type wrapping struct {
	simple
	group *idle.Group[net.Conn]
}

func openWrapping(timeout time.Duration) Guard {
	return wrapping{group: idle.New(settings(timeout), func(net.Conn, idle.Reason) idle.Verdict { return idle.Close() })}
}

func (g wrapping) Listen(l net.Listener) net.Listener { return idle.NewListener(l, g.group) }

func (g wrapping) Watch(c net.Conn) (Conn, error) {
	p := plain(c)
	return &p, nil
}

func (g wrapping) Stalls() int { return int(g.group.Stats().Stalls) }
func (g wrapping) Close()      { g.group.Close() }

// kernel is a group with the kernel source, without touches.
type kernel struct {
	simple
	group *idle.Group[*unaware]
}

func openKernel(timeout time.Duration) Guard {
	config := settings(timeout)
	config.Activity = idle.Kernel
	return kernel{group: idle.New(config, func(*unaware, idle.Reason) idle.Verdict { return idle.Close() })}
}

func (g kernel) Watch(c net.Conn) (Conn, error) {
	u := &unaware{Plain: plain(c)}
	return u, g.group.Track(u, &u.entry)
}

func (g kernel) Leave(c Conn) { g.group.Untrack(&c.(*unaware).entry) }
func (g kernel) Stalls() int  { return int(g.group.Stats().Stalls) }
func (g kernel) Close()       { g.group.Close() }

type unaware struct {
	Plain
	entry idle.Entry
}
