import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { KNOWN_SIGNALS, type DoneSignals } from '../core/analysis/done-signals.ts';
import {
  INSTRUCTION_PLACES,
  listPromptPlaces,
  ROOT_LOOP,
  SETUP_MARKER_PATH,
  SETUP_PROMPT_PATH,
  SPECIFICATION_PLACES,
} from '../core/prompt/places.ts';
import { PIPELINE_FILES } from '../core/pipeline/pipeline.ts';
import { toRootPath, type Folder } from '../core/folder.ts';
import { UserError } from '../errors.ts';
import type { Log } from '../ports/machine.ts';
import type { UserPrompt } from '../ports/prompt.ts';
import { readWorkspaceFile } from './workspace-files.ts';

/** Maximum size of a prompt file, in bytes. The CLI takes 10 MB on stdin, including task and context. */
const MAX_PROMPT_BYTES = 1024 * 1024;
/** Maximum number of bytes read from a file that says how to build and test. */
const MAX_INSTRUCTIONS_BYTES = 64 * 1024;

interface PromptPlaces {
  readonly workspace: string;
  /** The input `working-directory`. */
  readonly folder: Folder;
  /** The input `prompt-file`: a path in that folder. */
  readonly promptFile: string;
  /** Folder of the action, whose `templates/` has the built-in prompt. */
  readonly actionFolder: string;
}

/**
 * Reads the user's prompt, or the built-in one, and all other instructions that the checkout has for the agent. Paths
 * are relative to the folder. Does not wait for a named pipe. Throws a UserError when there is no prompt at all, or
 * `signals` of a pipeline's file cannot be used.
 */
export async function readPrompt(places: PromptPlaces, log: Pick<Log, 'info' | 'warning'>): Promise<UserPrompt> {
  const pipelines = await pipelineTexts(places);
  const [prompt, setup, instructions, specifications] = await Promise.all([
    readPromptText(places, log),
    readSetup(places, Object.values(pipelines)),
    present(places, INSTRUCTION_PLACES),
    present(places, SPECIFICATION_PLACES),
  ]);
  const lockTools = await readLockTools(places, instructions);
  const { signals, problems } = await readSignals(pipelines);
  if (problems.length > 0)
    throw new UserError(
      'configuration',
      `The done signals cannot be used:\n${problems.map((problem) => `- ${toRootPath(places.folder, problem)}`).join('\n')}`,
    );
  if (setup !== null) log.info(`prompt: ${SETUP_PROMPT_PATH}, in the queue's first iteration`);
  return { ...prompt, setup, instructions, specifications, lockTools, signals };
}

async function readPromptText(
  places: PromptPlaces,
  log: Pick<Log, 'info' | 'warning'>,
): Promise<Pick<UserPrompt, 'text' | 'path'>> {
  const { folder, promptFile, actionFolder } = places;
  for (const path of listPromptPlaces(promptFile, await present(places, ROOT_LOOP))) {
    const text = await readPromptFile(places, path);
    if (text !== null && text.trim() !== '') {
      log.info(`prompt: ${toRootPath(folder, path)}`);
      return { text, path };
    }
    if (text === null && (await present(places, [path])).length > 0)
      log.warning(`${toRootPath(folder, path)} is not used as the prompt: it is not a readable file of the checkout.`);
  }
  const builtIn = await readWorkspaceFile(actionFolder, 'templates/PROMPT.md', MAX_PROMPT_BYTES);
  if (builtIn === null)
    throw new UserError(
      'infrastructure',
      `The built-in prompt cannot be read: ${join(actionFolder, 'templates', 'PROMPT.md')} is missing, or it is not a file. Run the action from a fresh copy.`,
    );
  log.info(`prompt: built-in (no text in ${toRootPath(folder, promptFile)})`);
  return { text: builtIn, path: null };
}

/** Returns the files that may hold a pipeline, by path. */
async function pipelineTexts(places: PromptPlaces): Promise<Readonly<Record<string, string>>> {
  const texts = await Promise.all(
    PIPELINE_FILES.map(async (path) => [path, await readPromptFile(places, path)] as const),
  );
  return Object.fromEntries(texts.flatMap(([path, text]) => (text === null ? [] : [[path, text]])));
}

/** Reads the signals of pipeline files. Loads the parsers only when there is a file to parse. */
async function readSignals(
  pipelines: Readonly<Record<string, string>>,
): Promise<{ readonly signals: DoneSignals; readonly problems: readonly string[] }> {
  if (Object.keys(pipelines).length === 0) return { signals: KNOWN_SIGNALS, problems: [] };
  const { parseSignalFiles: signalsInFiles } = await import('../core/pipeline/reading/signals-in-files.ts');
  return signalsInFiles(pipelines);
}

async function readLockTools(
  { workspace, folder }: PromptPlaces,
  paths: readonly string[],
): Promise<UserPrompt['lockTools']> {
  if (paths.length === 0) return [];
  const { findNamedTools: toolsNamedIn } = await import('../core/feedback/conflict/lock-tools.ts');
  const texts = await Promise.all(
    paths.map((path) => readWorkspaceFile(workspace, toRootPath(folder, path), MAX_INSTRUCTIONS_BYTES)),
  );
  return [...new Set(texts.flatMap((text) => (text === null ? [] : toolsNamedIn(text))))];
}

/**
 * Reads the set-up prompt; null if none, the set-up is already done, or a pipeline runs it as a step.
 */
async function readSetup(places: PromptPlaces, pipelines: readonly string[]): Promise<string | null> {
  const text = await readPromptFile(places, SETUP_PROMPT_PATH);
  if (text === null || text.trim() === '') return null;
  if ((await present(places, [SETUP_MARKER_PATH])).length > 0) return null;
  return pipelines.some((pipeline) => pipeline.includes(SETUP_PROMPT_PATH)) ? null : text;
}

function readPromptFile({ workspace, folder }: PromptPlaces, path: string): Promise<string | null> {
  return readWorkspaceFile(workspace, toRootPath(folder, path), MAX_PROMPT_BYTES);
}

/** Returns the paths that exist, as any kind of entry. */
async function present({ workspace, folder }: PromptPlaces, paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    paths.map((path) =>
      lstat(join(workspace, toRootPath(folder, path))).then(
        () => true,
        () => false,
      ),
    ),
  );
  return paths.filter((_, at) => found[at]);
}
