package cli

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest"
)

// redisNode starts a server with a Redis as its store.
func redisNode(t *testing.T, url string, more ...string) *process {
	t.Helper()
	return serveHere(t, append([]string{"--listen", anyPort, "--store", url}, more...)...)
}

// tell sends a command that Redis must accept.
func tell(t *testing.T, addr string, words ...string) {
	t.Helper()
	if reply, err := redistest.Command(t.Context(), addr, words...); err != nil || strings.HasPrefix(reply, "-") {
		t.Fatal(reply, err)
	}
}

func TestTasksInRedisOutliveTheServer(t *testing.T) {
	quick.Leave(t, "starts several servers")
	r, hook := redistest.New(t), servertest.NewReceiver(t)
	hook.Release()
	url := "redis://" + r.Addr
	p := redisNode(t, url)
	p.must("add", hook.URL, "--in", "300ms", "--name", "soon")
	p.must("add", hook.URL, "--in", "1500ms", "--name", "later")
	p.must("add", hook.URL, "--in", "1s", "--name", "cancelled")
	p.must("add", hook.URL, "--in", "1h", "--name", "far")
	p.must("cancel", "cancelled")
	if name := hook.Next(t); name != "soon" {
		t.Errorf("%q arrived", name)
	}
	shows(t, p.must("get", "soon", "--wait", "-o", "json"), `"delivered"`)
	if got := p.task("soon"); len(got.Attempts) != 1 || got.Attempts[0].LateMS < 0 || got.Attempts[0].LateMS > 2000 {
		t.Errorf("soon has the attempts %+v", got.Attempts)
	}
	p.signal(terminate)
	if code, log := p.exit(); code != exit.OK {
		t.Fatalf("it ended with %d:\n%s", code, log)
	}

	p = redisNode(t, url)
	if name := hook.Next(t); name != "later" {
		t.Errorf("%q arrived", name)
	}
	for name, state := range map[string]string{"soon": "delivered", "cancelled": "cancelled", "far": "scheduled"} {
		if got := p.task(name); got.State != state {
			t.Errorf("%s is %s, want %s", name, got.State, state)
		}
	}
}

func TestAServerThatStopsPassesItsTasksToTheOtherAtOnce(t *testing.T) {
	quick.Leave(t, "starts several servers")
	r, hook := redistest.New(t), servertest.NewReceiver(t)
	hook.Release()
	url := "redis://" + r.Addr
	servers := []*process{redisNode(t, url), redisNode(t, url)}
	const tasks = 40
	for i := range tasks {
		servers[i%2].must("add", hook.URL, "--in", fmt.Sprintf("%dms", 200+i*50), "--name", fmt.Sprint(i))
	}
	servers[0].signal(terminate)
	if code, log := servers[0].exit(); code != exit.OK {
		t.Fatalf("it ended with %d:\n%s", code, log)
	}
	seen := map[string]int{}
	for range tasks {
		seen[hook.Next(t)]++
	}
	var latest float64
	for i := range tasks {
		if seen[fmt.Sprint(i)] != 1 {
			t.Errorf("%d was delivered %d times", i, seen[fmt.Sprint(i)])
		}
		servers[1].must("get", fmt.Sprint(i), "--wait")
		latest = max(latest, servers[1].task(fmt.Sprint(i)).Attempts[0].LateMS)
	}
	if t.Log("the latest was late by", latest, "ms"); latest > 3000 { // half of a lease
		t.Errorf("one was late by %v ms", latest)
	}
}

// When the lease of a killed server has ended, its attempts are repeated.
func TestAnAttemptOfAKilledServerIsRepeatedOnRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the end of a lease")
	}
	t.Parallel()
	r, hook := redistest.New(t), servertest.NewReceiver(t)
	p := serveProcess(t, "--listen", anyPort, "--store", "redis://"+r.Addr)
	p.must("add", hook.URL, "--in", "0s", "--name", "begun")
	hook.Next(t)
	p.kill()
	hook.Release()
	redisNode(t, "redis://"+r.Addr)
	if name := hook.Next(t); name != "begun" {
		t.Errorf("%q arrived", name)
	}
}

func TestTheServerGoesOnWhenRedisComesBack(t *testing.T) {
	quick.Leave(t, "waits for an outage")
	r, hook := redistest.New(t, "--appendfsync", "always"), servertest.NewReceiver(t)
	hook.Release()
	p := redisNode(t, "redis://"+r.Addr)
	p.must("add", hook.URL, "--in", "1s", "--name", "a")
	r.Kill()
	if _, errs, code := p.foliot("add", hook.URL, "--in", "1h", "--name", "b"); code == exit.OK {
		t.Error("a task was taken while there was no Redis", errs)
	}
	began := time.Now()
	if _, errs, code := p.foliot("ls"); code == exit.OK || time.Since(began) > servertest.Patience {
		t.Errorf("after %v it listed tasks while there was no Redis: %s", time.Since(began), errs)
	}
	fatal.If(t, r.Restart())
	if name := hook.Next(t); name != "a" {
		t.Errorf("%q arrived", name)
	}
	p.must("add", hook.URL, "--in", "0s", "--name", "c")
	if name := hook.Next(t); name != "c" {
		t.Errorf("%q arrived", name)
	}
}

// refusedStore runs serve with a store that it must refuse, and returns its
// output.
func refusedStore(t *testing.T, url string) string {
	t.Helper()
	out, errs, code := (&session{t: t}).runBare("serve", "--listen", anyPort, "--store", url)
	if out += errs; code == exit.OK {
		t.Errorf("it started: %s", out)
	}
	if strings.Contains(out, "sesame") {
		t.Errorf("it prints the password: %s", out)
	}
	return out
}

func TestARedisThatCannotBeUsedIsReportedWithARemedy(t *testing.T) {
	t.Parallel()
	open := redistest.New(t)
	clustered := redistest.New(t, "--cluster-enabled", "yes")
	closed := redistest.New(t)
	for _, words := range [][]string{
		{"ACL", "SETUSER", "foliot", "on", ">open", "~foliot:*", "&foliot:*", "+@all", "-@admin", "-@dangerous"},
		{"ACL", "SETUSER", "weak", "on", ">open", "~*", "+hello", "+ping"},
		{"CONFIG", "SET", "requirepass", "open"},
	} {
		tell(t, closed.Addr, words...)
	}
	for url, says := range map[string]string{
		"redis://u:sesame@127.0.0.1:1":                    "check that it runs, that the address is correct",
		"redis://:sesame@host.invalid":                    "check that it runs, that the address is correct",
		"redis+cluster://:sesame@127.0.0.1:1,127.0.0.1:2": "check that it runs, that the address is correct",
		"redis+sentinel://:sesame@127.0.0.1:1/m":          "check that it runs, that the address is correct",
		"redis://:sesame@" + closed.Addr:                  "pass a valid user and password",
		"redis://foliot:sesame@" + closed.Addr:            "pass a valid user and password",
		"redis://" + closed.Addr:                          "pass a valid user and password",
		"redis://weak:open@" + closed.Addr:                "its user lacks a permission; docs/redis.md",
		"redis+cluster://" + open.Addr:                    "this is not a Cluster; use redis://" + open.Addr,
		"redis+sentinel://" + open.Addr + "/m":            "this is a Redis, not a Sentinel; pass the addresses of its Sentinels, usually at port 26379, or, if it has none, use redis://" + open.Addr,
		"redis://" + clustered.Addr:                       "the server belongs to a Cluster: use redis+cluster://" + clustered.Addr,
		"rediss://" + open.Addr:                           "without TLS, begin the URL with redis instead of rediss",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel() // some wait for a timeout
			shows(t, refusedStore(t, url), says)
		})
	}
}

// In one long line, users would overlook reasons.
func TestEachReasonToRefuseARedisHasALine(t *testing.T) {
	t.Parallel()
	r := redistest.New(t, "--maxmemory-policy", "allkeys-lru", "--appendonly", "no")
	lines := strings.Split(strings.TrimSpace(refusedStore(t, "redis://"+r.Addr)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "noeviction") || !strings.Contains(lines[1], "appendonly yes") {
		t.Errorf("%q", lines)
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "foliot: open the store at redis://"+r.Addr+": the Redis is not fit for tasks: ") {
			t.Errorf("%q", line)
		}
	}
}

func TestSentinelsAreAskedForTheMaster(t *testing.T) {
	t.Parallel()
	s := redistest.NewSentinels(t)
	url := "redis+sentinel://" + s.Sentinels[0].Addr + "," + s.Sentinels[1].Addr + "/" + redistest.MasterName
	p := redisNode(t, url)
	p.must("add", "http://127.0.0.1:9/", "--in", "1h", "--name", "a")
	if size, err := redistest.Command(t.Context(), s.Servers[0].Addr, "DBSIZE"); err != nil || size == ":0" {
		t.Errorf("the master has %s keys, %v", size, err)
	}
	shows(t, refusedStore(t, "redis://"+s.Sentinels[0].Addr), "the server is a sentinel: use redis+sentinel://"+s.Sentinels[0].Addr+"/MASTER")
}

func TestOneServerOfAClusterIsEnoughToNameIt(t *testing.T) {
	t.Parallel()
	c, hook := redistest.NewCluster(t, 3, 0), servertest.NewReceiver(t)
	hook.Release()
	p := redisNode(t, "redis+cluster://"+c.Addrs()[0])
	for i := range 10 {
		p.must("add", hook.URL, "--in", "100ms", "--name", fmt.Sprint(i))
	}
	for range 10 {
		hook.Next(t)
	}
}

func TestRedisIsUsedOverTLSAsAnACLUser(t *testing.T) {
	a := servertest.NewAuthority(t)
	f := a.Files(servertest.InAYear())
	ca := filepath.Join(t.TempDir(), "ca.pem")
	servertest.WriteFile(t, ca, servertest.PEM("CERTIFICATE", a.Cert.Raw))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	r := redistest.New(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", f.Cert, "--tls-key-file", f.Key, "--tls-ca-cert-file", ca, "--tls-auth-clients", "yes")
	rule := strings.Fields(aclRule(t))
	tell(t, r.Addr, rule...)
	addr := "127.0.0.1:" + strconv.Itoa(port)
	store := fmt.Sprintf("rediss://foliot:PASSWORD@%s?ca=%s&cert=%s&key=%s", addr, ca, f.Cert, f.Key)
	hook := servertest.NewReceiver(t)
	hook.Release()
	p := redisNode(t, store)
	p.must("add", hook.URL, "--in", "0s", "--name", "a")
	if name := hook.Next(t); name != "a" {
		t.Errorf("%q arrived", name)
	}
	servertest.Eventually(t, "it listens to the others", func() bool {
		channels, _ := redistest.Command(t.Context(), r.Addr, "PUBSUB", "SHARDCHANNELS", "foliot:*")
		return strings.HasPrefix(channels, "*") && channels != "*0"
	})
	p.must("ls")
	p.must("queue", "set", "q", "--rate", "10")
	p.must("audit")
	if denied, err := redistest.Command(t.Context(), r.Addr, "ACL", "LOG"); denied != "*0" {
		t.Errorf("the user lacks rights: ACL LOG has %s entries, %v", denied, err)
	}
	shows(t, refusedStore(t, "rediss://"+addr), "pass the authority's certificate as ca=FILE")
	shows(t, refusedStore(t, "redis://"+addr), "if it is a Redis with TLS")
}

// aclRule returns the ACL rule that docs/redis.md recommends.
func aclRule(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/redis.md")
	fatal.If(t, err)
	for line := range strings.Lines(string(text)) {
		if at := strings.Index(line, "ACL SETUSER foliot "); at >= 0 {
			return strings.Trim(strings.TrimSpace(line[at:]), "'`")
		}
	}
	t.Fatal("docs/redis.md has no rule")
	return ""
}

func TestFeaturesOfADirectoryAreMissingOnRedis(t *testing.T) {
	p := redisNode(t, "redis://"+redistest.New(t).Addr)
	file := filepath.Join(t.TempDir(), "backup.tar")
	wants(t, exit.Failure, "back up Redis; foliot export")(p.foliot("backup", file))
	reply, err := http.Get(p.url + "/metrics")
	fatal.If(t, err)
	defer reply.Body.Close()
	metrics, _ := io.ReadAll(reply.Body)
	for _, name := range []string{"foliot_sync_", "foliot_disk_", "foliot_store_bytes"} {
		if strings.Contains(string(metrics), name) {
			t.Errorf("there are metrics %s", name)
		}
	}
	if !strings.Contains(string(metrics), "foliot_scrubs_total") {
		t.Error("there are no metrics of scrubs")
	}
	if out, _, _ := p.foliot("doctor"); !strings.Contains(out, "confirmed changes are in Redis") {
		t.Errorf("doctor says %s", out)
	}
}

func TestARedisIsNotADirectory(t *testing.T) {
	const url = "redis://:sesame@127.0.0.1:6379"
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"serve", "--data", url}, {"restore", "backup.tar", "--data", url}, {"doctor", "data", url}, {"token", "create", "--data", url},
	} {
		out, errs, code := newSession(t).runBare(args...)
		if code != exit.Usage || !strings.Contains(errs, "only foliot serve --store and foliot doctor redis accept one") || strings.Contains(out+errs, "sesame") {
			t.Errorf("%v ended with %d: %s%s", args, code, out, errs)
		}
	}
	if left, _ := os.ReadDir("."); len(left) > 0 {
		t.Errorf("it made %v", left)
	}
}

func TestThePasswordOfAStoreIsNotShown(t *testing.T) {
	t.Setenv("FOLIOT_STORE", "redis+cluster://foliot:sesame@a:7000,b:7001")
	for _, args := range [][]string{{"config"}, {"config", "-o", "json"}} {
		out, errs, code := newSession(t).runBare(args...)
		if code != exit.OK || strings.Contains(out+errs, "sesame") {
			t.Errorf("%v ended with %d: %s%s", args, code, out, errs)
		}
	}
	t.Setenv("FOLIOT_STORE", "redis+cluster://foliot:ses/ame@a:7000,b:7001")
	if out, errs, code := newSession(t).runBare("config"); code != exit.Usage || !strings.Contains(errs, "(environment FOLIOT_STORE)") || strings.Contains(out+errs, "ame") && !strings.Contains(errs, "%2F") {
		t.Errorf("it ended with %d: %s%s", code, out, errs)
	}
	t.Setenv("FOLIOT_STORE", "redis+cluster://a:7000,b:7001")
	if out, _, _ := newSession(t).runBare("config"); keyLine(out, "store") != "store: redis+cluster://a:7000,b:7001  # environment FOLIOT_STORE" {
		t.Errorf("config prints %q", keyLine(out, "store"))
	}
}

func TestALossIsAcceptedByACommandAndByNothingElse(t *testing.T) {
	r, s := redistest.New(t), newSession(t)
	url := "redis://" + r.Addr
	accept := func(want int, part string, args ...string) {
		t.Helper()
		stdout, stderr, code := s.runBare(append([]string{"redis", "accept-loss", url}, args...)...)
		if code != want || !strings.Contains(stdout+stderr, part) {
			t.Errorf("accept-loss %v: %d, without %q:\n%s%s", args, code, part, stdout, stderr)
		}
	}
	accept(exit.OK, "no loss to accept")
	if keys, err := redistest.Command(t.Context(), r.Addr, "DBSIZE"); keys != ":0" {
		t.Error("it has left something there:", keys, err)
	}
	redisNode(t, url, "--shards", "16")
	accept(exit.OK, "is complete")
	tell(t, r.Addr, "DEL", "foliot:meta")
	stdout, _, code := s.runBare("doctor", "redis", url)
	if code != exit.Failure || !strings.Contains(stdout, "BAD  identity") || !strings.Contains(stdout, "foliot redis accept-loss") {
		t.Errorf("doctor: %d\n%s", code, stdout)
	}
	accept(exit.Usage, "--yes")
	accept(exit.OK, "restart every server", "--yes")
	stdout, _, code = s.runBare("doctor", "redis", url)
	if code != exit.OK || !strings.Contains(stdout, "ok   identity") || !strings.Contains(stdout, "16 shards") {
		t.Errorf("doctor: %d\n%s", code, stdout)
	}
	accept(exit.OK, "is complete", "-o", "text")
}

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
