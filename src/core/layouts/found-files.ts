import { z } from 'zod';
import { toRootPath, type Folder } from '../folder.ts';
import { LEFT_CIRCUIT_PATHS } from '../others/left-circuit.ts';
import { isSharedFileName, PIPELINE_FILES } from '../pipeline/pipeline.ts';
import { LEARNINGS_PATH } from '../prompt/learnings.ts';
import {
  INSTRUCTION_PLACES,
  PROGRESS_PLACES,
  PROMPT_PLACES,
  listPromptPlaces,
  ROOT_PROMPTS,
  SETUP_MARKER_PATH,
  SETUP_PROMPT_PATH,
} from '../prompt/places.ts';
import { isRootPlan, PRD_ARCHIVE_PATH, ROOT_PLAN, taskFilePaths } from '../tasks/files/form/root-plan.ts';
import type { TaskSourceName } from '../tasks/ids.ts';
import { listFirstNames } from '../text/phrase.ts';
import { tryJson } from '../text/try-json.ts';
import { describeLeft, type LayoutName, LEFT_PATHS, LAYOUT_MARKS } from './layouts.ts';

/**
 * The uses that a run makes of one kind of file, as ends of sentences. Only the first existing path is used, unless
 * `others` is null.
 */
interface Kind {
  readonly paths: readonly string[];
  /** The use of the first existing file. */
  readonly first: string | ((text: string, steps: number | null | undefined) => string);
  /** The use of all further files; null if all files are used like the first. */
  readonly others: string | null;
  /** The use of a symbolic link in place of the first file; null if links are not used at all. */
  readonly link: string | null;
  /** The task source that must be enabled for the files to be used; null if they are always used. */
  readonly source: TaskSourceName | null;
}

const IF_WITHIN_REPOSITORY = 'if it leads to a file of this repository';

const BRANCH_OF = z.object({ branchName: z.string().min(1) });

/** Files that the prompt names to the agent, even if they are links. */
const PROMPT_FILES: readonly string[] = [...INSTRUCTION_PLACES, '.ralph/SPECS_INDEX.md'];

/**
 * The kinds of files that a run reads, in the order in which they are shown. The settings file is described elsewhere.
 */
const KINDS: readonly Kind[] = [
  {
    paths: PROMPT_PLACES,
    first: 'used as the prompt',
    others: 'not used, another prompt comes before it',
    link: `a symbolic link, used as the prompt ${IF_WITHIN_REPOSITORY}, but not as a task`,
    source: null,
  },
  {
    paths: [SETUP_PROMPT_PATH],
    first: "used once: by the step of the pipeline that names it, or else in the queue's first iteration",
    others: null,
    link: `a symbolic link, used in the queue's first iteration ${IF_WITHIN_REPOSITORY}; no step of a pipeline can name it`,
    source: null,
  },
  {
    paths: [SETUP_MARKER_PATH],
    first: 'marks the set-up as done',
    others: null,
    link: 'a symbolic link; without a pipeline it marks the set-up as done',
    source: null,
  },
  {
    paths: taskFilePaths.plan,
    first: 'used as the plan',
    others: 'not used, another plan comes before it',
    link: null,
    source: 'plan',
  },
  {
    paths: taskFilePaths.prd,
    first: listOf,
    others: 'not used, another list of stories comes before it',
    link: null,
    source: 'prd',
  },
  {
    paths: [PRD_ARCHIVE_PATH],
    first: 'read with the list: finished tasks move there',
    others: null,
    link: null,
    source: 'prd',
  },
  { paths: ['.beads/'], first: 'used as a list of tasks', others: null, link: null, source: 'beads' },
  {
    paths: PROMPT_FILES,
    first: 'named in the prompt',
    others: null,
    link: 'a symbolic link, named in the prompt',
    source: null,
  },
  {
    paths: PROGRESS_PLACES,
    first: 'shown to the agent as the notes of earlier iterations',
    others: 'not used, another one comes before it',
    link: null,
    source: null,
  },
  {
    paths: [LEARNINGS_PATH],
    first: "the agent's notes, whose end is in each prompt",
    others: null,
    link: null,
    source: null,
  },
  {
    paths: PIPELINE_FILES,
    first: pipelineOf,
    others: 'used only if the files before it have no `steps`',
    link: null,
    source: null,
  },
  {
    paths: LEFT_CIRCUIT_PATHS,
    first: 'an open circuit in it is honoured once',
    others: 'not used, another one comes before it',
    link: `a symbolic link; an open circuit in it is honoured once ${IF_WITHIN_REPOSITORY}`,
    source: null,
  },
];

/** Folders whose files the prompt names. */
const SPECS = ['.ralph/specs', 'specs'];

const KNOWN: readonly string[] = [...new Set([...LAYOUT_MARKS, ...KINDS.flatMap(({ paths }) => paths)])];

/** Files to look for in every repository: those that identify a layout, and those that a run reads. */
export const FIRST_PATHS: readonly string[] = KNOWN.filter(
  (path) => LAYOUT_MARKS.includes(path) || !(path.endsWith('/') || PROMPT_FILES.includes(path)),
);

/**
 * Paths to look for in addition if a layout is known. A folder ends with a slash, and `*` matches any part of a name.
 */
export const FURTHER_PATHS: readonly string[] = [
  ...new Set([...KNOWN, ...ROOT_PROMPTS, ...LEFT_PATHS].filter((path) => !FIRST_PATHS.includes(path))),
];

/** Every path that identifies a layout or occurs in a description. */
export const LAYOUT_PATHS: readonly string[] = [
  ...FIRST_PATHS,
  ...FURTHER_PATHS,
  ...SPECS.map((folder) => `${folder}/`),
];

/** Patterns for folders to look for in addition if a layout is known. */
export const SPECS_PATTERNS: readonly string[] = SPECS.map((folder) => `${folder}/**`);

/**
 * Describes the uses of another Ralph's files: one line for each kind that exists, with the file that is used, those
 * that are not, and the reason. If `layout` is null, only links are described. `links` are symbolic links among the
 * layout's paths and their parent folders; `texts` are readable files by path; `steps` has the number of steps of each
 * pipeline file, or null for one without `steps`; `promptFile` and `taskSources` are the inputs. All paths are relative
 * to `folder`, where the run works, but shown relative to the root.
 */
export function describeLayout(
  layout: LayoutName | null,
  found: {
    readonly paths: readonly string[];
    readonly links: readonly string[];
    readonly texts: Readonly<Record<string, string>>;
    readonly steps: Readonly<Record<string, number | null>>;
    readonly promptFile: string;
    readonly taskSources: readonly TaskSourceName[];
    readonly folder: Folder;
  },
): readonly string[] {
  const { paths, links, texts, steps, promptFile, taskSources, folder } = found;
  const renderUsage: RenderUsage = (there, said) => usageLine(folder, there, said);
  const prompts = listPromptPlaces(promptFile, paths);
  const plans = taskFilePaths.plan.filter((path) => path !== ROOT_PLAN || isRootPlan(paths));
  return [
    ...(layout === null ? [] : [`${folder === '' ? 'This repository' : `\`${folder}/\``} is set up for ${layout}.`]),
    ...KINDS.flatMap(({ paths: known, first, others, link, source }) => {
      const places = known === PROMPT_PLACES ? prompts : known === taskFilePaths.plan ? plans : known;
      const isLink = (path: string): boolean => link !== null && links.includes(path);
      const there = places.filter((path) => paths.includes(path) || isLink(path));
      const [counting, ...rest] = there;
      if (counting === undefined || (layout === null && !there.some(isLink))) return [];
      if (source !== null && !taskSources.includes(source))
        return renderUsage(there, `not used, \`task-sources\` does not name \`${source}\``);
      const said = typeof first === 'string' ? first : first(texts[counting] ?? '', steps[counting]);
      if (others === null) {
        const files = there.filter((path) => !isLink(path));
        return [...renderUsage(layout === null ? [] : files, said), ...renderUsage(there.filter(isLink), link ?? '')];
      }
      return isLink(counting)
        ? [
            ...renderUsage([counting], link ?? ''),
            ...renderUsage(rest, 'used only where that link leads to no such file'),
          ]
        : [...renderUsage([counting], said), ...renderUsage(rest, others)];
    }),
    ...describeLinks(
      links.filter((path) => layout !== null || !(isSharedFileName(path) || path === ROOT_PLAN)),
      renderUsage,
    ),
    ...SPECS.flatMap((specs) => {
      const count = paths.filter((path) => path.startsWith(`${specs}/`)).length;
      return count === 0
        ? []
        : [
            `\`${toRootPath(folder, specs)}/\`: named in the prompt (${String(count)} ${count === 1 ? 'file' : 'files'}).`,
          ];
    }),
    ...(layout === null
      ? []
      : describeLeft(
          layout,
          [...paths, ...links].filter((path) => !prompts.includes(path)),
          folder,
        )),
  ];
}

/** Names to look for at the root if a run works in a folder: those that no other tool uses. */
export const ROOT_PATHS: readonly string[] = FIRST_PATHS.filter(
  (path) => !(isSharedFileName(path) || path === ROOT_PLAN),
);

/**
 * Returns one line which says that a run in a folder does not use these files at the root; empty if there are no names.
 */
export function describeUnusedRootFiles(names: readonly string[], folder: Folder): readonly string[] {
  if (names.length === 0) return [];
  const inOrder = ROOT_PATHS.filter((path) => names.includes(path));
  return [`${listFirstNames(inOrder.map((name) => `\`${name}\``))}: not used, this run works in \`${folder}\`.`];
}

/** Describes links that are not followed: links to files, and links to folders. */
function describeLinks(links: readonly string[], renderUsage: RenderUsage): readonly string[] {
  const said = [...KINDS.flatMap(({ paths, link }) => (link === null ? [] : paths)), ...LEFT_PATHS];
  const files = links.filter((path) => LAYOUT_PATHS.includes(path) && !said.includes(path));
  const folders = links.filter((path) =>
    LAYOUT_PATHS.some((known) => known.startsWith(`${path}/`) && !LEFT_PATHS.includes(known)),
  );
  return [
    ...renderUsage(files, 'not used, a symbolic link is not followed: put a file there'),
    ...renderUsage(folders, 'a symbolic link, so no list, pipeline or state in it is used: put a folder there'),
  ];
}

type RenderUsage = (paths: readonly string[], said: string) => readonly string[];

/** Returns one line about the paths; empty if none. */
function usageLine(folder: Folder, paths: readonly string[], said: string): readonly string[] {
  if (paths.length === 0) return [];
  return [`${paths.map((path) => `\`${toRootPath(folder, path)}\``).join(', ')}: ${said}.`];
}

function listOf(text: string): string {
  const isNamed = BRANCH_OF.safeParse(tryJson(text)).success;
  return `used as the list of stories${isNamed ? ", except for its `branchName`, because the work is on the queue's branch" : ''}`;
}

function pipelineOf(_text: string, count: number | null | undefined): string {
  // An unreadable file is reported when the pipeline is loaded, so its steps are not counted here.
  if (count === undefined) return 'the pipeline of an iteration, where it has `steps`';
  return count === null
    ? 'not a pipeline, it has no `steps`'
    : `the pipeline of an iteration, ${String(count)} ${count === 1 ? 'step' : 'steps'}`;
}
