package admin

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/wording"
)

// Top is the command foliot top.
type Top struct {
	Once bool `help:"Print the data once and exit."`
}

func (Top) Help() string {
	return `Shows the activity of a server: how late attempts start, the overdue tasks with the reason, and the destinations that are slow or
fail. It shows new data once a second: a terminal redraws until you press Ctrl-C. Other outputs get a block of text each time, or an
object with -o json.

LIMITED BY is the reason why the overdue tasks of a queue wait; foliot get of one of them explains it. BREAKER open means that the
destination has failed repeatedly and gets no requests for a while. Its tasks use no attempts during that time.

Examples:

    foliot top
    foliot top --once -o json | jq '.queues[] | select(.overdue > 0)'`
}

// refresh is the time between two samples. A server takes one each second.
const refresh = time.Second

// Run shows live data until ctx ends. On a terminal it shows errors and goes
// on.
func (c *Top) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	v := &topView{con: con, screen: con.OutTerm && !con.JSON && !c.Once}
	if c.Once {
		live, err := admin.New(api).Live(ctx)
		if err != nil {
			return err
		}
		return v.show(live)
	}
	for {
		live, err := admin.New(api).Live(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (!v.screen || v.live == nil):
			return err
		case err != nil:
			v.draw(con.ErrorText(err) + "\n\n")
		default:
			if err := v.show(live); err != nil {
				return err
			}
		}
		if !console.Pause(ctx, refresh) {
			return nil
		}
	}
}

// topView shows samples on a terminal, or prints a block of text or an object
// for each.
type topView struct {
	con    *console.Console
	screen bool

	live, before *admin.Live // the last two samples; nil: none
}

func (v *topView) show(live *admin.Live) error {
	v.before, v.live = v.live, live
	switch {
	case v.screen:
		v.draw("")
	case v.con.JSON:
		return v.con.Object(live)
	default:
		v.con.Linef("%s", topScreen(live, v.before, 0))
	}
	return nil
}

// clearScreen is the escape sequence that clears a terminal.
const clearScreen = "\x1b[H\x1b[2J"

// draw shows the last sample below a text.
func (v *topView) draw(above string) {
	width, height := 0, 0
	if f, ok := v.con.Out.(*os.File); ok {
		width, height, _ = term.GetSize(int(f.Fd())) // zero means no bound
	}
	lines := strings.Split(above+topScreen(v.live, v.before, height), "\n")
	if height > 0 && len(lines) > height {
		lines = lines[:height]
	}
	for i, line := range lines {
		if runes := []rune(line); width > 0 && len(runes) > width {
			lines[i] = string(runes[:width])
		}
	}
	fmt.Fprint(v.con.Out, clearScreen, wording.PrintableLines(strings.Join(lines, "\n")))
}

// topScreen returns the text of the screen, from the last two results. height
// bounds each table; 0 means no bound.
func topScreen(live, before *admin.Live, height int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "foliot  %s", wording.Instant(live.At))
	if live.Slots > 0 {
		fmt.Fprintf(&b, "   running %d of %d", live.Running, live.Slots)
		fmt.Fprintf(&b, "\nlateness of the last minute: %s over %s\nwaited for receivers, limits and pauses: %s\n",
			wording.Lateness(live.Late), wording.Count(live.Late.Count, "attempt"), wording.Lateness(live.Waited))
		fmt.Fprintf(&b, "attempts: %s\n", topAttempts(live, before))
	} else {
		b.WriteString("\nlateness and attempts are figures of the whole server: only an operator's token can read them\n")
	}
	rows := 0
	if height > 0 {
		rows = max(3, (height-10)/2)
	}
	topTable(&b, rows, "QUEUE\tRUNNING\tOVERDUE\tOLDEST\tLIMITED BY", len(live.Queues), func(i int) string {
		q := live.Queues[i]
		return fmt.Sprintf("%s\t%d\t%d\t%s\t%s", wording.Qualified(q.Namespace, q.Queue), q.Running, q.Overdue, wording.Age(q.Oldest), q.LimitedBy)
	})
	topTable(&b, rows, "DESTINATION\tRUNNING\tOVERDUE\tOLDEST\tBREAKER", len(live.Destinations), func(i int) string {
		d := live.Destinations[i]
		breaker := d.Breaker
		if !d.OpenUntil.IsZero() {
			breaker += " until " + wording.Instant(d.OpenUntil)
		}
		return fmt.Sprintf("%s\t%d\t%d\t%s\t%s", wording.Qualified(d.Namespace, d.Destination), d.Running, d.Overdue, wording.Age(d.Oldest), breaker)
	})
	return b.String()
}

func topAttempts(live, before *admin.Live) string {
	a := live.Attempts
	words := fmt.Sprintf("%d delivered, %d failed, %d snoozed, %d refused; %s dead", a.Delivered, a.Failed, a.Snoozed, a.Refused, wording.Count(a.Dead, "task"))
	if before == nil || a.Delivered < before.Attempts.Delivered {
		return words
	}
	seconds := live.At.Sub(before.At).Seconds()
	if seconds <= 0 {
		return words
	}
	return words + fmt.Sprintf("   (%.0f delivered, %.0f failed a second)",
		float64(a.Delivered-before.Attempts.Delivered)/seconds, float64(a.Failed-before.Attempts.Failed)/seconds)
}

func topTable(w io.Writer, most int, heading string, n int, row func(int) string) {
	if n == 0 {
		return
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, heading)
	shown := n
	if most > 0 {
		shown = min(n, most)
	}
	for i := range shown {
		fmt.Fprintln(tw, wording.PrintableLines(row(i)))
	}
	_ = tw.Flush() // w is in memory and returns no error
	if shown < n {
		fmt.Fprintf(w, "… and %d more\n", n-shown)
	}
}
