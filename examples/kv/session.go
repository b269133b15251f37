package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/foliot/foliot/idle"
)

const longest = 1 << 20 // bytes of a line

// session is a connection and its handler.
type session struct {
	*net.TCPConn // the group reads its times from the kernel, and closes it
	watch        idle.Entry
	data         *table
}

// serve answers line by line until the connection ends. It has no code for idle
// connections.
func (s *session) serve() {
	lines := bufio.NewScanner(s)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		reply, last := s.data.answer(lines.Text())
		if _, err := fmt.Fprintln(s, reply); err != nil || last {
			return
		}
	}
}

// table is the data.
type table struct {
	mu     sync.Mutex // guards the fields below
	values map[string]string
}

// answer executes one command, and reports whether it was the session's last.
func (t *table) answer(line string) (reply string, last bool) {
	command, rest, _ := strings.Cut(line, " ")
	key, value, hasValue := strings.Cut(rest, " ")
	t.mu.Lock()
	defer t.mu.Unlock()
	switch command = strings.ToUpper(command); {
	case command == "PING":
		return "PONG", false
	case command == "QUIT":
		return "BYE", true
	case command == "SET" && hasValue:
		t.values[key] = value
		return "OK", false
	case command == "GET" && key != "" && !hasValue:
		value, ok := t.values[key]
		if !ok {
			return "NONE", false
		}
		return "VALUE " + value, false
	case command == "DEL" && key != "" && !hasValue:
		delete(t.values, key)
		return "OK", false
	default:
		return "ERROR use PING, SET key value, GET key, DEL key or QUIT", false
	}
}
