import { join } from 'node:path';
import type { LocalRunResult } from '../../cli/run/run.ts';
import type { Config } from '../../config/config.ts';
import { decideNextStep, createRunSoFar } from '../../core/lane/decide.ts';
import { isWorthWaiting } from '../../core/loop/next-action.ts';
import { deriveConclusion, type Outcome } from '../../core/outcome.ts';
import { formatInstant } from '../../core/countdown.ts';
import { nameOfTask } from '../../core/tasks/task.ts';
import { toTerminalLine } from '../../core/text/phrase.ts';
import { UserError } from '../../errors.ts';
import { aimOfStep, promptOfStep } from '../../core/pipeline/pipeline.ts';
import { findFirstAgentStep } from '../../core/pipeline/step-output.ts';
import { readMcpServers, readPipeline } from '../../gate/lane/pipeline.ts';
import { detectOtherRalphs, previewQueue } from '../../gate/work.ts';
import { makeTemporaryFolder } from '../../home/own-folder.ts';
import { removeTree } from '../../git/remove-tree.ts';
import { buildMcpToolRules } from '../../core/mcp/values.ts';
import { buildCallArguments } from '../agent.ts';
import { beginLoop } from '../../loop/loop.ts';
import { computeBudgetLeft, composeCallPrompt, selectSetupInstructions } from '../../loop/call.ts';
import { readSetAsideFiles, readFileTasks } from '../../loop/marks.ts';
import { findSessionToResume } from '../../loop/turns.ts';
import { findResumeInstant } from '../../report/facts.ts';
import { formatInstantFrom } from '../../report/format.ts';
import { emptySnapshot } from '../../core/snapshot/snapshot.ts';
import type { StateStore } from '../../ports/state.ts';
import { findAskedTask, createHomeGatePorts, endsWithoutOpenTask, type HomeDeps } from '../../run/home/at-home.ts';
import { createCheckoutFiles } from './checkout-state.ts';
import { connectPorts } from '../connect.ts';
import { nothingToIsolate } from '../isolation/isolated.ts';
import { createMachine } from '../machine.ts';
import { createHomeWorld, type HomeSetting } from './home-world.ts';
import { connectAtHome } from './play.ts';
import type { RunFolders } from './place.ts';
import { prepareCopy } from './copy.ts';
import type { PersonCheckout } from '../../git/home/person-checkout.ts';

interface Asked {
  readonly config: Config;
  readonly checkout: PersonCheckout;
  readonly environment: NodeJS.ProcessEnv;
  /** Ignored files that are not copied (see `prepareCopy`). */
  readonly leaveOut: readonly string[];
  /** The only task to work on, by its id or name; null means all tasks. */
  readonly wanted: string | null;
}

/**
 * Shows the gate's decision, the prompt and the command line for `--dry-run`. Claims and writes nothing, and calls no
 * agent.
 */
export async function showWhatWouldRun(
  { config, checkout, environment, leaveOut, wanted }: Asked,
  needs: {
    readonly setting: HomeSetting;
    readonly gate: Pick<HomeDeps, 'forge' | 'findStart'>;
    readonly print: (text: string) => void;
  },
): Promise<LocalRunResult> {
  const { setting, gate, print } = needs;
  const folder = makeTemporaryFolder('ralph-dry-run-');
  const base = folder.path;
  const name = setting.place.clone.split('/').at(-1) ?? 'checkout';
  const work = join(base, 'work');
  const place: RunFolders = { ...setting.place, base, work, clone: join(work, name), temp: join(base, 'temp') };
  const { log } = setting;
  try {
    // Never abort: without a claim there is nothing to release, so Ctrl-C may simply end the process.
    const { signal } = new AbortController();
    await prepareCopy(
      { config, checkout, place, environment, leaveOut, signal },
      { info: () => undefined, warning: log.warning },
    );
    for (const missing of setting.loginProblems) log.warning(`A real run would end here: ${missing}`);
    const world = createHomeWorld({ ...setting, place, runFolder: join(place.temp, 'run'), loginProblems: [] });
    const kept = createCheckoutFiles(checkout.top);
    const wired = connectPorts(world, { timeouts: null, isolated: nothingToIsolate });
    const connections = connectAtHome({ kept, top: checkout.top, place, gate }, wired);
    const store = readOnly(await connections.store());
    const machine = createMachine(world, { startedAt: world.clock.now(), workFiles: wired.workFiles });
    const gateDeps = await createHomeGatePorts(
      { ...world, ...gate, machine, connect: { ...connections, store: () => Promise.resolve(store) } },
      { claiming: () => undefined },
    );
    const userPrompt = await machine.readPrompt();
    await detectOtherRalphs(gateDeps);
    const preview = await previewQueue(gateDeps);
    const now = world.clock.now();
    const queue = preview.kind === 'end' ? preview.intake : preview;
    for (const warning of queue.notes.warnings) log.warning(warning);
    const isNamed = wanted !== null && (preview.kind !== 'end' || endsWithoutOpenTask(preview.intake.outcome));
    const asked = isNamed ? findAskedTask(queue.tasks, wanted) : { kind: 'tasks' as const, tasks: queue.tasks };
    if (asked.kind === 'none') throw new UserError('configuration', asked.why);
    if (preview.kind === 'end') return ended(config, { outcome: preview.intake.outcome, now }, print);
    const { tasks } = asked;
    const soFar = createRunSoFar(preview.state, now);
    // The log lists the steps, so show only the first call.
    const { pipeline, policy, warnings } = await readPipeline(gateDeps);
    for (const warning of warnings) log.warning(warning);
    const mcpServers = await readMcpServers(gateDeps);
    const first =
      pipeline === null ? null : findFirstAgentStep({ steps: pipeline.steps, memory: preview.state.steps, now });
    const step = decideNextStep({ state: preview.state, tasks, run: soFar, policy, now });
    if (step.kind === 'stop') {
      if (isWorthWaiting(step.outcome, { run: soFar, policy, now }))
        print(`The run would wait until ${formatInstant(step.outcome.resumeAt)}.\n`);
      return ended(config, { outcome: step.outcome, now }, print);
    }
    const work = beginLoop(
      {
        ...{
          kind: 'work',
          lane: preview.lane,
          tasks,
          state: preview.state,
          policy,
          claimedAt: now,
          startBy: now,
          pipeline,
          mcpServers,
          notes: preview.notes,
          proposes: null,
        },
        opened: {
          ...{ head: '', base: '', fork: '', baseTree: '' },
          ...{ ahead: 0, below: 0, personHead: null, tasks: null, warnings: [] },
        },
      },
      now,
    );
    const { files, readLearnings } = machine;
    const { notes } = await readSetAsideFiles({ files, prompt: userPrompt });
    const template = first === null ? userPrompt : promptOfStep(first, userPrompt);
    const prompt = await composeCallPrompt(
      { config, prompt: userPrompt, readLearnings },
      { work, soFar, step, merge: null },
      {
        listed: await readFileTasks({ files, config }, tasks),
        notes,
        setting: {
          aim: first === null ? 'task' : aimOfStep(first),
          promptTemplate: template.text,
          promptPath: template.path,
          setup: selectSetupInstructions(userPrompt, work),
          pipeline:
            first === null
              ? null
              : { fact: `This is step ${first.name} of this iteration's pipeline.`, notes: '', findings: '' },
        },
      },
    );
    const { order, others } = config.agent;
    const agent = [...order, ...others].find(({ name }) => name === (first?.agent ?? step.agent)) ?? order[0];
    const args = await buildCallArguments(world, agent, {
      model: first?.model ?? agent.model,
      allowedTools: first?.allowedTools ?? [...config.policy.allowedTools, ...buildMcpToolRules(mcpServers)],
      servers: mcpServers,
      extraArgs: agent.args,
      resume:
        first?.session === 'fresh' || first?.review != null || agent.name !== step.agent
          ? null
          : await findSessionToResume(gateDeps.store, { state: preview.state, taskId: step.task.id, policy, now }),
      budgetUsd: computeBudgetLeft(work, soFar.costUsd, policy),
    });
    print(`Task: ${nameOfTask(step.task)}: ${toTerminalLine(step.task.title, 200)}\n`);
    print(`Branch: ${preview.lane.branch}, from ${preview.lane.baseBranch} (${preview.lane.start.kind})\n`);
    print(
      `Command line: ${[agent.path ?? `${agent.name} ${agent.version} (to be installed)`, ...args.map(quoted)].join(' ')}\n`,
    );
    print(
      `Prompt, on standard input:\n\n${setting.secrets
        .redact(prompt)
        .split('\n')
        .map((line) => `  ${/^ */.exec(line)?.[0] ?? ''}${toTerminalLine(line, 10_000)}`)
        .join('\n')}\n`,
    );
    return { ended: { ...NOTHING, outcome: 'idle', reason: 'dry_run', tasks: tasks.length }, failed: false };
  } finally {
    await removeTree(base);
    folder.forget();
  }
}

/** Returns a store that writes nothing, and whose updates only return the changed state. */
function readOnly(store: StateStore): StateStore {
  return {
    ...store,
    update: async (change) => {
      const read = await store.read();
      if (read.kind === 'unavailable') return { ...read, last: null };
      const { snapshot, answer } = change(read.kind === 'snapshot' ? read.snapshot : emptySnapshot);
      return { kind: 'updated', place: '', snapshot, answer };
    },
  };
}

function ended(
  config: Config,
  { outcome, now }: { readonly outcome: Outcome; readonly now: number },
  print: (text: string) => void,
): LocalRunResult {
  const message = 'message' in outcome ? `: ${outcome.message}` : '';
  const resumeAt = findResumeInstant(outcome);
  const until = resumeAt === null ? '' : ` until ${formatInstantFrom(resumeAt, now)}`;
  print(`No call would be made${until}: ${outcome.kind} (${outcome.reason})${message}\n`);
  return {
    ended: { ...NOTHING, outcome: outcome.kind, reason: outcome.reason },
    failed: deriveConclusion(outcome, config.failOn) === 'failure',
  };
}

const NOTHING = {
  ...{ iterations: 0, tasksDone: 0, tasks: 0, branch: null, head: null, costUsd: 0, tokens: 0 },
  ...{ resumeAt: null, pushed: null },
  branches: [],
} as const;

/** Returns an argument as it is typed in a shell. */
function quoted(arg: string): string {
  return /^[\w./:=,-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", String.raw`'\''`)}'`;
}
