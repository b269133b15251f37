/** The longest delay of setTimeout, in milliseconds. A longer delay would fire at once. */
const longest = 2 ** 31 - 1

/** Calls run after a delay of any length. Infinity: it never calls run. The returned function prevents the call. */
export function after(ms: number, run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>
  const start = (left: number) => {
    timer = setTimeout(() => (left > longest ? start(left - longest) : run()), Math.min(left, longest))
  }
  start(ms)
  return () => clearTimeout(timer)
}
