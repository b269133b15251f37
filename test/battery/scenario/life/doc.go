// Package life measures the cost of each step of a task's life: processor time,
// bytes written and memory, with the cost of each mechanism without Foliot.
//
//	life.go    the steps
//	baselines.go  the mechanisms without Foliot: HTTP, Pebble, Redis
//	meter.go   the use of resources, before and after a step
//	table.go   the rows, as results and as a table of Markdown
package life
