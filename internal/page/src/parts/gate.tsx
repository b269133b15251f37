import { ActionButton, type ActionButtonProps } from './action'

// Gate is the old name of ActionButton, which the pages of schedules still use.
export function Gate({ look, ...rest }: ActionButtonProps & { look?: string }) {
  return <ActionButton {...rest} style={look} />
}
