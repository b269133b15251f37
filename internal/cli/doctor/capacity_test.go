package doctor

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// The page about sizes has the table of this command.
func TestTheDocsHaveTheCapacities(t *testing.T) {
	page, err := os.ReadFile("../../../docs/performance.md")
	fatal.If(t, err)
	for day, text := range map[float64]string{1e5: "100 000", 1e6: "1 000 000", 1e7: "10 000 000", 1e8: "100 000 000"} {
		row := "| " + text + " |"
		for _, c := range Capacities(Load{Day: day, Waiting: day / 10, Body: 1000}) {
			texts := c.Texts()
			row += fmt.Sprintf(" %s, %s |", texts[1], texts[2])
		}
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/performance.md lacks the row\n%s", row)
		}
	}
}
