package traces_test

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/traces"
)

func TestASpanOfAHandlerIsLinkedToTheSpanThatCreatedItsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := tracetest.NewSpanRecorder()
		provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(ended))
		work := foliot.NewKind[string]("work")
		mux := new(foliot.Mux)
		var inside trace.SpanContext
		work.Handle(mux, func(ctx context.Context, task *foliot.Task[string]) error {
			if inside = trace.SpanContextFromContext(ctx); task.Attempt == 1 {
				return errors.New("later")
			}
			return nil
		})
		n := foliottest.StartWith(t, mux, foliot.Options{Tracer: traces.New(provider), Logger: slog.New(slog.DiscardHandler)})
		ctx, click := provider.Tracer("shop").Start(t.Context(), "click")
		_, err := work.In(ctx, n, "a", time.Hour, "")
		fatal.If(t, err)
		click.End()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		_, err = work.In(t.Context(), n, "b", 0, "")
		fatal.If(t, err)
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()

		spans := ended.Ended()
		if len(spans) != 4 {
			t.Fatalf("%d spans", len(spans))
		}
		for i, s := range spans[1:3] {
			links := s.Links()
			if s.Name() != "work" || s.Parent().IsValid() || len(links) != 1 || links[0].SpanContext.SpanID() != click.SpanContext().SpanID() || links[0].SpanContext.TraceID() != click.SpanContext().TraceID() {
				t.Errorf("attempt %d: %+v", i+1, s)
			}
		}
		if first, second := spans[1].Status(), spans[2].Status(); first.Code != codes.Error || first.Description != "later" || second.Code != codes.Unset {
			t.Errorf("%+v, %+v", first, second)
		}
		if b := spans[3]; len(b.Links()) != 0 || b.SpanContext().SpanID() != inside.SpanID() {
			t.Errorf("a task without a creator: %+v", b)
		}
	})
}

func TestATracerLinksNoExporter(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-buildvcs=false", "-deps", ".").Output()
	fatal.If(t, err)
	for path := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(path, "go.opentelemetry.io/otel/sdk") || strings.HasPrefix(path, "go.opentelemetry.io/otel/exporters") || strings.Contains(path, "protobuf") {
			t.Errorf("it links %s", path)
		}
	}
}
