import { z } from 'zod';
import { answerKinds, subjectKinds } from '../../core/feedback/memory.ts';
import { isolationFacts } from '../../core/isolation/probe.ts';
import { circuitWords } from '../../core/lane/circuit.ts';
import { outcomeKinds } from '../../core/outcome.ts';
import { taskSourceKinds } from '../../core/tasks/ids.ts';
import { taskObstacles, taskStates } from '../../core/tasks/task.ts';
import { isolationSources } from '../../handover/intake.ts';

const instant = z.iso.datetime();

const whole = z.int().nonnegative();

/**
 * Schema of RALPH_STATUS for machines: the output `status-json` and the hidden part of a pull request. A change that
 * breaks readers gets a new `version`.
 */
export const ralphStatusSchema = z.object({
  version: z.literal(1),
  outcome: z.enum(outcomeKinds).describe('Why the run ended.'),
  reason: z.string().describe('The outcome in detail, e.g. plan_complete, circuit_open, calls_per_hour.'),
  branchId: z.string().nullable().describe('`queue` or `issue-N`; null when the run ended before it had one.'),
  branch: z.string().nullable(),
  baseBranch: z.string().nullable(),
  headSha: z.string().nullable().describe('Tip of the branch on the remote.'),
  pullRequest: whole.nullable().describe('Number of the pull request.'),
  iterations: whole.describe('Agent calls of this run.'),
  maxIterations: whole.nullable(),
  tasksDone: whole.describe('Over all runs on this branch.'),
  tasksOpen: whole.describe('Over all runs on this branch: all tasks that are not done.'),
  tasks: z.array(
    z.object({
      id: z.string(),
      issue: whole.nullable().describe('null for a task of a file.'),
      source: z
        .object({
          kind: z.enum(taskSourceKinds),
          name: z.string().describe('`#12`, `.ralph/fix_plan.md:7`, `PROMPT.md`, or the id in its file.'),
        })
        .optional(),
      title: z.string(),
      state: z.enum(taskStates),
      hold: z
        .enum(taskObstacles)
        .nullable()
        .optional()
        .describe('Why it may not be worked on although it is open; null: it may.'),
      attempts: whole.describe('Iterations spent on it, in all runs.'),
      commit: z.string().nullable().describe('Head after the iteration that finished it.'),
      iterations: whole.optional().describe('Iterations spent on it since the branch began.'),
      costUsd: z
        .number()
        .nonnegative()
        .nullable()
        .optional()
        .describe('Known cost of it since the branch began; null: not known.'),
      agents: z.array(z.string()).optional().describe('Agents that have worked on it, the most recent last.'),
      size: z
        .object({ files: whole, insertions: whole, deletions: whole })
        .nullable()
        .optional()
        .describe('Size of the change of all its commits together; null: not measured.'),
    }),
  ),
  tasksOmitted: whole.describe('Tasks left out of `tasks` to stay within size limits.'),
  unlisted: z
    .array(z.string())
    .optional()
    .describe('Ids of tasks with work on the branch that are no longer in the queue; the newest 25.'),
  agents: z
    .array(z.object({ name: z.string(), iterations: whole }))
    .optional()
    .describe('Agents that this run called, each with its number of iterations, in the order of their first.'),
  handOvers: z
    .array(z.string())
    .optional()
    .describe('Which agent took over from which in this run and why, as sentences; the newest 20.'),
  title: z
    .string()
    .optional()
    .describe('Title of the pull request, as Ralph last wrote it; only in the body of the pull request.'),
  change: z
    .object({
      runs: whole,
      iterations: whole,
      costUsd: z.number().nonnegative().nullable().describe('The known cost; null: not known.'),
      tokens: whole,
      lines: whole.nullable().describe('Changed lines without generated and lock files; null: not measured.'),
      failingSince: whole.nullable().describe('Iteration of the branch since which verify has been failing.'),
      leftOut: whole.optional().describe('Files of the work that are not in the branch.'),
      overruled: whole.optional().describe('Claims of the agent that the evidence overruled.'),
    })
    .nullable()
    .optional()
    .describe('The change on the branch since it began, over all runs; null: the run did not work on it.'),
  tests: z
    .enum(['passing', 'failing', 'not-run'])
    .describe(
      'Result of the verify commands, never a claim of the agent: in a clean clone of the published head, if they ran there.',
    ),
  verification: z
    .object({ commit: z.string(), result: z.enum(['passed', 'failed']) })
    .nullable()
    .optional()
    .describe('Result of the verify commands on a commit of the branch in a clean clone; null: not known.'),
  baseTests: z
    .enum(['passing', 'failing', 'not-run'])
    .optional()
    .describe('Result of the verify commands on the base commit before the work.'),
  feedback: z
    .object({
      rounds: whole.describe('Rounds of answers that are remembered, at most 10.'),
      open: whole.describe('Requests without an answer, or with an answer that leaves the decision to a person.'),
      answered: whole,
      items: z
        .array(
          z.object({
            id: z.string(),
            kind: z.enum(subjectKinds),
            title: z.string(),
            url: z.string().nullable(),
            rounds: whole.describe('How often it was worked on since the last push by a person.'),
            state: z.enum(['open', ...answerKinds]),
            commit: z.string().nullable().describe('The commit that answers it.'),
          }),
        )
        .describe('The newest 50, those that are open first.'),
      checks: z
        .object({
          runs: whole,
          counts: z
            .object({ passed: whole, failed: whole, running: whole, waiting: whole })
            .nullable()
            .describe('Number of runs by result; null: they could not be read.'),
          alsoOnBase: z.array(z.string()),
          flaky: z.array(z.string()),
          waiting: z.array(z.string()),
          unstarted: z.boolean().describe('Whether checks are expected and none has started.'),
          unreadable: z.string().nullable().describe('Why the checks could not be read.'),
        })
        .nullable()
        .describe('Checks of the head, and those that are not worked on; null: not read.'),
    })
    .nullable()
    .optional()
    .describe('Requests of people and CI to the pull request; null: none are known.'),
  discrepancies: whole.describe('Claims of the agent that the evidence contradicted, in this run.'),
  withheldFiles: whole.describe('Changed files that this run left out of its commits.'),
  isolation: z
    .object({
      from: z
        .enum(isolationSources)
        .describe('Source of the facts: the job that measured them, or the record of the main step.'),
      level: isolationFacts.unwrap().shape.level,
      network: isolationFacts
        .unwrap()
        .shape.network.describe(
          '`limited`: only allowed hosts; `any`: all hosts were allowed; `open`: nothing could limit it.',
        ),
      allowedHosts: whole,
      refusedHosts: whole.describe('Number of hosts to which programs of the agent were refused access.'),
      checks: whole.nullable().describe('Number of checks from inside the isolation; null: none were made.'),
      failedChecks: whole.nullable().describe('Number of checks with a wrong result; null: none were made.'),
      keyHidden: z.boolean().describe('Whether the model key was kept from the agent.'),
      processesLeft: whole.nullable().describe('Processes of the agent that still ran at the end; null: not counted.'),
    })
    .nullable()
    .optional()
    .describe('The measured isolation of the agent; null: not measured.'),
  circuit: z.enum(circuitWords).nullable(),
  callsRemaining: whole.nullable().describe("Calls left in the repository's current window."),
  tokens: whole.describe('Of this run.'),
  costUsd: z.number().nonnegative().nullable().describe('Known cost of this run; null: not known.'),
  resumeAt: instant.nullable().describe('When a later run continues; null when nothing waits.'),
  stateSaved: z.boolean().nullable().describe('null: not known yet, or nothing to save.'),
  runUrl: z.string(),
  startedAt: instant,
  endedAt: instant,
});

export type RalphStatus = Readonly<z.infer<typeof ralphStatusSchema>>;
