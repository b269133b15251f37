package snippets

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/foliot/foliot/idle"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// The code of the document has timeouts of minutes. Here it runs without
// waiting for them.

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// connect returns both ends of a connection through a listener. They are closed
// at the end of the test.
func connect(t *testing.T, l net.Listener) (here, there net.Conn) {
	t.Helper()
	there, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { there.Close() })
	if here, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { here.Close() })
	return here, there
}

func TestWatchedListenersAccept(t *testing.T) {
	for name, l := range map[string]net.Listener{"tcp": listenTCP(listen(t)), "grpc": listenGRPC(listen(t))} {
		here, there := connect(t, l)
		l.Close()
		if _, err := there.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(here, make([]byte, 5)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASessionIsWatchedWhileItIsServed(t *testing.T) {
	l := listen(t)
	defer l.Close()
	here, there := connect(t, l)
	sessions := newSessions()
	ended := serving(sessions, here)
	eventually(t, "it is watched", func() bool { return sessions.Len() == 1 })
	there.Close()
	if err := <-ended; !errors.Is(err, io.EOF) {
		t.Errorf("it ended with %v", err)
	}
	if n := sessions.Len(); n != 0 {
		t.Errorf("%d are watched after the end", n)
	}
}

// serving serves a session. Each command is a line.
func serving(sessions *idle.Group[*session], c net.Conn) <-chan error {
	ended := make(chan error, 1)
	in := bufio.NewReader(c)
	go func() {
		ended <- serveSession(sessions, c, func(net.Conn) (bool, error) {
			line, err := in.ReadString('\n')
			return line == "pong\n", err
		})
	}()
	return ended
}

func TestASessionLearnsThatTheServerLeaves(t *testing.T) {
	l := listen(t)
	here, there := connect(t, l)
	sessions := newSessions()
	ended := serving(sessions, here)
	eventually(t, "it is watched", func() bool { return sessions.Len() == 1 })
	if err := leave(l, sessions); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil || err.Error() != "closed: evicted" {
		t.Errorf("it ended with %v", err)
	}
	if _, err := there.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("its peer sees %v", err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("a connection is still accepted")
	}
	here, _ = connect(t, listen(t))
	if err := <-serving(sessions, here); !errors.Is(err, idle.ErrClosed) {
		t.Errorf("a session begins after the end: %v", err)
	}
}

func TestASessionIsPingedByItsWriter(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	config := heartbeat
	config.PingEvery = 20 * time.Millisecond
	sessions := idle.New(config, judge)
	ended := serving(sessions, here)
	in := bufio.NewReader(there)
	for range 3 {
		if line, err := in.ReadString('\n'); line != "ping\n" {
			t.Fatalf("%q, %v", line, err)
		}
		io.WriteString(there, "pong\n")
	}
	there.Close()
	<-ended
}

func TestARoomThatIsFullLosesTheIdlest(t *testing.T) {
	conns := idle.New(idle.Config{AllIdle: time.Hour}, func(net.Conn, idle.Reason) idle.Verdict { return idle.Close() })
	for range 5 {
		here, there := net.Pipe()
		defer there.Close()
		idle.NewConn(here, conns)
	}
	makeRoom(conns, 10)
	if s := conns.Stats(); s.Queued != 0 || s.Len != 5 {
		t.Errorf("at half: %+v", s)
	}
	makeRoom(conns, 4)
	eventually(t, "one has gone", func() bool { return conns.Stats().Closed.Of(idle.Evicted) == 1 })
	conns.Close()
}

func TestTheKernelCanBeAskedAboutPlainConnections(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reports when a connection was last used")
	}
	l, err := listenPlain(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	here, _ := connect(t, l)
	conns := watchByKernel()
	watch, err := track(conns, here)
	if err != nil {
		t.Fatal(err)
	}
	if !conns.Untrack(watch) {
		t.Error("it was not watched")
	}
}

func TestAWatchedServerAnswers(t *testing.T) {
	l := listen(t)
	server, conns := newServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	client := http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); string(text) != "hello" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if n := conns.Len(); n != 1 {
		t.Errorf("%d connections are watched", n)
	}
	if err := leaveHTTP(l, served, conns, server); err != nil {
		t.Error(err)
	}
}

func TestAGRPCServerOnAWatchedListenerAnswers(t *testing.T) {
	l := listenGRPC(listen(t))
	server := newGRPC()
	healthpb.RegisterHealthServer(server, health.NewServer())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	client, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := healthpb.NewHealthClient(client).Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	client.Close()
	server.Stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestTheHeartbeatFindsTheDeadWithinFiftySeconds(t *testing.T) {
	if all := heartbeat.PingEvery + time.Duration(heartbeat.MaxMissed)*heartbeat.PongWait; all != 50*time.Second {
		t.Errorf("it takes %v", all)
	}
}
