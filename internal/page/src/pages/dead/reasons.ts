// reasonText explains each reason of death in a sentence.
export const reasonText: Record<string, string> = {
  attempts_exhausted: 'All attempts failed.',
  max_age_exceeded: 'The task was retried for its Max age, and no attempt delivered it.',
  reclaims_exhausted: 'The server stopped during ten attempts in a row.',
  gone: 'The receiver replied with status 410 (Gone).',
  no_retry: 'The receiver replied Foliot-No-Retry: true.',
  egress_denied: 'The server may not call this address.',
  refused: 'A transaction of the database created the task, and then a quota or another rule refused it.',
}

export function reasonWords(reason: string): string {
  return reason.replaceAll('_', ' ') || 'no reason'
}
