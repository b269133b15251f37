package cli

import (
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
)

// Every line of the log has the format of the log, whatever a receiver sends.
func TestUnsolicitedDataOfAReceiverBreaksNoLineOfTheLog(t *testing.T) {
	l, err := net.Listen("tcp", anyPort)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4<<10)) // an error does not matter: the reply is the same
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 Unasked\r\n\r\n")
			conn.Close()
		}
	}()
	p := serveProcess(t, "--listen", anyPort, "--store", "memory:", "--log-format", "json", "--log-level", "debug")
	p.must("add", "http://"+l.Addr().String(), "--in", "0s", "--wait")
	p.must("add", "http://"+l.Addr().String(), "--in", "0s", "--wait") // must not use the first connection
	p.signal(terminate)
	_, log := p.exit()
	for line := range strings.Lines(log) {
		var entry struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || strings.Contains(entry.Msg, "Unasked") {
			t.Errorf("the log has the line %q: %v", line, err)
		}
	}
}
