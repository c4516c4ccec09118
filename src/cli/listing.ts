/** A command as the list of commands has it. */
export interface Listed {
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** Among those for the work of every day, or those that look inside a run. */
  readonly use: 'daily' | 'inside';
}

/** Every command, in the order of the list: apart from what they do, which the list need not load. */
export const LISTED = {
  init: { name: 'init', summary: 'sets a repository up: workflow, commands, issue form', use: 'daily' },
  status: {
    name: 'status',
    summary:
      'shows the status of the queue or an issue: state, circuit, limits, tasks; --all: of all branches, with waits and spending',
    use: 'daily',
  },
  monitor: {
    name: 'monitor',
    summary: 'follows the local run, or all branches, on the whole screen: task, limits, last output; keys for orders',
    use: 'daily',
  },
  doctor: {
    name: 'doctor',
    summary:
      'checks what would stop a run: workflow file, repository settings, key, agent, verify; and says what to do',
    use: 'daily',
  },
  sandbox: {
    name: 'sandbox',
    summary: 'tries your workflow on this machine: no account, no key, no cost',
    use: 'daily',
  },
  tasks: {
    name: 'tasks',
    summary: 'lists the tasks of a checkout, and with a token those on GitHub, in the order of work',
    use: 'daily',
  },
  add: { name: 'add', summary: 'adds a task to the plan or to prd.json', use: 'daily' },
  import: {
    name: 'import',
    summary: 'adds the tasks of a requirements document, or issues, to the plan or prd.json',
    use: 'daily',
  },
  pause: { name: 'pause', summary: 'starts no runs of the queue, or of an issue, until it is resumed', use: 'daily' },
  resume: { name: 'resume', summary: 'ends the pause', use: 'daily' },
  stop: { name: 'stop', summary: 'pauses; a run of one job ends after its running iteration', use: 'daily' },
  retry: { name: 'retry', summary: 'gives failed and blocked tasks all their attempts again', use: 'daily' },
  reset: { name: 'reset', summary: 'closes the circuit, or starts a new conversation with the agent', use: 'daily' },
  replay: { name: 'replay', summary: 'makes the decisions of a recorded run again', use: 'inside' },
  analyze: { name: 'analyze', summary: 'shows what the loop reads from one output of an agent', use: 'inside' },
  clean: { name: 'clean', summary: 'shows the text of a task as a prompt would get it', use: 'inside' },
} as const satisfies Readonly<Record<string, Listed>>;
