// dist/post.js: the agent had every other file of the action within its reach. So none of them is loaded before all of
// them were compared with what they were when the action was built; DIGEST is put in then. Only Node's own parts are used.
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = dirname(fileURLToPath(import.meta.url));
const CHANGED =
  "The action's own files were changed after the main step began: the agent or another program on this machine did it. The post step does nothing: nothing more is published, and processes that the agent left behind may still run. The next run continues from what was saved before.";

if (digestOf(folder) === 'DIGEST') {
  const { post } = await import('./index.js');
  await post();
} else {
  console.log(`::error::${CHANGED}`);
  try {
    const summary = process.env.GITHUB_STEP_SUMMARY ?? '';
    if (lstatSync(summary, { throwIfNoEntry: false })?.isFile())
      appendFileSync(summary, `## Ralph: Failed\n\n${CHANGED}\n`);
  } catch {
    // The log has said it.
  }
}

/** Of all files but this one, as scripts/build.ts makes it. */
function digestOf(root) {
  const hash = createHash('sha256');
  const paths = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => path !== 'post.js')
    .sort();
  for (const path of paths) {
    const bytes = contentOf(join(root, path));
    hash.update(`${JSON.stringify(path)} ${bytes?.length ?? -1}\n`).update(bytes ?? '');
  }
  return hash.digest('hex');
}

/** null: not a regular file; a named pipe is not waited for. */
function contentOf(path) {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      return fstatSync(file).isFile() ? readFileSync(file) : null;
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
}
