import { Refusal } from './call'

// guarded makes a change that is refused (412) if the record has another version than
// the visitor has seen. Then the visitor reads what to do instead of the words for
// programs.
export async function guarded<T>(change: Promise<T>, todo: string): Promise<T> {
  try {
    return await change
  } catch (err) {
    if (err instanceof Refusal && err.problem.status === 412) throw new Refusal({ ...err.problem, title: 'Not saved.', detail: todo })
    throw err
  }
}
