// Package cron computes the instants of a calendar rule: an expression such as
// "0 21 * * MON-FRI", a time zone, and policies for days when clocks change.
//
// It is pure: the time is an argument, and it reads only the time zone database
// (LoadZone), which is linked in for machines that have none.
//
// # Expressions
//
// An expression has five fields: minute, hour, day of month, month, day of week.
// If it has six, the first is the second. An expression can also be a word:
// @yearly (@annually), @monthly, @weekly, @daily (@midnight), @hourly, "@every
// 90s".
//
//   - A field is '*' or a list of values, ranges and steps: 1,2,5  1-5  */15
//     10-50/20; 5/15 is 5-59/15. A step is at most as long as its field.
//   - Months and weekdays have names, JAN-DEC and SUN-SAT, in any case. Sunday
//     is 0 and 7. A range of weekday names can cross the end of the week: FRI-MON.
//   - L is the last day of the month and L-3 the third before it, FRIL the last
//     Friday and MON#2 the second Monday of the month.
//   - '?' is '*' in the fields of days.
//   - If both fields of days are given, a day must match one of them, as in
//     Vixie's cron. If one of them begins with '*', a day must match both.
//   - An expression that can never run (30 February) is refused.
//
// # Clocks that change
//
// An expression is fixed if neither its minute nor its hour begins with '*'. It
// names times of the day, and each of these times comes once a day: at the first
// instant at which the clock shows it or a later time. Therefore the times in a
// spring gap run once, together, when the gap ends, and with GapSkip they do not
// run. An hour that is shown twice in autumn counts once, when it is shown first,
// and with OverlapBoth both times.
//
// Any other expression follows elapsed time: it runs at every instant whose clock
// time matches. "*/15 * * * *" runs every quarter of an hour in both of autumn's
// hours. In spring it does not run again for the hour that the clocks leave out,
// because no time elapses in that hour.
//
// Gaps and overlaps have any size: Lord Howe's half hour, midnights that do not
// exist, the 30 December 2011 that Apia left out.
package cron
