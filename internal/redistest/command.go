package redistest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
)

// Command sends one command to the server at addr, on a connection of its own,
// and returns the first line of the reply, or the text of a bulk reply. For
// tests' own management only: the code under test has a real client.
func Command(ctx context.Context, addr string, words ...string) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := conn.Write([]byte(b.String())); err != nil {
		return "", err
	}
	return readReply(bufio.NewReader(conn))
}

func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	var size int
	if n, _ := fmt.Sscanf(line, "$%d", &size); n != 1 || size < 0 {
		return line, nil
	}
	text := make([]byte, size)
	for got := 0; got < size; {
		n, err := r.Read(text[got:])
		if err != nil {
			return "", err
		}
		got += n
	}
	return string(text), nil
}

// containsLine reports whether text, of INFO, has this line.
func containsLine(text, line string) bool {
	for l := range strings.Lines(text) {
		if strings.TrimSpace(l) == line {
			return true
		}
	}
	return false
}
