import { createAddCommand } from '../../../src/cli/tasks/add.ts';
import type { FindUnmergedPlans } from '../../../src/cli/tasks/add-beside-branches.ts';
import { cleanCommand, createAnalyzeCommand } from '../../../src/cli/inspect/analyze.ts';
import { UsageError, type CliCommand } from '../../../src/cli/command.ts';
import { createInitCommand } from '../../../src/cli/setup/init.ts';
import { findQueuePlans } from '../../../src/git/home/queue-plans.ts';
import { findUncommittedIn } from '../../../src/git/home/committed.ts';
import { openSetup } from '../../../src/wiring/setup.ts';
import { kindOfDenialBy } from '../../../src/agents/rules/shell-rules.ts';
import { openReader } from '../../../src/wiring/agents/output-reader.ts';
import { settingsOfFolder } from '../../../src/wiring/settings/effective-settings.ts';
import { createImportCommand, type ImportWorld } from '../../../src/cli/tasks/import.ts';
import { createDoctorCommand, type ExamineCheckout } from '../../../src/cli/doctor/doctor.ts';
import type { LookAtGitHub, ReadEffectiveSettings } from '../../../src/cli/arguments.ts';
import { createOrderCommands } from '../../../src/cli/lane/orders.ts';
import { createHistoryCommand } from '../../../src/cli/history/history.ts';
import { createMonitorCommand } from '../../../src/cli/monitor/monitor.ts';
import type { MonitorWorld } from '../../../src/cli/monitor/terminal-world.ts';
import { createReceiptCommands } from '../../../src/cli/receipt/receipt-commands.ts';
import { openReceiptClone } from '../../../src/git/home/receipt-clone.ts';
import { createReplayCommand } from '../../../src/cli/inspect/replay.ts';
import { createTuneCommand } from '../../../src/cli/inspect/tune.ts';
import { planWorkflow } from '../../../src/wiring/doctor/workflow-files.ts';
import { runCommand } from '../../../src/cli/run-command.ts';
import type { OpenPlaces } from '../../../src/cli/lane/read-lane.ts';
import { createSandboxCommand } from '../../../src/cli/sandbox/sandbox.ts';
import { createRunCommand } from '../../../src/cli/run/run.ts';
import { createStatusCommand } from '../../../src/cli/lane/status.ts';
import { createTasksCommand } from '../../../src/cli/tasks/tasks.ts';
import type { ReportedSettings } from '../../../src/core/settings/effective.ts';
import { noon } from '../core/core-fixtures.ts';

/** No checkout anywhere. */
const nowhere: OpenPlaces = () => Promise.resolve({ kind: 'missing', folder: null, why: 'there is no checkout.' });

/** A machine with neither agent nor server. */
const noWorld: ImportWorld = {
  askAgent: () => Promise.resolve({ kind: 'failed', why: 'there is no agent.' }),
  issues: () => Promise.resolve({ kind: 'failed', why: 'there is no server.' }),
};

/** A machine without a token. */
const noToken: LookAtGitHub = () => Promise.resolve({ kind: 'no-token' });

/** A machine with nothing to examine. */
const nothing: ExamineCheckout = () => Promise.resolve({ kind: 'missing', why: 'there is no checkout.' });

/** A machine without a terminal, where a wait for a change never ends. */
const noTerminal: MonitorWorld = {
  openScreen: () => Promise.resolve(null),
  columns: () => 80,
  pause: () => Promise.reject(new Error('nothing changes here')),
  isAlive: () => true,
  lastRun: () => Promise.resolve(null),
};

const findUnmerged: FindUnmergedPlans = (folder, path) =>
  findQueuePlans(folder, { path, env: { PATH: process.env['PATH'] } });

/** The settings of runs in the checkout, by folder. */
export const settingsOf = new Map<string, readonly ReportedSettings[]>();

const readEffective: ReadEffectiveSettings = (folder) => Promise.resolve(settingsOf.get(folder) ?? []);

interface Surroundings {
  readonly world?: ImportWorld;
  readonly look?: LookAtGitHub;
  readonly examine?: ExamineCheckout;
  readonly monitor?: MonitorWorld;
}

export const commands = commandsAt(nowhere, {});

function commandsAt(
  open: OpenPlaces,
  { world = noWorld, look = noToken, examine = nothing, monitor = noTerminal }: Surroundings,
): readonly CliCommand[] {
  return [
    createInitCommand(() => openSetup(new URL('../../../', import.meta.url))),
    createStatusCommand(open, look, readEffective),
    createHistoryCommand(open),
    createMonitorCommand({ open, look, readEffective }, () => Promise.resolve(monitor)),
    createDoctorCommand(examine),
    createSandboxCommand(() => Promise.resolve({ kind: 'missing', why: 'there is no sandbox.' })),
    createRunCommand(() => Promise.reject(new UsageError(['there is no checkout.'], 'none'))),
    createTasksCommand({
      look,
      readSettings: (folder) => settingsOfFolder(folder, { PATH: process.env['PATH'] }),
      findUncommitted: (folder, paths) => findUncommittedIn(folder, { paths, env: { PATH: process.env['PATH'] } }),
    }),
    createAddCommand(findUnmerged),
    createImportCommand(() => Promise.resolve(world), findUnmerged),
    ...createOrderCommands(open),
    ...createReceiptCommands(
      (clone) => openReceiptClone(clone, process.env),
      () => Promise.resolve(kindOfDenialBy),
    ),
    createReplayCommand(() => Promise.resolve(kindOfDenialBy)),
    createTuneCommand({
      open,
      readEffective,
      loadKinds: () => Promise.resolve(kindOfDenialBy),
      plan: (folder, change) => planWorkflow(folder, { ...change, env: { PATH: process.env['PATH'] } }),
    }),
    createAnalyzeCommand(openReader),
    cleanCommand,
  ];
}

export interface CliRun {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

/** Runs the command line in this process; `stdin` arrives in two chunks. */
export async function ralph(
  args: readonly string[],
  stdin = '',
  open = nowhere,
  surroundings: Surroundings & { readonly now?: () => number } = {},
): Promise<CliRun> {
  let out = '';
  let error = '';
  const bytes = new TextEncoder().encode(stdin);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, 10);
    yield await Promise.resolve(bytes.subarray(10));
  }
  const code = await runCommand(() => Promise.resolve(commandsAt(open, surroundings)), args, {
    stdin: chunks(),
    out: (text) => {
      out += text;
    },
    error: (text) => {
      error += text;
    },
    now: surroundings.now ?? (() => noon),
  });
  return { code, out, error };
}
