package task

import (
	"time"

	"github.com/foliot/foliot/internal/task/wallclock"
)

// Millis is wallclock.Millis, under the name that the domain's users know.
type Millis = wallclock.Millis

// CeilMillis is wallclock.CeilMillis.
func CeilMillis(t time.Time) Millis { return wallclock.CeilMillis(t) }

// FloorMillis is wallclock.FloorMillis.
func FloorMillis(t time.Time) Millis { return wallclock.FloorMillis(t) }
