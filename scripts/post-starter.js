// This file becomes dist/post.js. The agent had access to every other file of the action, so none is loaded before all
// of them were compared with their state at build time; the build replaces DIGEST. It uses only Node's own modules.
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
    // The error is already in the log.
  }
}

/** Returns the digest of all files but this one, as scripts/build.ts computes it. */
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

/** Returns null for anything but a regular file, so that a named pipe cannot block. */
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
