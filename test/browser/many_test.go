package browser

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
)

var (
	many   = flag.Int("many", 0, "the number of tasks of TestThePagesWithManyTasks; 0 skips it")
	images = flag.String("images", "", "a directory for images of all pages, by TestThePagesWithManyTasks")
)

// TestThePagesWithManyTasks prints, for each page, the median times until the first paint
// and until the page shows its data, the slowest of five, and the bytes that were sent. It
// also makes images of all pages in both themes and widths.
func TestThePagesWithManyTasks(t *testing.T) {
	if *many == 0 {
		t.Skip("-many is 0")
	}
	s := newSecured(t)
	receiver := newReceiver(t)
	s.seed(receiver)
	s.seedMany(receiver, *many, 20*time.Second)
	t.Logf("%-12s %12s %12s %12s %10s", "page", "first paint", "data", "slowest", "bytes")
	type timing struct{ Paint, Data, Bytes float64 }
	all := map[string][]timing{}
	for range 5 { // in turn, because the machine has slower moments
		for _, route := range shownRoutes {
			b := open(t, s, s.token, viewports[0], "#/"+route.hash)
			b.ready()
			all[route.name] = append(all[route.name], eval[timing](b, `({
				Paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
				Data: performance.now(),
				Bytes: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].reduce((sum, e) => sum + e.transferSize, 0),
			})`))
			b.end()
		}
	}
	for _, route := range shownRoutes {
		of := all[route.name]
		slices.SortFunc(of, func(a, b timing) int { return cmp.Compare(a.Data, b.Data) })
		t.Logf("%-12s %9.0f ms %9.0f ms %9.0f ms %10.0f", route.name, of[2].Paint, of[2].Data, of[4].Data, of[2].Bytes)
		if of[2].Data > 5000 {
			t.Errorf("%s: a user waits %.0f ms for data", route.name, of[2].Data)
		}
	}
	if *images == "" {
		return
	}
	for _, v := range []viewport{{"dark", 1400}, {"light", 1400}, {"dark", 360}, {"light", 360}} {
		for _, route := range shownRoutes {
			b := open(t, s, s.token, v, "#/"+route.hash)
			b.ready()
			time.Sleep(3 * time.Second) // for live data and rates
			b.image(filepath.Join(*images, fmt.Sprintf("%s-%s-%d.webp", route.name, v.theme, v.width)))
			b.end()
		}
	}
}

// end closes a tab: a browser has only six connections to a server without TLS.
func (b *tab) end() {
	b.expect("status of 404")
	b.check()
	b.close()
}

var shownRoutes = []struct{ name, hash string }{
	{"now", "now"},
	{"upcoming", "upcoming"},
	{"tasks", "tasks?queue=mail"},
	{"task", "task/dead-1"},
	{"schedules", "schedules"},
	{"simulator", "simulator?cron=30+2+*+*+*&timezone=Europe%2FBerlin"},
	{"queues", "queues"},
	{"dead", "dead"},
	{"destinations", "destinations"},
	{"server", "server"},
}

// seedMany imports n tasks of five queues, due after first: some soon, some in a year.
func (s *server) seedMany(receiver string, n int, first time.Duration) {
	s.t.Helper()
	name := filepath.Join(s.t.TempDir(), "tasks.jsonl")
	file, err := os.Create(name)
	noError(s.t, err)
	out := bufio.NewWriter(file)
	random := rand.New(rand.NewPCG(3, 4))
	queues := []string{"mail", "orders", "billing", "reports", "paused"}
	now := time.Now()
	for i := range n {
		due := now.Add(first + time.Duration(random.ExpFloat64()*random.ExpFloat64()*random.ExpFloat64()*float64(4*24*time.Hour)))
		path := "/ok"
		if random.IntN(20) == 0 {
			path = "/fail"
		}
		line, _ := json.Marshal(object{"name": fmt.Sprintf("%s-%07d", queues[i%5], i), "at": due.UTC().Format(time.RFC3339Nano), "queue": queues[i%5], "labels": object{"tenant": fmt.Sprint("t", i%50)}, "http": object{"url": receiver + path}})
		_, _ = out.Write(append(line, '\n'))
	}
	for _, c := range []object{
		{"cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin"}, {"cron": "*/15 * * * *"}, {"every": "90m"}, {"cron": "0 0 1 */3 *", "timezone": "America/New_York"},
	} {
		c["task"] = object{"http": object{"url": receiver + "/ok"}}
		s.must("PUT", fmt.Sprintf("/v1/schedules/report-%d", random.IntN(1000)), c, nil)
	}
	noError(s.t, out.Flush())
	file.Close()
	load := exec.Command(binary, "import", name, "--server", s.url)
	load.Env = append(os.Environ(), "FOLIOT_TOKEN="+s.token)
	if text, err := load.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	} else {
		s.t.Log(strings.TrimSpace(string(text)))
	}
}

// image writes what a user sees first. A window is 900 pixels high.
func (b *tab) image(name string) {
	b.t.Helper()
	quality := int64(70)
	shot := send(b, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
	noError(b.t, os.WriteFile(name, shot.Data, 0o644))
}
