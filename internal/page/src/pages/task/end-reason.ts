import type { Task } from '../../api/openapi.gen'
import { taskDestination } from '../../format/destination'
import { plural } from '../../format/number'
import { millis, span } from '../../format/time'
import { errorText } from '../../parts/reply'
import { link } from '../../state/route'
import type { Why } from './why'

// ended explains how a task ended, with the remedy if it was not delivered.
export function ended(t: Task): Why {
  const last = t.attempts.at(-1)
  if (t.state === 'delivered') return { tone: 'good', text: last ? `Attempt ${last.number} delivered it, ${span(last.late_ms + last.waited_ms)} after it was due. The ${last.status ? `receiver replied with status ${last.status}` : 'handler returned'} after ${span(last.latency_ms)}.` : 'It was delivered.' }
  if (t.state === 'cancelled') return { tone: 'info', text: t.reason === 'purged' ? `It was cancelled by a purge of its queue ${t.queue}.` : 'It was cancelled. No attempt starts any more.', remedy: 'To send it anyway, create it again: Copy as has the command.' }
  if (t.state === 'expired') return { tone: 'warn', text: `It expired: no attempt started within ${span(millis(t.expire_after ?? '0s'))} after it was due.`, remedy: 'Its queue was paused or full, its destination failed, or the server was down. Create it again if it is still useful.', to: { text: 'Open the queue', href: link('queues', t.queue) } }
  return dead(t)
}

function dead(t: Task): Why {
  const last = t.attempts.at(-1)
  const error = last ? ` The last error: ${errorText(last)}.` : ''
  const host = taskDestination(t)
  const check = { text: 'Open the destination', href: link('destinations', host) }
  switch (t.reason) {
    case 'attempts_exhausted':
      return { tone: 'bad', text: `It is dead: ${t.retry.max_attempts ? t.retry.max_attempts === 1 ? 'its only attempt' : `all ${plural(t.retry.max_attempts, 'attempt')}` : 'all its attempts'} failed.${error}`, remedy: 'Correct the receiver or the request, then use Retry.', to: check }
    case 'max_age_exceeded':
      return { tone: 'bad', text: `It is dead: its attempts failed for ${span(millis(t.retry.max_age ?? '0s'))}, which is its Max age.${error}`, remedy: 'Correct the receiver, then use Retry. A larger Max age gives the receiver more time.', to: check }
    case 'gone':
      return { tone: 'bad', text: 'It is dead: the receiver replied with status 410 (Gone), so it wants no more attempts.', remedy: 'If the URL has changed, edit it, then use Retry. Otherwise cancel the task.' }
    case 'no_retry':
      return { tone: 'bad', text: `It is dead: the receiver replied with status ${last?.status ?? ''} and Foliot-No-Retry, so it wants no more attempts.`, remedy: 'Correct the request, then use Retry.' }
    case 'egress_denied':
      return { tone: 'bad', text: `It is dead: the server may not call ${host}.${error}`, remedy: 'Correct the URL, or start the server with --egress-allow for that address. Then use Retry. foliot doctor egress shows the rule.' }
    case 'reclaims_exhausted':
      return { tone: 'bad', text: 'It is dead: the server stopped during ten attempts in a row.', remedy: 'Look for the reason in the log of the server before you use Retry.', to: { text: 'Open Server', href: link('server') } }
  }
  return { tone: 'bad', text: `It is dead${t.reason ? ': ' + t.reason.replaceAll('_', ' ') : ''}.${error}`, remedy: 'Use Retry to send it again.', to: check }
}
