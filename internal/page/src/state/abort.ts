import { effect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { namespace, token } from './session'

// useAbort returns the controller of the calls that the caller makes one after another.
// It is aborted when the caller is no longer shown, and at once when the token or the
// namespace changes: calls that began in one namespace must not go on in another.
export function useAbort(): { current: AbortController } {
  const stop = useRef<AbortController>(null!)
  stop.current ??= new AbortController()
  useEffect(() => {
    const began = [token.peek(), namespace.peek()]
    const end = effect(() => {
      if (token.value !== began[0] || namespace.value !== began[1]) stop.current.abort()
    })
    return () => (end(), stop.current.abort())
  }, [])
  return stop
}
