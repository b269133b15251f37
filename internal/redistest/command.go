package redistest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
)

// Command sends one command to the server at addr, on a new connection. It
// returns the first line of the reply, or the text of a bulk reply. It is only
// for the management of tests: the code under test has a real client.
func Command(ctx context.Context, addr string, words ...string) (string, error) {
	reply, err := exchange(ctx, addr, words...)
	if err != nil {
		return "", err
	}
	line, rest, _ := bytes.Cut(reply, []byte("\r\n"))
	if line[0] == '$' && len(rest) > 1 {
		return string(rest[:len(rest)-2]), nil
	}
	return string(line), nil
}

// Info returns the fields of a server's INFO, such as used_memory.
func Info(ctx context.Context, addr string) (map[string]string, error) {
	text, err := Command(ctx, addr, "INFO", "everything")
	if err != nil {
		return nil, fmt.Errorf("read the INFO of the Redis at %s: %w", addr, err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, nil
}

// exchange returns the unparsed reply to a command.
func exchange(ctx context.Context, addr string, words ...string) ([]byte, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
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
		return nil, err
	}
	return readValue(bufio.NewReader(conn))
}

// containsLine reports whether text, a reply to INFO, has this line.
func containsLine(text, line string) bool {
	for l := range strings.Lines(text) {
		if strings.TrimSpace(l) == line {
			return true
		}
	}
	return false
}
