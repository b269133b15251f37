// reasonText says in a sentence why tasks with a reason died, with the remedy.
export const reasonText: Record<string, string> = {
  attempts_exhausted: 'All attempts failed.',
  max_age_exceeded: 'The time for all attempts (Max age) was over.',
  reclaims_exhausted: 'The server stopped too often during an attempt.',
  gone: 'The receiver replied with status 410 (Gone).',
  no_retry: 'The receiver replied Foliot-No-Retry: true.',
  egress_denied: 'The server may not call this address.',
}

export function reasonWords(reason: string): string {
  return reason.replaceAll('_', ' ') || 'no reason'
}
