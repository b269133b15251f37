// Package client is a process with many peers of the server: good ones, silent
// ones and hostile ones.
package client

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/foliot/foliot/bench/idle/server"
)

// Client is a child process. Its methods are those of package rpc.
type Client struct {
	config Config
	peers  []*peer
	quiet  sync.WaitGroup // frozen peers that may still send

	hushed chan struct{} // closed by Hush, after it has set the fields below
	begin  time.Time
	spread time.Duration
}

// Config configures a client.
type Config struct {
	Addresses []string // addresses of the server
	First     int      // the number of its first peer; at least 1
	Counts    [Kinds]int
	Timeout   time.Duration
	Every     time.Duration // time between messages
	Drip      time.Duration // time between bytes of the slow drips
}

// Observation is the fate of a peer, by its own clock, child.Now.
type Observation struct {
	ID    int
	Kind  Kind
	Last  time.Duration // start of the last Write that counts as use
	Gap   time.Duration // longest time between the starts of two such Writes
	Moved time.Duration // last arrival of data that it does not read; accurate to 20 ms
	Ended time.Duration // when it saw the close by the server; zero means that it did not
}

// Open connects all peers. Each sends hello and begins to talk.
func (c *Client) Open(config Config, _ *struct{}) error {
	c.config, c.hushed = config, make(chan struct{})
	for kind, n := range config.Counts {
		for i := range n {
			c.peers = append(c.peers, &peer{
				client: c, kind: Kind(kind), id: config.First + len(c.peers), share: share(i),
			})
		}
	}
	c.quiet.Add(config.Counts[Frozen])
	return c.openAll()
}

// openAll opens all peers, some at a time, and returns the first error.
func (c *Client) openAll() error {
	const atOnce = 32
	var opening sync.WaitGroup
	var next atomic.Int64
	failed := make(chan error, 1)
	for range atOnce {
		opening.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(c.peers) && len(failed) == 0; i = next.Add(1) - 1 {
				if err := c.peers[i].open(); err != nil {
					select {
					case failed <- err:
					default: // another error was first
					}
				}
			}
		})
	}
	opening.Wait()
	close(failed)
	return <-failed
}

// share spreads the peers of a kind evenly over a time, in random order.
func share(i int) float64 {
	const golden = 0.6180339887498949
	x := float64(i) * golden
	return x - float64(int(x))
}

func (p *peer) open() error {
	const patience = 30 * time.Second
	addresses := p.client.config.Addresses
	d := net.Dialer{Timeout: patience}
	if p.kind == Deaf {
		d.Control = smallBuffer
	}
	conn, err := d.Dial("tcp", addresses[p.id%len(addresses)])
	if err != nil {
		return fmt.Errorf("connect peer %d: %w", p.id, err)
	}
	p.conn = conn.(*net.TCPConn)
	if err := p.say(fmt.Sprintf("%s%d\n", server.Hello, p.id)); err != nil {
		return fmt.Errorf("peer %d says hello: %w", p.id, err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return fmt.Errorf("peer %d: %w", p.id, err)
	}
	if _, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil {
		return fmt.Errorf("peer %d waits for an answer to its hello: %w", p.id, err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("peer %d: %w", p.id, err)
	}
	go p.listen()
	go p.live()
	return nil
}

// smallBuffer makes the kernel buffer little of the data that the peer does not
// read. This must be set before the connection, since the peer announces its
// buffer to the server.
func smallBuffer(_, _ string, raw syscall.RawConn) (err error) {
	failed := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
	})
	return errors.Join(failed, err)
}

// Hush makes the peers behave as their kind does, each at its own time within
// spread. When it returns, the frozen peers send no more.
func (c *Client) Hush(spread time.Duration, _ *struct{}) error {
	c.begin, c.spread = time.Now(), spread
	close(c.hushed)
	c.quiet.Wait()
	return nil
}

// Observe returns the fate of all peers.
func (c *Client) Observe(_ struct{}, out *[]Observation) error {
	for _, p := range c.peers {
		*out = append(*out, p.observation())
	}
	return nil
}
