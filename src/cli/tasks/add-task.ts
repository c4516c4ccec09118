import { readdir } from 'node:fs/promises';
import { taskFilePaths } from '../../core/tasks/files/file-task.ts';
import { isRootPlan, ROOT_PLAN } from '../../core/tasks/files/form/root-plan.ts';
import { holdsPrd, ROOT_PRD } from '../../core/tasks/files/form/root-prd.ts';
import type { FileSource } from '../../core/tasks/task-sources.ts';
import type { AddedTask, NewTask } from '../../core/tasks/files/new-task.ts';
import type { AddReport } from './add-schema.ts';
import { DEFAULT_OPTIONAL_SECTIONS } from '../defaults.ts';
import { readCheckoutFile, writeCheckoutFile, type CheckoutFile } from '../checkout-file.ts';

/** In the order in which a file is looked for: the plan is worked before the prd. */
export const targets = ['plan', 'prd'] as const satisfies readonly FileSource[];
export type Target = (typeof targets)[number];

/** Adds a task to a file of the checkout `folder`; `to` null: to the one that is there, to the plan when both or none are. */
export async function addTask(
  { folder, to }: { readonly folder: string; readonly to: Target | null },
  wanted: NewTask,
): Promise<AddReport> {
  return addTo(folder, await fileFor(folder, to === null ? targets : [to]), wanted);
}

interface FoundFile {
  readonly target: Target;
  readonly path: string;
  readonly file: CheckoutFile;
}

/** The first file that is there, or else the first that could be. */
async function fileFor(folder: string, wanted: readonly Target[]): Promise<FoundFile> {
  const paths = wanted.flatMap((target) => taskFilePaths[target].map((path) => ({ target, path })));
  const beside = await readdir(folder).catch(() => []);
  const found: FoundFile[] = [];
  for (const { target, path } of paths) found.push({ target, path, file: await readCheckoutFile(folder, path) });
  return (
    found.find(({ path, file }) => file.kind !== 'absent' && !isOtherFile({ path, file }, beside)) ??
    found[0] ?? { target: 'plan', path: '', file: { kind: 'refused', line: null, why: 'there is no place for it' } }
  );
}

function isOtherFile({ path, file }: Pick<FoundFile, 'path' | 'file'>, beside: readonly string[]): boolean {
  if (path === ROOT_PLAN) return !isRootPlan(beside);
  return path === ROOT_PRD && file.kind !== 'refused' && file.kind !== 'absent' && !holdsPrd(file.text);
}

async function addTo(folder: string, { target, path, file }: FoundFile, wanted: NewTask): Promise<AddReport> {
  const refused = (message: string, line: number | null = null): AddReport => ({
    kind: 'refused',
    file: path,
    line,
    column: null,
    message,
  });
  if (file.kind === 'refused') return refused(file.why, file.line);
  const text = file.kind === 'absent' ? '' : file.text;
  const added =
    target === 'plan'
      ? (await import('../../core/tasks/files/plan-edit.ts')).addToPlan(
          { path, text, optionalSections: DEFAULT_OPTIONAL_SECTIONS.split(',') },
          wanted,
        )
      : await addToPrd(folder, { path, text }, wanted);
  if (added.kind === 'refused') return { kind: 'refused', ...added.problem };
  if (added.kind === 'there') return { kind: 'there', id: added.id, file: path, line: added.line, state: added.state };
  const obstacle = await writeCheckoutFile(file, added.text);
  return obstacle === null
    ? { kind: 'added', id: added.id, file: path, line: added.line }
    : refused(`it cannot be written: ${obstacle}`);
}

async function addToPrd(
  folder: string,
  { path, text }: { readonly path: string; readonly text: string },
  wanted: NewTask,
): Promise<AddedTask> {
  const [edit, { PRD_ARCHIVE_PATH }] = await Promise.all([
    import('../../core/tasks/files/prd-edit.ts'),
    import('../../core/tasks/files/prd-archive.ts'),
  ]);
  const archive = await readCheckoutFile(folder, PRD_ARCHIVE_PATH);
  if (archive.kind === 'refused')
    return {
      kind: 'refused',
      problem: {
        file: PRD_ARCHIVE_PATH,
        line: archive.line,
        column: null,
        message: `the ids in it are not known: it ${archive.why}`,
      },
    };
  return edit.addToPrd(path, { prd: text, archive: archive.kind === 'absent' ? null : archive.text }, wanted);
}
