package idle

// sysGetsockopt is known to Linux 4.3 and later, while package syscall knows only the older way,
// through socketcall.
const sysGetsockopt = 365
