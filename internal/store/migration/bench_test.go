package migration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// BenchmarkMigration moves one task: -benchtime 1000000x moves a million in each
// direction.
func BenchmarkMigration(b *testing.B) {
	for _, pair := range strings.Fields("directory-redis redis-directory directory-postgres postgres-directory redis-postgres postgres-redis") {
		b.Run(pair, func(b *testing.B) {
			source, target, _ := strings.Cut(pair, "-")
			m := &Migration{To: kinds[source](b).open(b, asClient), Progress: func(int) {}}
			for n := 0; n < b.N; n += pageSize {
				page := make([]*task.Task, min(pageSize, b.N-n))
				for i := range page {
					page[i] = tasktest.Made(tasktest.Spec(fmt.Sprintf("task-%08d", n+i), now), now)
				}
				fatal.If(b, m.adopt(b.Context(), page))
			}
			m.From, m.To = m.To, kinds[target](b).open(b, asClient)
			b.ResetTimer()
			_, err := m.Run(b.Context())
			fatal.If(b, err)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tasks/s")
		})
	}
}
