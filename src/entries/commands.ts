import { addCommand } from '../cli/tasks/add.ts';
import { kindOfDenial } from '../agents/claude/events/allow-rules.ts';
import { createOutputReader } from '../agents/claude/output/reader.ts';
import { createAnalyzeCommand } from '../cli/inspect/analyze.ts';
import { cleanCommand } from '../cli/inspect/clean.ts';
import { createInitCommand } from '../cli/setup/init.ts';
import { createImportCommand } from '../cli/tasks/import.ts';
import { createDoctorCommand } from '../cli/doctor/doctor.ts';
import type { Examine } from '../cli/doctor/examine.ts';
import { createMonitorCommand } from '../cli/monitor/monitor.ts';
import type { MonitorWorld } from '../cli/monitor/screen-port.ts';
import type { LookAtGitHub } from '../cli/github.ts';
import type { OpenImport } from '../cli/tasks/import-world.ts';
import { createOrderCommands } from '../cli/lane/orders.ts';
import { createReplayCommand } from '../cli/inspect/replay.ts';
import type { OpenPlaces } from '../cli/lane/state-places.ts';
import { createSandboxCommand } from '../cli/sandbox/sandbox.ts';
import { createStatusCommand } from '../cli/lane/status.ts';
import { createTasksCommand } from '../cli/tasks/tasks.ts';
import type { Command } from '../cli/command.ts';

/** Loaded by the commands that need it: the others start without git. */
const open: OpenPlaces = async (checkout) => (await import('../wiring/lane-places.ts')).openPlaces(checkout);

const openImport: OpenImport = async () => (await import('../wiring/import.ts')).openImport();

const look: LookAtGitHub = async (checkout, see) =>
  (await import('../wiring/own-github.ts')).lookAtGitHub(checkout, see);

const examine: Examine = async (asked) => (await import('../wiring/doctor/examine.ts')).examine(asked);

const openWorld = async (): Promise<MonitorWorld> =>
  (await import('../cli/monitor/terminal-world.ts')).createTerminalWorld({
    input: process.stdin,
    output: process.stdout,
    env: process.env,
  });

/** What the commands of the list do; `packageRoot` is the folder of action.yml and templates/. */
export const commandsOf = (packageRoot: URL): readonly Command[] => [
  createInitCommand(async () => (await import('../wiring/setup.ts')).openSetup(packageRoot)),
  createStatusCommand(open, look),
  createMonitorCommand(open, look, openWorld),
  createDoctorCommand(examine),
  createSandboxCommand(async (args, terminal) =>
    (await import('../wiring/sandbox.ts')).openSandbox(packageRoot)(args, terminal),
  ),
  createTasksCommand(look),
  addCommand,
  createImportCommand(openImport),
  ...createOrderCommands(open),
  createReplayCommand(kindOfDenial),
  createAnalyzeCommand((now) => createOutputReader({ now, onEvent: null })),
  cleanCommand,
];
