import { zoneOfRule } from '../../format/rule'
import { ProblemNote } from '../../parts/notice'
import { newBodies } from '../../parts/request-body'
import { RequestFields } from '../../parts/request-fields'
import { RuleFields } from './rule-fields'
import { Instants } from './instants'
import type { ScheduleForm } from './use-form'
import { sentence } from './rule-text'

// ScheduleFields has the fields of a schedule, with the sentence and the next instants of
// its rule. Masked hides headers and body, which may be secret, until the user asks
// for them.
export function ScheduleFields({ of: form, masked }: { of: ScheduleForm; masked: boolean }) {
  const { ruleProblem: problem, shown: { text, value } } = form
  return (
    <>
      <div class="part">
        <h3>Rule</h3>
        <RuleFields rule={form.rule} problem={problem} />
        {!problem?.field && <ProblemNote problem={problem} />}
        {value && !problem && <>
          <p><b>{sentence(value.words, text)}</b></p>
          <Instants caption="Table of the next instants" of={value.instants} zone={zoneOfRule(text)} />
        </>}
      </div>
      <div class="part">
        <h3>Request of each task</h3>
        <RequestFields of={form.request} errors={form.requestErrors} kinds={newBodies} masked={masked} />
      </div>
    </>
  )
}
