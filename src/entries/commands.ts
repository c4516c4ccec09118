import { createAddCommand } from '../cli/tasks/add.ts';
import type { FindUnmergedPlans } from '../cli/tasks/add-beside-branches.ts';
import { cleanCommand, createAnalyzeCommand } from '../cli/inspect/analyze.ts';
import { createInitCommand } from '../cli/setup/init.ts';
import { createImportCommand, type OpenImport } from '../cli/tasks/import.ts';
import { createDoctorCommand, type ExamineCheckout } from '../cli/doctor/doctor.ts';
import { createHistoryCommand } from '../cli/history/history.ts';
import { createMonitorCommand } from '../cli/monitor/monitor.ts';
import type { MonitorWorld } from '../cli/monitor/terminal-world.ts';
import type { LookAtGitHub, ReadEffectiveSettings } from '../cli/arguments.ts';
import { createOrderCommands } from '../cli/lane/orders.ts';
import { createReceiptCommands } from '../cli/receipt/receipt-commands.ts';
import { createReplayCommand } from '../cli/inspect/replay.ts';
import { createTuneCommand } from '../cli/inspect/tune.ts';
import type { KindsOfDenial } from '../core/journal/replay.ts';
import type { OpenPlaces } from '../cli/lane/read-lane.ts';
import { createSandboxCommand } from '../cli/sandbox/sandbox.ts';
import { createRunCommand } from '../cli/run/run.ts';
import { createStatusCommand } from '../cli/lane/status.ts';
import { createTasksCommand } from '../cli/tasks/tasks.ts';
import type { CliCommand } from '../cli/command.ts';

/** Opens places with a module that is loaded only now, so that other commands start without git. */
const open: OpenPlaces = async (checkout) => (await import('../wiring/lane-places.ts')).openPlaces(checkout);

const loadImport: OpenImport = async () => (await import('../wiring/import.ts')).openImport();

const look: LookAtGitHub = async (checkout, see) =>
  (await import('../wiring/own-github.ts')).lookAtGitHub(checkout, see);

const examine: ExamineCheckout = async (asked) => (await import('../wiring/doctor/examine.ts')).examineCheckout(asked);

const readEffective: ReadEffectiveSettings = async (folder) => {
  const [{ readWorkflowFiles }, { readSettingsInForce: settingsInForce }] = await Promise.all([
    import('../wiring/doctor/workflow-files.ts'),
    import('../wiring/settings/effective-settings.ts'),
  ]);
  return settingsInForce(await readWorkflowFiles(folder), { folder, env: process.env });
};

const loadKinds = async (): Promise<KindsOfDenial> => (await import('../agents/rules/shell-rules.ts')).kindOfDenialBy;

const openWorld = async (): Promise<MonitorWorld> => {
  const [{ createTerminalWorld }, { findLastRun }] = await Promise.all([
    import('../cli/monitor/terminal-world.ts'),
    import('../wiring/settings/effective-settings.ts'),
  ]);
  return createTerminalWorld({ input: process.stdin, output: process.stdout, env: process.env, lastRun: findLastRun });
};

const findUnmerged: FindUnmergedPlans = async (folder, path) =>
  (await import('../git/home/queue-plans.ts')).findQueuePlans(folder, { path, env: process.env });

/** Returns the commands of the list; `packageRoot` is the folder of action.yml and templates/. */
export const createCommands = (packageRoot: URL): readonly CliCommand[] => [
  createInitCommand(async () => (await import('../wiring/setup.ts')).openSetup(packageRoot)),
  createStatusCommand(open, look, readEffective),
  createHistoryCommand(open),
  createMonitorCommand({ open, look, readEffective }, openWorld),
  createDoctorCommand(examine),
  createSandboxCommand(async (args, terminal) =>
    (await import('../wiring/sandbox.ts')).openSandbox(packageRoot)(args, terminal),
  ),
  createRunCommand(async (asked, terminal) =>
    (await import('../wiring/home/run-here.ts')).createRunHere(packageRoot)(asked, terminal),
  ),
  createTasksCommand({
    look,
    readSettings: async (folder) =>
      (await import('../wiring/settings/effective-settings.ts')).settingsOfFolder(folder, process.env),
    findUncommitted: async (folder, paths) =>
      (await import('../git/home/committed.ts')).findUncommittedIn(folder, { paths, env: process.env }),
  }),
  createAddCommand(findUnmerged),
  createImportCommand(loadImport, findUnmerged),
  ...createOrderCommands(open),
  ...createReceiptCommands(
    async (clone) => (await import('../git/home/receipt-clone.ts')).openReceiptClone(clone, process.env),
    loadKinds,
  ),
  createReplayCommand(loadKinds),
  createTuneCommand({
    open,
    readEffective,
    loadKinds,
    plan: async (folder, change) =>
      (await import('../wiring/doctor/workflow-files.ts')).planWorkflow(folder, { ...change, env: process.env }),
  }),
  createAnalyzeCommand(async (agent, now) =>
    (await import('../wiring/agents/output-reader.ts')).openReader(agent, now),
  ),
  cleanCommand,
];
