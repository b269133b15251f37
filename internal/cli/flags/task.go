package flags

import (
	"encoding/json"
	"io"
	"os"
	"strings"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

// Task describe a task, except its name and due time.
type Task struct {
	Data   string   `short:"d" xor:"body" placeholder:"BODY" help:"Send this body unchanged; @FILE reads it from a file, @- from standard input."`
	JSON   string   `xor:"body" placeholder:"BODY" help:"Send this body as JSON; @FILE reads it from a file, @- from standard input."`
	Header []string `short:"H" sep:"none" placeholder:"NAME:VALUE" help:"Send this header. Repeat it for more."`
	Method string   `short:"X" placeholder:"METHOD" help:"The request's method (default: POST)."`

	Kind string `placeholder:"KIND" help:"Call the handler of this kind, in place of a URL."`
	Args string `placeholder:"JSON" help:"Pass these arguments to the handler; @FILE reads them from a file, @- from standard input."`

	Queue    string   `placeholder:"NAME" help:"The task's queue (default: default)."`
	Priority string   `placeholder:"high|normal|low" help:"Among due tasks, those of higher priority start first (default: normal)."`
	Label    []string `sep:"none" placeholder:"KEY=VALUE" help:"Label the task. Repeat it for more."`

	Timeout     string  `placeholder:"DURATION" help:"The time limit of one attempt (default: the queue's, or 15s)."`
	ExpireAfter string  `placeholder:"DURATION" help:"Start no attempt later than this after the due time; 0s: no limit (default: the queue's, or no limit)."`
	MaxAttempts *int    `placeholder:"N" help:"Give up after this many attempts; 0: no limit (default: the queue's, or no limit)."`
	MinBackoff  string  `placeholder:"DURATION" help:"Wait at least this long between attempts (default: the queue's, or 1s)."`
	MaxBackoff  string  `placeholder:"DURATION" help:"Wait at most this long between attempts (default: the queue's, or 1h)."`
	MaxAge      string  `placeholder:"DURATION" help:"Give up this long after the first attempt; 0s: no limit (default: the queue's, or 24h)."`
	OnDead      *string `placeholder:"URL" help:"Call this URL, with a task of its own, when the task dies; an empty value: no call (default: the queue's, or no call)."`
}

// Spec returns the task that the flags describe. It calls address, unless the
// flags name a kind.
func (f *Task) Spec(address string, stdin io.Reader) (in client.Spec, err error) {
	if f.Kind == "" {
		in.HTTP, err = f.request(address, stdin)
	} else {
		in.Work, err = f.work(address, stdin)
	}
	if err != nil {
		return in, err
	}
	if err := Merge(&in, f); err != nil {
		return in, err
	}
	if err := Merge(&in.Retry, f); err != nil {
		return in, err
	}
	in.Labels, err = ParseLabels(f.Label)
	return in, err
}

func (f *Task) request(address string, stdin io.Reader) (h client.HTTP, err error) {
	h = client.HTTP{URL: address, Method: f.Method}
	switch {
	case f.Args != "":
		return h, usage.Errorf("--args", "only a handler has arguments: pass --kind; --json sends a body to a URL")
	case address == "":
		return h, usage.Errorf("URL", "it is missing: pass the URL to call, or --kind")
	}
	if h.Headers, err = pairs("--header", "NAME:VALUE", ":", f.Header); err != nil {
		return h, err
	}
	h.Body, err = f.body(stdin)
	return h, err
}

func (f *Task) work(address string, stdin io.Reader) (w client.Work, err error) {
	w.Kind = f.Kind
	switch {
	case address != "":
		return w, usage.Errorf("URL, --kind", "pass only one of them")
	case f.Data != "" || f.JSON != "" || len(f.Header) > 0 || f.Method != "":
		return w, usage.Errorf("--kind", "a handler gets no request: omit --data, --json, --header and --method; --args passes arguments")
	case f.Args == "":
		return w, nil
	}
	data, err := readJSON("--args", f.Args, stdin)
	w.Args = client.JSON(json.RawMessage(data))
	return w, err
}

func (f *Task) body(stdin io.Reader) (client.Body, error) {
	switch {
	case f.JSON != "":
		data, err := readJSON("--json", f.JSON, stdin)
		return client.JSON(json.RawMessage(data)), err
	case f.Data != "":
		data, err := readBody("--data", f.Data, stdin)
		return client.Text(string(data)), err
	}
	return client.Body{}, nil
}

// readJSON is readBody for JSON, which has no byte order mark.
func readJSON(flag, value string, stdin io.Reader) ([]byte, error) {
	data, err := readBody(flag, value, stdin)
	if err != nil {
		return nil, err
	}
	if data, err = usage.Text(data); err != nil {
		return nil, usage.Errorf(flag, "the body cannot be JSON: %v", err)
	}
	return data, nil
}

// readBody returns a body given as text, as @FILE or as @-.
func readBody(flag, value string, stdin io.Reader) ([]byte, error) {
	file, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return []byte(value), nil
	}
	r := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usage.Errorf(flag, "%v", err)
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, task.MaxBody+1))
	switch {
	case err != nil:
		return nil, usage.Errorf(flag, "read the body: %v", err)
	case len(data) > task.MaxBody:
		return nil, usage.Errorf(flag, "the body is longer than %d bytes", task.MaxBody)
	}
	return data, nil
}
