package browser

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// binary is the path of foliot, built for these tests.
var binary string

// chrome has the browser. Each tab is a child of it.
var chrome context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("FOLIOT_REQUIRE_CHROMIUM") != "" {
			fmt.Fprintln(os.Stderr, "FOLIOT_REQUIRE_CHROMIUM is set, and chromium is not on PATH: install it (apt-get install chromium)")
			return 1
		}
		fmt.Fprintln(os.Stderr, "SKIPPED: chromium is not on PATH, so the web page is not tested: install it (apt-get install chromium)")
		return 0
	}
	for _, v := range os.Environ() { // the servers of the tests refuse unknown variables, and must not get settings
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "FOLIOT_") {
			_ = os.Unsetenv(name)
		}
	}
	dir, err := os.MkdirTemp("", "foliot-browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "foliot")
	build := exec.Command("go", append(buildArgs(), "-buildvcs=false", "-o", binary, "./cmd/foliot")...)
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build foliot: %v\n%s", err, out)
		return 1
	}
	if err := os.Setenv("HOME", dir); err != nil { // the browser writes to it
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(filepath.Join(dir, "profile")))...)
	defer cancel()
	chrome, cancel = chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Do(chrome); err != nil {
		fmt.Fprintln(os.Stderr, "cannot start chromium:", err)
		return 1
	}
	return m.Run()
}

// buildArgs build a server with the race detector, as make check compiles it, unless
// it is measured.
func buildArgs() []string {
	if *viewers > 0 || *many > 0 {
		return []string{"build"}
	}
	return []string{"build", "-race"}
}
