package idle

// sysGetsockopt is known to Linux 4.3 and later. Package syscall knows the older way alone, through socketcall.
const sysGetsockopt = 365
