import { Connection } from './connection.js'
import type { CallOptions, ClientOptions } from './options.js'
import { Queues } from './queues.js'
import { Schedules } from './schedules.js'
import { Tasks } from './tasks.js'
import type { Identity } from './types.gen.js'

/** Calls one Foliot server. */
export class Client {
  readonly tasks: Tasks
  readonly schedules: Schedules
  readonly queues: Queues
  private readonly connection: Connection

  /** The server is a URL such as http://127.0.0.1:8750. The constructor sends nothing. */
  constructor(server: string, options: ClientOptions = {}) {
    this.connection = new Connection(server, options)
    this.tasks = new Tasks(this.connection)
    this.schedules = new Schedules(this.connection)
    this.queues = new Queues(this.connection)
  }

  /**
   * Makes a client of the variables that the commands of foliot read too. FOLIOT_SERVER has the URL, and is
   * http://127.0.0.1:8750 by default. FOLIOT_TOKEN has the access token, and FOLIOT_NAMESPACE the namespace. An option
   * replaces its variable.
   */
  static fromEnv(options: ClientOptions = {}): Client {
    const { FOLIOT_SERVER: server, FOLIOT_TOKEN: token, FOLIOT_NAMESPACE: namespace } = process.env
    return new Client(server || 'http://127.0.0.1:8750', { token, namespace, ...options })
  }

  /** Returns the rights of the token, and describes the server. */
  whoami(options: CallOptions = {}): Promise<Identity> {
    return this.connection.call({ op: 'get the caller', method: 'GET', path: '/v1/whoami', repeat: 'always' }, options)
  }
}
