// These pages share many parts, so they are one file of the bundle: together they are
// smaller than apart.
export { Dead } from './dead/dead'
export { Destinations } from './destinations/destinations'
export { Queues } from './queues/queues'
export { Tasks } from './tasks/tasks'
export { Upcoming } from './upcoming/upcoming'
