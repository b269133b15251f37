//go:build unix

package pebblestore

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkProcessorTimeOfLives: tasks are created, claimed and settled, with ahead of them
// waiting. It reports the processor time of a task's whole life, with the
// compactions that follow from it.
func BenchmarkProcessorTimeOfLives(b *testing.B) {
	for _, ahead := range []int64{10_000, 200_000} {
		b.Run(fmt.Sprint("ahead=", ahead), func(b *testing.B) {
			s := openDisk(b, b.TempDir())
			due := func(id int64) task.Millis { return benchStart - 1_000_000_000 + task.Millis(id) }
			const step = 256
			next := int64(0)
			for ; next < ahead; next += step {
				mustApply(b, s, creates(next, step, due))
			}
			b.ReportAllocs()
			b.ResetTimer()
			before := processorTime(b)
			for range b.N {
				mustApply(b, s, creates(next, step, due))
				next += step
				for left := step; left > 0; {
					left -= deliver(b, s, left)
				}
			}
			used := processorTime(b) - before
			b.ReportMetric(float64(used.Microseconds())/float64(b.N*step), "cpu-us/task")
			written := s.db.Metrics()
			b.ReportMetric(float64(written.Total().TableBytesFlushed+written.Total().TableBytesCompacted+written.WAL.BytesWritten)/float64(next), "bytes/task")
		})
	}
}
