package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// measure runs each benchmark in a process of its own, so that memory and
// goroutines of one do not affect the next. The trials are interleaved: every
// contender has its first before any has its second. The lines of the
// benchmarks go to the file results as soon as they are known.
func measure(ctx context.Context, s *settings, args, results string) (failed int, err error) {
	began, p := time.Now(), s.page
	binary, err := filepath.Abs(filepath.Join("bin", "bench", p.name+".test"))
	if err != nil {
		return 0, err
	}
	if _, err := inBench(ctx, "go", "test", "-c", "-buildvcs=false", "-o", binary, "./"+p.name); err != nil {
		return 0, err
	}
	file, err := os.Create(results)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := io.MultiWriter(file, os.Stdout)
	if err := describe(ctx, out, s, args); err != nil {
		return 0, err
	}
	known := map[string]bool{} // lines of notes, which each process repeats
	for _, x := range p.parts {
		for range s.trials(x) {
			for _, o := range s.trial(ctx, binary, x) {
				if ctx.Err() != nil {
					return failed, errors.New("interrupted")
				}
				if o.failed {
					failed++
				}
				for _, line := range o.lines {
					if !known[line] {
						fmt.Fprintln(out, line) // the file reports errors when it is closed
					}
					known[line] = !strings.HasPrefix(line, "Benchmark")
				}
			}
		}
	}
	fmt.Fprintf(out, "took: %v\ncomplete: %t\n", time.Since(began).Round(time.Second), !s.quick)
	return failed, nil
}

func (s *settings) trials(x part) int {
	if s.quick {
		return 1
	}
	return max(x.trials, 1)
}

// outcome has the lines of one process.
type outcome struct {
	lines  []string
	failed bool
}

// trial runs a part once for each contender.
func (s *settings) trial(ctx context.Context, binary string, x part) []outcome {
	all := make([]outcome, len(s.page.rows))
	var group sync.WaitGroup
	for i, r := range s.page.rows {
		if x.together {
			group.Go(func() { all[i] = s.one(ctx, binary, x, r.name) })
		} else {
			all[i] = s.one(ctx, binary, x, r.name)
		}
	}
	group.Wait()
	return all
}

// one runs one benchmark of one contender. Contenders without this benchmark
// have no lines.
func (s *settings) one(ctx context.Context, binary string, x part, contender string) (o outcome) {
	ctx, cancel := context.WithTimeout(ctx, 12*time.Minute)
	defer cancel()
	length := cmp.Or(x.length, "1x")
	env := append(os.Environ(), "GOGC=100", "GOMEMLIMIT=off", "GODEBUG=")
	if s.quick {
		env = append(env, "BENCH_QUICK=1")
		if x.length != "" {
			length = "10ms"
		}
	}
	cmd := exec.CommandContext(ctx, binary, "-test.run=^$", "-test.bench=^Benchmark"+x.name+"$/^"+regexp.QuoteMeta(contender)+"$", "-test.benchtime="+length)
	cmd.Dir, cmd.Env = filepath.Join("bench", s.page.name), env
	text, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		key, _, isNote := strings.Cut(line, ": ")
		if isResult(line) || isNote && slices.Contains(s.page.notes, key) {
			o.lines = append(o.lines, line)
		}
	}
	if err != nil {
		o.failed = true
		o.lines = append(o.lines, fmt.Sprintf("failed: %s, %s: %s", contender, x.name, reason(text, err)))
	}
	return o
}

// reason returns the first line about a failure in the output of a process.
func reason(text []byte, err error) string {
	for scanner := bufio.NewScanner(bytes.NewReader(text)); scanner.Scan(); {
		line := strings.TrimSpace(scanner.Text())
		if _, message, found := strings.Cut(line, ".go:"); found {
			_, message, _ = strings.Cut(message, ": ")
			return message
		}
		if strings.HasPrefix(line, "panic:") {
			return line
		}
	}
	return err.Error()
}

// describe writes the description of a run that starts now.
func describe(ctx context.Context, out io.Writer, s *settings, args string) error {
	command := "make " + s.page.target
	if args != "" {
		command += " ARGS='" + args + "'"
	}
	commit, err := inBench(ctx, "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return err
	}
	if changes, err := inBench(ctx, "git", "status", "--porcelain", "--", "..", ":!results", ":!../docs"); err != nil || changes != "" {
		commit += ", with changes"
	}
	var versions string
	if len(s.page.modules) > 0 {
		if versions, err = inBench(ctx, "go", append([]string{"list", "-m", "-f", "{{.Path}} {{.Version}}"}, s.page.modules...)...); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "started: %s\ncommand: %s\ncommit: %s\ngo: %s\nmachine: %s\nmodules: %s\n", time.Now().UTC().Format(time.DateOnly), command,
		commit, runtime.Version(), machine(), strings.ReplaceAll(versions, "\n", ", "))
	return err
}

// inBench returns the output of a command that runs in the folder bench.
func inBench(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "bench"
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, args[0], err, errs.String())
	}
	return strings.TrimSpace(string(out)), nil
}

func machine() string {
	return fmt.Sprintf("%s, %d cores, %s, %s", field("/proc/cpuinfo", "model name", ":"), runtime.NumCPU(),
		gibibytes(field("/proc/meminfo", "MemTotal", ":")), strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`))
}

// gibibytes converts a value of /proc/meminfo.
func gibibytes(text string) string {
	var kibibytes float64
	if _, err := fmt.Sscanf(text, "%f kB", &kibibytes); err != nil {
		return text
	}
	return fmt.Sprintf("%.0f GiB", kibibytes/(1<<20))
}

// field returns the value in the first line of a file with the given name.
func field(path, name, separator string) string {
	text, _ := os.ReadFile(path) // without it, the value is unknown
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, separator); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
