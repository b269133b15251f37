package idle

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

func randomBytes(n int) []byte {
	var seed [32]byte
	copy(seed[:], fmt.Sprint(n))
	b := make([]byte, n)
	_, _ = rand.NewChaCha8(seed).Read(b)
	return b
}

// unjudged returns a wrapped TCP connection that the kernel cannot report on.
func unjudged(c net.Conn) net.Conn {
	w := c.(*wrappedTCP)
	w.judged, w.cutting = false, make(chan struct{}, 1)
	return w
}

func TestATransferBringsEveryByteForAllWrappers(t *testing.T) {
	g := New(Config{AllIdle: time.Hour}, keeping)
	defer g.Close()
	wrap := func(c net.Conn) net.Conn { return NewConn(c, g) }
	ways := map[string]func(net.Conn) net.Conn{
		"bare":     func(c net.Conn) net.Conn { return c },
		"wrapped":  wrap,
		"unjudged": func(c net.Conn) net.Conn { return unjudged(wrap(c)) },
		"twice":    func(c net.Conn) net.Conn { return wrap(wrap(c)) },
	}
	sent := randomBytes(9*piece + 12345)
	for fromName, from := range ways {
		for toName, to := range ways {
			for _, limit := range []int64{-1, 0, 1, piece, piece + 1, 2 * piece, 100 * piece} {
				t.Run(fmt.Sprintf("%s to %s, limit %d", fromName, toName, limit), func(t *testing.T) {
					origin, in := pair(t)
					out, destination := pair(t)
					go func() {
						_, _ = origin.Write(sent)
						origin.CloseWrite()
					}()
					received := make(chan []byte)
					go func() {
						got, _ := io.ReadAll(destination)
						received <- got
					}()
					source, sink := from(in), to(out)
					want := sent
					var n int64
					var err error
					if limit < 0 {
						n, err = io.Copy(sink, source)
					} else {
						limited := &io.LimitedReader{R: source, N: limit}
						n, err = io.Copy(sink, limited)
						want = sent[:min(limit, int64(len(sent)))]
						if left := limit - int64(len(want)); limited.N != left {
							t.Errorf("%d left of the limit, not %d", limited.N, left)
						}
					}
					sink.Close()
					source.Close()
					if got := <-received; n != int64(len(want)) || err != nil || sha256.Sum256(got) != sha256.Sum256(want) {
						t.Errorf("copied %d of %d, %v; %d arrived", n, len(want), err, len(got))
					}
				})
			}
		}
	}
	if g.Len() != 0 {
		t.Errorf("%d are still tracked", g.Len())
	}
}

func TestFilesAndOtherReadersAndWritersAreServed(t *testing.T) {
	g := New(Config{AllIdle: time.Hour}, keeping)
	defer g.Close()
	content := randomBytes(9*piece + 99)
	name := filepath.Join(t.TempDir(), "content")
	fatal.If(t, os.WriteFile(name, content, 0o600))
	for _, judged := range []bool{true, false} {
		for what, source := range map[string]func() io.Reader{
			"file":   func() io.Reader { return opened(t, name) },
			"memory": func() io.Reader { return bytes.NewReader(content) },
			"limit":  func() io.Reader { return io.LimitReader(opened(t, name), int64(len(content))) },
			"plain":  func() io.Reader { return readerOnly{opened(t, name)} },
		} {
			here, there := pair(t)
			sender, receiver := NewConn(here, g), NewConn(there, g)
			if !judged {
				sender, receiver = unjudged(sender), unjudged(receiver)
			}
			copyName := filepath.Join(t.TempDir(), "copy")
			sink, err := os.Create(copyName)
			fatal.If(t, err)
			arrived := make(chan error)
			go func() {
				_, err := io.Copy(sink, receiver)
				arrived <- err
			}()
			if n, err := io.Copy(sender, source()); n != int64(len(content)) || err != nil {
				t.Errorf("%s: %d bytes, %v", what, n, err)
			}
			sender.Close()
			if err := <-arrived; err != nil {
				t.Error(err)
			}
			sink.Close()
			receiver.Close()
			if got, err := os.ReadFile(copyName); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s, judged %v: %d bytes arrived, %v", what, judged, len(got), err)
			}
		}
	}
}

func opened(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	fatal.If(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestTheEndOfATransferIsAUse(t *testing.T) {
	g := New(Config{AllIdle: Never, Resolution: time.Millisecond}, keeping)
	defer g.Close()
	for _, judged := range []bool{true, false} {
		origin, in := pair(t)
		out, _ := pair(t)
		source, sink := NewConn(in, g).(*wrappedTCP), NewConn(out, g).(*wrappedTCP)
		if !judged {
			source, sink = unjudged(source).(*wrappedTCP), unjudged(sink).(*wrappedTCP)
		}
		began := g.clock.now.Load()
		await(t, "the steps go on", func() bool { return g.clock.now.Load() > began })
		fatal.If(t, errOf(origin.Write([]byte("x"))))
		if n, err := io.CopyN(sink, source, 1); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if read, write := source.read.Load(), sink.write.Load(); read <= began || write <= began {
			t.Errorf("judged %v: read in step %d, written in step %d, begun in step %d", judged, read, write, began)
		}
		source.Close()
		sink.Close()
	}
}

func TestATransferReportsThatTheGroupEndedIt(t *testing.T) {
	for _, judged := range []bool{true, false} {
		g := New(Config{AllIdle: Never, Resolution: time.Millisecond}, closingConns)
		here, _ := pair(t)
		c := NewConn(here, g)
		if !judged {
			c = unjudged(c)
		}
		done := make(chan error)
		bare, _ := pair(t)
		go func() {
			_, err := io.Copy(bare, c)
			done <- err
		}()
		w := c.(*wrappedTCP)
		await(t, "the transfer began", func() bool { return w.use.word.Load() != 0 || w.state.Load() != 0 })
		await(t, "it is evicted", func() bool { // a connection that is used just then is spared
			g.EvictIdlest(1)
			return g.Len() == 0
		})
		if err := <-done; !isExpired(err) {
			t.Error(err)
		}
		for _, transfer := range []func() (int64, error){
			func() (int64, error) { return w.ReadFrom(bytes.NewReader([]byte("x"))) },
			func() (int64, error) { return w.ReadFrom(opened(t, os.Args[0])) },
			func() (int64, error) { return w.WriteTo(io.Discard) },
			func() (int64, error) { other, _ := pair(t); return w.WriteTo(other) },
		} {
			if n, err := transfer(); n != 0 || !isExpired(err) {
				t.Errorf("%d bytes, %v", n, err)
			}
		}
		c.Close()
	}
}
