package main

import (
	"context"
	"log"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

// asServer makes this test binary run as the chat, for tests that reload a
// process.
const asServer = "CHAT_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		time.AfterFunc(time.Minute, func() { log.Fatalln("chat: the test has forgotten this process") })
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// quick are limits that fit into a test.
var quick = config{
	ping: 200 * time.Millisecond, pong: 200 * time.Millisecond, missed: 2,
	spread: 50 * time.Millisecond, goodbye: time.Second,
}

// serve runs a chat on loopback until stop, or until the test ends, and checks
// that it then ends without an error.
func serve(t *testing.T, c config) (r *room, address string, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := start(narrow{l}, c)
	stop = sync.OnceValue(func() error { return s.stop(context.Background()) })
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return s.room, l.Addr().String(), stop
}

// narrow gives connections small buffers, so that a socket is full soon.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		c.(*net.TCPConn).SetWriteBuffer(4 << 10)
	}
	return c, err
}

// guest is a client that behaves as a browser: it reads all the time, and so
// answers pings and goodbyes.
type guest struct {
	socket *websocket.Conn
	pings  atomic.Int32
	heard  chan string  // messages it received; more are dropped
	ended  chan error   // the cause of the connection's end
	endAt  atomic.Int64 // time of the end, in nanoseconds
}

// visit connects a guest that reads, and returns when the chat knows it.
func visit(t *testing.T, address, name string) *guest {
	t.Helper()
	g := &guest{heard: make(chan string, 100), ended: make(chan error, 1)}
	g.socket = connect(t, address, name, func(context.Context, []byte) bool { g.pings.Add(1); return true })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second) // limits the test
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			_, text, err := g.socket.Read(ctx)
			if err != nil {
				g.endAt.Store(time.Now().UnixNano())
				g.ended <- err
				return
			}
			select {
			case g.heard <- string(text):
			default:
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	if !g.hears("welcome, " + name) {
		t.Fatal("it was not welcomed")
	}
	return g
}

// connect connects a client that may or may not read.
func connect(t *testing.T, address, name string, pinged func(context.Context, []byte) bool) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	socket, _, err := websocket.Dial(ctx, "ws://"+address+"/chat?name="+name, &websocket.DialOptions{OnPingReceived: pinged})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.CloseNow() })
	return socket
}

func (g *guest) say(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := g.socket.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// hears reports whether the guest receives a message.
func (g *guest) hears(want string) bool {
	for limit := time.After(10 * time.Second); ; {
		select {
		case text := <-g.heard:
			if strings.HasPrefix(text, want) {
				return true
			}
		case <-g.ended:
			return false
		case <-limit:
			return false
		}
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for limit := time.After(10 * time.Second); !holds(); {
		select {
		case <-poll.C:
		case <-limit:
			t.Fatalf("not in 10 s: %s", what)
		}
	}
}

func TestWhatOneSaysAllHear(t *testing.T) {
	_, address, _ := serve(t, quick)
	a, b := visit(t, address, "a"), visit(t, address, "b")
	a.say(t, "hello")
	if !a.hears("a: hello") || !b.hears("a: hello") {
		t.Error("a guest did not receive it")
	}
}

func TestASilentClientThatAnswersPingsStays(t *testing.T) {
	r, address, _ := serve(t, quick)
	g := visit(t, address, "quiet")
	eventually(t, "ten pings", func() bool { return g.pings.Load() >= 10 })
	if n := r.clients.Len(); n != 1 {
		t.Errorf("%d clients are here", n)
	}
	select {
	case err := <-g.ended:
		t.Errorf("it was closed: %v", err)
	default:
	}
}

func TestAClientThatTalksIsNotPinged(t *testing.T) {
	_, address, _ := serve(t, quick)
	g := visit(t, address, "talker")
	word := time.NewTicker(quick.ping / 8)
	defer word.Stop()
	for range 40 { // five times the time after which a silent client gets a ping
		<-word.C
		g.say(t, "and")
	}
	if n := g.pings.Load(); n > 1 { // one, if the machine was busy
		t.Errorf("%d pings", n)
	}
}

func TestAClientThatAnswersNoPingIsDropped(t *testing.T) {
	r, address, _ := serve(t, quick)
	began := time.Now()
	dead := connect(t, address, "dead", nil) // the test does not read from it, so it never answers
	eventually(t, "it is here", func() bool { return r.clients.Len() == 1 })
	eventually(t, "it is dropped", func() bool { return r.clients.Len() == 0 })
	if took, least := time.Since(began), quick.ping*9/10+2*quick.pong; took < least {
		t.Errorf("dropped after %v; a ping and two misses take %v at least", took, least)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var err error
	for err == nil { // the welcome, and then the end
		_, _, err = dead.Read(ctx)
	}
	if ctx.Err() != nil {
		t.Error("its connection was not closed")
	}
}

// More clients than the group has workers stop reading while their sockets are
// full, so that a ping to any of them blocks.
func TestFullSocketsDelayTheOthersPingsByNothing(t *testing.T) {
	c := quick
	c.pong, c.missed = 2*time.Second, 100 // a ping may block for long, and the clients stay for the test
	r, address, _ := serve(t, c)
	const many = 12
	for range many {
		connect(t, address, "stuck", nil)
	}
	eventually(t, "all are here", func() bool { return r.clients.Len() == many })
	var stuck []*client
	for one := range r.clients.All() {
		stuck = append(stuck, one)
	}
	for _, one := range stuck { // until the queue is full, because its writer waits for the network
		polls := 0
		eventually(t, "its socket is full", func() bool {
			polls++
			for len(one.out) < backlog/2 {
				one.hear(strings.Repeat("x", 64<<10))
				polls = 0
			}
			return polls == 20
		})
	}
	g := visit(t, address, "reader")
	began := time.Now()
	eventually(t, "ten pings", func() bool { return g.pings.Load() >= 10 })
	if took := time.Since(began); took > 10*c.ping*2 {
		t.Errorf("ten pings took %v, %v apart when nothing hinders", took, c.ping)
	}
}

func TestADrainSaysGoodbyeToAllSpreadOverATime(t *testing.T) {
	c := quick
	c.spread = 600 * time.Millisecond
	r, address, stop := serve(t, c)
	guests := make([]*guest, 20)
	for i := range guests {
		guests[i] = visit(t, address, "guest")
	}
	guests[0].say(t, "last words")
	for _, g := range guests {
		if !g.hears("guest: last words") {
			t.Fatal("a guest did not receive it")
		}
	}
	began := time.Now()
	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if n := r.clients.Len(); n != 0 {
		t.Errorf("%d clients are left", n)
	}
	first, last := int64(1<<62), int64(0)
	for i, g := range guests {
		if err := <-g.ended; websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("guest %d: %v", i, err)
		}
		at := g.endAt.Load() - began.UnixNano()
		first, last = min(first, at), max(last, at)
	}
	if apart := time.Duration(last - first); apart < c.spread/2 {
		t.Errorf("all left within %v, but the goodbyes should be spread over %v", apart, c.spread)
	}
}

func TestAClientThatAnswersNoGoodbyeDoesNotHoldTheDrain(t *testing.T) {
	c := quick
	c.ping, c.goodbye = time.Hour, 300*time.Millisecond
	r, address, stop := serve(t, c)
	connect(t, address, "dead", nil)
	eventually(t, "it is here", func() bool { return r.clients.Len() == 1 })
	began := time.Now()
	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if took := time.Since(began); took > 4*time.Second { // without the group, the library would wait 5 s
		t.Errorf("the drain took %v", took)
	}
}
