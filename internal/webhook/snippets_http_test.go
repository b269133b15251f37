package webhook

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
)

// A server decides which bytes reach verify: it joins headers, and may have
// parsed the body. So the snippets also run behind real servers, which reply
// with the data that they would use. All trusted data must be signed data, and
// nothing else.
func TestReceiversBehindRealServersTrustOnlySignedData(t *testing.T) {
	for _, c := range []struct {
		harnessed
		readsNoChunks bool
	}{
		{harnessed{"php", [2]string{"verify.php", "server.php"}, nil, []string{"php", "-S", "127.0.0.1:PORT", "server.php"}}, false},
		{harnessed{"ts", [2]string{"verify.mjs", "server.mjs"}, typesOf, []string{"node", "server.mjs"}}, false},
		{harnessed{"python", [2]string{"verify.py", "server.py"}, nil, []string{"python3", "server.py"}}, true},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			if c.language != "python" {
				quick.Leave(t, "starts a large interpreter")
			}
			dir, _ := c.write(t)
			addr := serveSnippet(t, dir, c.command)
			for _, r := range rawCalls(time.Now()) {
				if c.readsNoChunks && strings.Contains(r.text, "chunked") {
					continue
				}
				r.check(t, addr)
			}
		})
	}
}

// serveSnippet starts a server and returns its address when it accepts
// connections.
func serveSnippet(t *testing.T, dir string, command []string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	l.Close()
	args := strings.Fields(strings.ReplaceAll(strings.Join(command, " "), "PORT", port))
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SECRET="+older, "PORT="+port)
	fatal.If(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(20 * time.Second); ; {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			conn.Close()
			return addr
		}
		if time.Now().After(end) {
			t.Fatalf("%v does not listen: %v", args, err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// rawCall is a request as it is written to the connection.
type rawCall struct {
	name, text string
	signed     string // the body that was signed for callID
	trusted    bool   // verify must trust it; if false, verify must not trust it unless it was signed
}

// check sends the request and checks the reply.
func (r *rawCall) check(t *testing.T, addr string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	fatal.If(t, err)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, r.text); err != nil {
		t.Logf("%s: %v", r.name, err) // the server may refuse it before it has read everything
	}
	reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		if r.trusted {
			t.Errorf("%s: no answer: %v", r.name, err)
		}
		return
	}
	defer reply.Body.Close()
	body, _ := io.ReadAll(reply.Body)
	switch {
	case reply.StatusCode >= 500:
		t.Errorf("%s: it answers %d: %s", r.name, reply.StatusCode, body)
	case reply.StatusCode == http.StatusOK:
		var used struct {
			ID, Body string
			Form     int
		}
		if err := json.Unmarshal(body, &used); err != nil {
			t.Fatalf("%s: %v: %s", r.name, err, body)
		}
		bytes, _ := base64.StdEncoding.DecodeString(used.Body)
		if used.ID != callID || string(bytes) != r.signed || used.Form != 0 && r.signed == "" {
			t.Errorf("%s: it trusts the id %q, the body %q and a form of %d fields", r.name, used.ID, bytes, used.Form)
		}
	case r.trusted:
		t.Errorf("%s: it answers %d: %s", r.name, reply.StatusCode, body)
	}
}

func rawCalls(now time.Time) (list []rawCall) {
	const form = "--x\r\nContent-Disposition: form-data; name=\"pay\"\r\n\r\n100\r\n--x--\r\n"
	head := func(body string) string {
		return fmt.Sprintf("webhook-id: %s\r\nwebhook-timestamp: %d\r\nwebhook-signature: %s\r\n", callID, now.Unix(), sign([]string{older}, callID, now, body))
	}
	add := func(name, method, signed string, trusted bool, headers, body string) {
		list = append(list, rawCall{name, method + " /hook HTTP/1.1\r\nHost: receiver\r\nConnection: close\r\n" + headers + "\r\n" + body, signed, trusted})
	}
	length := func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n", len(body)) }
	chunks := func(body string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body) }
	const chunked, multipart, encoded = "Transfer-Encoding: chunked\r\n", "Content-Type: multipart/form-data; boundary=x\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"
	const text = `{"order":42}`

	add("JSON", "POST", text, true, head(text)+"Content-Type: application/json\r\n"+length(text), text)
	add("JSON, by PUT", "PUT", text, true, head(text)+"Content-Type: application/json\r\n"+length(text), text)
	add("without a content type", "POST", text, true, head(text)+length(text), text)
	add("GET without a body", "GET", "", true, head(""), "")
	add("POST of length 0", "POST", "", true, head("")+length(""), "")
	add("POST of length 0 and a type", "POST", "", true, head("")+length("")+"Content-Type: application/json\r\n", "")
	add("nothing signed", "POST", "", false, length(form)+multipart, form)
	add("another body", "POST", "", false, head("")+length(text), text)
	add("GET with a body", "GET", "", false, head("")+length(text), text)
	// The form is not signed: an attacker adds it to a callback without a body.
	add("multipart", "POST", "", false, head("")+multipart+length(form), form)
	add("multipart in capitals", "POST", "", false, head("")+strings.ToUpper(multipart[:34])+multipart[34:]+length(form), form)
	add("multipart in chunks", "POST", "", false, head("")+multipart+chunked, chunks(form))
	add("multipart behind a parameter", "POST", "", false, head("")+"Content-Type: multipart/form-data,text/plain; boundary=x\r\n"+length(form), form)
	add("multipart and another type", "POST", "", false, head("")+multipart+"Content-Type: application/json\r\n"+length(form), form)
	add("another type and multipart", "POST", "", false, head("")+"Content-Type: application/json\r\n"+multipart+length(form), form)
	add("multipart, and a length of 0", "POST", "", false, head("")+multipart+"Content-Length: 0\r\n", form)
	add("multipart with two lengths", "POST", "", false, head("")+multipart+"Content-Length: 0\r\n"+length(form), form)
	add("multipart in chunks and with a length", "POST", "", false, head("")+multipart+"Content-Length: 0\r\n"+chunked, chunks(form))
	add("an encoded form", "POST", "", false, head("")+encoded+length("pay=100"), "pay=100")
	add("an encoded form in chunks", "POST", "", false, head("")+encoded+chunked, chunks("pay=100"))
	// Headers that occur twice: the program uses the verified one.
	const evil = "webhook-id: evil\r\n"
	add("another id behind it", "POST", text, false, head(text)+evil+length(text), text)
	add("another id before it", "POST", text, false, evil+head(text)+length(text), text)
	add("another id with an underscore", "POST", text, false, head(text)+"webhook_id: evil\r\n"+length(text), text)
	add("two times", "POST", text, false, head(text)+"webhook-timestamp: 1\r\n"+length(text), text)
	add("two signatures", "POST", text, false, head(text)+"webhook-signature: v1,AAAA\r\n"+length(text), text)
	add("no id", "POST", "", false, strings.Replace(head(""), "webhook-id", "x", 1)+length(""), "")
	add("no time", "POST", "", false, strings.Replace(head(""), "webhook-timestamp", "x", 1)+length(""), "")
	add("no signature", "POST", "", false, strings.Replace(head(""), "webhook-signature", "x", 1)+length(""), "")
	add("headers that are not UTF-8", "POST", "", false, "webhook-id: \xff\xfe\r\nwebhook-timestamp: \xff\r\nwebhook-signature: v1,\xff\xfe\r\n"+length(""), "")
	add("a huge signature", "POST", "", false, "webhook-id: x\r\nwebhook-timestamp: "+fmt.Sprint(now.Unix())+"\r\nwebhook-signature: "+strings.Repeat("v1,AAAA ", 1500)+"\r\n"+length(""), "")
	return list
}
