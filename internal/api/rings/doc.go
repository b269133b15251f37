// Package rings divides the future into slots, and counts waiting tasks in them,
// without reading a clock or a store.
//
// A ring is a row of slots of equal length. Rings overlap: one slot of a ring
// spans a whole ring of shorter slots. So that a store visits each task only
// once, the bounds of all slots together divide the future into intervals. A
// counters collects the number of tasks in each interval, and adds up the
// intervals of each slot at the end.
package rings
