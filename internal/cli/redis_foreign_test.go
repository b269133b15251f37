package cli

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
)

// answering starts a server that answers the first bytes of each connection
// with a text. It returns the address.
func answering(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if _, err := bufio.NewReader(conn).ReadByte(); err == nil {
					_, _ = conn.Write([]byte(text))
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestAPortThatSpeaksAnotherProtocolIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ reply, says string }{
		"HTTP": {"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "an HTTP server"},
		"TLS":  {"\x15\x03\x01\x00\x02\x02\x46", "begin the URL with rediss"},
		"SSH":  {"SSH-2.0-OpenSSH_9.2\r\n", "another program"},
		"none": {"", "the program on that port drops connections"},
	} {
		t.Run(name, func(t *testing.T) {
			at := answering(t, c.reply)
			for _, line := range []string{"serve --listen 127.0.0.1:0 --store redis://" + at, "doctor redis redis://" + at} {
				_, stderr, code := newSession(t).run("", strings.Fields(line)...)
				if code == exit.OK || !strings.Contains(stderr, c.says) || !strings.Contains(stderr, at) {
					t.Errorf("foliot %s ended with %d and printed %q", line, code, stderr)
				}
			}
		})
	}
}
